from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from diffmg.core.errors import DiffmgError
from diffmg.tables import reading, unpacking


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a test can reach."""
    monkeypatch.setattr(unpacking, "SMALL_BYTES", 10_000)
    monkeypatch.setattr(unpacking, "STEP", 1000)


def test_a_file_that_grows_beyond_reason_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"id,text\n1," + b"0" * 1_000_000 + b"\n"))
    with pytest.raises(DiffmgError, match=r"must unpack to at most .*unpack it first"):
        reading.read_table(path)


def test_a_file_that_grows_as_text_does_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    lines = "".join(f"{i},{i * 7919 % 10007}\n" for i in range(5000))
    path.write_bytes(gzip.compress(f"id,x\n{lines}".encode()))
    assert reading.read_table(path).num_rows == 5000


def test_a_file_beyond_the_whole_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "UNPACKED_BYTES", 20_000)
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress("".join(f"{i},{i * 7919 % 10007}\n" for i in range(5000)).encode()))
    with pytest.raises(DiffmgError, match="at most 20000"):
        reading.read_table(path)


def test_a_parquet_file_of_endless_rows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "CELLS", 100)
    parquet.write_table(pa.table({"a": [1] * 101}), tmp_path / "a.parquet")
    with pytest.raises(DiffmgError, match=r"at most 100 cells .*but got 101 rows of 1 columns"):
        reading.read_table(tmp_path / "a.parquet")
    parquet.write_table(pa.table({"a": [1] * 100}), tmp_path / "a.parquet")
    assert reading.read_table(tmp_path / "a.parquet").num_rows == 100
