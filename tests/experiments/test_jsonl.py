from __future__ import annotations

import math
from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError
from experiments.jsonl import read_lines, write_lines


def test_what_was_written_is_read_one_record_a_line(tmp_path: Path) -> None:
    records = [{"name": "é\n", "value": 0.1}, {"value": [1, 2], "lowest": -math.inf}]
    write_lines(tmp_path / "new" / "file.jsonl", records)
    assert len((tmp_path / "new" / "file.jsonl").read_text(encoding="utf-8").splitlines()) == 2
    assert read_lines(tmp_path / "new" / "file.jsonl") == records


def test_a_file_that_is_not_there_has_no_records(tmp_path: Path) -> None:
    assert read_lines(tmp_path / "gone.jsonl") == []


@pytest.mark.parametrize("bad", ["{", "[1]", "3"])
def test_a_line_that_is_no_record_is_named(bad: str, tmp_path: Path) -> None:
    (tmp_path / "file.jsonl").write_text(f'{{"a": 1}}\n{bad}\n')
    with pytest.raises(DiffmgError, match=r"line 2 of .*file\.jsonl"):
        read_lines(tmp_path / "file.jsonl")


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    write_lines(tmp_path / "file.jsonl", [{"a": 1}])
    with pytest.raises(TypeError):
        write_lines(tmp_path / "file.jsonl", [{"a": 2}, {"a": object()}])
    assert read_lines(tmp_path / "file.jsonl") == [{"a": 1}]
