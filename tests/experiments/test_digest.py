from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

from diffmg.core.errors import DiffmgError
from experiments.data.digest import content_digest, file_digest


def test_the_digest_of_a_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc" * 10**6)
    assert file_digest(tmp_path / "a") == hashlib.sha256(b"abc" * 10**6).hexdigest()


@pytest.mark.parametrize("level", [1, 9])
def test_the_content_of_packed_text_does_not_depend_on_the_packing(level: int, tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"1\t2\n" * 999, level))
    assert content_digest(tmp_path / "a.gz") == hashlib.sha256(b"1\t2\n" * 999).hexdigest()


def test_the_content_of_arrays_does_not_depend_on_order_and_packing(tmp_path: Path) -> None:
    a, b = np.arange(6, dtype=np.int32).reshape(2, 3), np.array(["x", "yy"])
    np.savez(tmp_path / "1.npz", a=a, b=b)
    np.savez_compressed(tmp_path / "2.npz", b=b, a=np.asfortranarray(a).astype(">i4"))
    assert content_digest(tmp_path / "1.npz") == content_digest(tmp_path / "2.npz")


@pytest.mark.parametrize(
    "other",
    [
        {"a": np.array([1, 3])},
        {"a": np.array([1, 2], np.int32)},
        {"a": np.array([[1, 2]])},
        {"b": np.array([1, 2])},
        {"a": np.array([1, 2]), "b": np.array(0)},
    ],
)
def test_other_arrays_have_another_digest(other: dict[str, np.ndarray], tmp_path: Path) -> None:
    np.savez(tmp_path / "1.npz", a=np.array([1, 2]))
    np.savez(tmp_path / "2.npz", **other)
    assert content_digest(tmp_path / "1.npz") != content_digest(tmp_path / "2.npz")


@pytest.mark.parametrize("name", ["a.gz", "a.npz"])
@pytest.mark.parametrize("data", [b"", b"text", gzip.compress(b"1\n" * 999)[:-9]], ids=["empty", "text", "cut"])
def test_a_damaged_file_is_named(name: str, data: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    if (name, data) != ("a.gz", b""):  # gzip reads nothing as an archive of nothing
        with pytest.raises(DiffmgError, match=name):
            content_digest(tmp_path / name)
