"""How wide text is, and text that is wrapped or shortened to fit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from unicodedata import category, east_asian_width

WIDE, NARROW = frozenset("mwMW@%—…"), frozenset("iljt.,:;'!|()[] ")


def text_width(text: str, size: float = 13) -> float:
    """A generous estimate of the width in pixels of text in a sans-serif font."""
    return sum(map(_em, text)) * size


@lru_cache(maxsize=4096)
def _em(char: str) -> float:
    if category(char) in ("Mn", "Me", "Cf"):
        return 0.0
    if east_asian_width(char) in "WF":
        return 1.1
    if char in WIDE:
        return 1.0
    if char in NARROW:
        return 0.4
    return 0.76 if char.isupper() else 0.62


@lru_cache(maxsize=4096)
def fitted(text: str, width: float, size: float, lines: int) -> tuple[str, ...]:
    """Text in at most so many lines of a width; what does not fit is replaced by an ellipsis."""
    rows = list(_rows(text, width, size))
    if len(rows) <= lines:
        return tuple(rows)
    return (*rows[: lines - 1], _shortened(" ".join(rows[lines - 1 :]), width, size))


def in_a_line(text: str, width: float, size: float) -> str:
    """Text in one line; of a name that is too long the middle is left out, for names often differ at their ends."""
    if text_width(text, size) <= width:
        return text
    room = width - text_width("…", size)
    end = _broken(text[::-1], room / 3, size)[0][::-1].lstrip()
    return f"{_broken(text, room - text_width(end, size), size)[0].rstrip()}…{end}"


def _rows(text: str, width: float, size: float) -> Iterator[str]:
    row = ""
    for word in text.split(" "):
        joined = f"{row} {word}" if row else word
        if text_width(joined, size) <= width:
            row = joined
            continue
        if row:
            yield row
        *whole, row = _broken(word, width, size)
        yield from whole
    yield row


def _broken(word: str, width: float, size: float) -> list[str]:
    """A word in pieces that fit."""
    pieces, used = [""], 0.0
    for char in word:
        wide = text_width(char, size)
        if pieces[-1] and used + wide > width:
            pieces.append("")
            used = 0.0
        pieces[-1] += char
        used += wide
    return pieces


def _shortened(text: str, width: float, size: float) -> str:
    first = _broken(text, width - text_width("…", size), size)[0]
    return f"{first.rstrip()}…"
