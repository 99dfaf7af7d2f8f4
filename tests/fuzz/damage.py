"""Damage to files: cut, changed, of another encoding or packing."""

from __future__ import annotations

import gzip
from random import Random


def damaged(data: bytes, rng: Random) -> tuple[bytes, str]:
    """The bytes with one kind of damage, and its name."""
    kind = rng.choice(
        (_cut, _flip, _flip, _blank, _latin, _utf16, _gzip, _marked, _twice, _nothing, _digits, _brackets)
    )
    return kind(data, rng), kind.__name__.strip("_")


def _cut(data: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _flip(data: bytes, rng: Random) -> bytes:
    found = bytearray(data)
    for _ in range(rng.choice((1, 3, 30))):
        if found:
            found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def _blank(data: bytes, rng: Random) -> bytes:
    start = rng.randrange(len(data) + 1)
    return data[:start] + bytes(min(64, len(data) - start)) + data[start + 64 :]


def _latin(data: bytes, rng: Random) -> bytes:
    return data.replace(b"a", b"\xe4", rng.choice((1, 5)))


def _utf16(data: bytes, rng: Random) -> bytes:
    return data.decode("utf-8", "replace").encode("utf-16")


def _gzip(data: bytes, rng: Random) -> bytes:
    return gzip.compress(data, mtime=0)


def _marked(data: bytes, rng: Random) -> bytes:
    return b"\xef\xbb\xbf" + data


def _twice(data: bytes, rng: Random) -> bytes:
    return data + data


def _nothing(data: bytes, rng: Random) -> bytes:
    return b""


def _digits(data: bytes, rng: Random) -> bytes:
    return _at_a_digit(data, rng, b"9" * 5000)


def _brackets(data: bytes, rng: Random) -> bytes:
    return _at_a_digit(data, rng, b"[" * 5000)


def _at_a_digit(data: bytes, rng: Random, more: bytes) -> bytes:
    places = [i for i, byte in enumerate(data) if 48 <= byte < 58] or [0]
    at = rng.choice(places)
    return data[:at] + more + data[at:]
