from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.tasks.answer_files import check_ending, csv_lines, write_answers
from diffmg.tasks.answers import Answers

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["=1", "\r", "a\nb", '"', "\x1b[1m"]
)
ENDINGS = [".csv", ".parquet", ".jsonl"]


def block(first: int, ids: list[str]) -> Answers:
    numbers = np.arange(first, first + len(ids))
    return Answers({"user": np.array(ids, dtype=str), "rank": numbers, "score": (numbers / 8).astype(np.float32)})


BLOCKS = [block(0, ["ann", "b,o"]), block(2, []), block(2, ["a much longer id", 'x"\ny', "\rz"])]
ROWS = [("ann", 0, 0.0), ("b,o", 1, 0.125), ("a much longer id", 2, 0.25), ('x"\ny', 3, 0.375), ("\rz", 4, 0.5)]


def read(path: Path) -> list[tuple[str, int, float]]:
    """The rows of a file, by the readers of others."""
    if path.suffix == ".parquet":
        return [tuple(row.values()) for row in parquet.read_table(path).to_pylist()]
    if path.suffix == ".jsonl":
        return [tuple(json.loads(line).values()) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["user", "rank", "score"]
    return [(user, int(rank), float(score)) for user, rank, score in rows]


@pytest.mark.parametrize("ending", ENDINGS)
def test_blocks_become_one_file(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"answers{ending}"
    assert write_answers(path, BLOCKS) == 5
    assert read(path) == ROWS
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", ENDINGS)
@given(ids=st.lists(TEXT, max_size=4))
def test_any_text_comes_back(ending: str, ids: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    ids = [text.rstrip("\x00") for text in ids]  # arrays of text do not hold zeros at the end
    path = tmp_path_factory.mktemp("text") / f"answers{ending}"
    write_answers(path, [block(0, ids)])
    assert [user for user, _, _ in read(path)] == ids


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_rows_make_a_file_that_can_be_read(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"none{ending}"
    assert write_answers(path, [block(0, [])]) == 0
    assert read(path) == []
    if ending == ".parquet":
        assert [str(field.type) for field in parquet.read_schema(path)] == ["string", "int64", "double"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_failure_leaves_the_old_file_alone(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"old{ending}"
    path.write_bytes(b"old")

    def broken():
        yield BLOCKS[0]
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        write_answers(path, broken())
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_blocks_are_taken_one_at_a_time(tmp_path: Path) -> None:
    """When a block is asked for, the one before it was written."""
    for ending in ENDINGS:
        sizes = []

        def blocks(sizes: list[int] = sizes):
            for number in range(3):
                sizes.append(max((p.stat().st_size for p in tmp_path.glob(".many*")), default=0))
                yield block(0, [f"{number}{user}" for user in range(5000)])

        write_answers(tmp_path / f"many{ending}", blocks())
        assert 0 < sizes[1] < sizes[2]


def test_csv_is_the_same_in_one_block_or_in_several() -> None:
    whole = block(0, [user for user, _, _ in ROWS])
    assert "".join(csv_lines(BLOCKS)) == whole.to_csv()


def test_numbers_that_are_not_finite_are_null_in_json(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    write_answers(path, [Answers({"n": np.array([np.nan, np.inf, 1.5])})])
    assert [json.loads(line)["n"] for line in path.read_text().splitlines()] == [None, None, 1.5]


def test_cells_that_a_spreadsheet_would_run_can_be_made_safe(tmp_path: Path) -> None:
    risky = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "plain", "1=1"]
    answers = Answers({"=id": np.array(risky), "number": np.arange(8) - 9, "score": np.full(8, -0.5)})
    path = tmp_path / "safe.csv"
    write_answers(path, [answers], safe_cells=True)
    with path.open(newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["'=id", "number", "score"]
    assert [row[0] for row in rows] == [f"'{text}" for text in risky[:6]] + risky[6:]
    assert [row[1:] for row in rows] == [[str(number - 9), "-0.500000"] for number in range(8)]
    assert "'=1+1" not in answers.to_csv()


def test_an_unknown_ending_is_refused_and_none_is_csv(tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=r"unknown ending .* '.xls'"):
        check_ending("answers.xls")
    with pytest.raises(DiffmgError, match=r"safe cells are for CSV.* got .*'.jsonl'"):
        check_ending("answers.jsonl", safe_cells=True)
    write_answers(tmp_path / "answers", BLOCKS)
    assert (tmp_path / "answers").read_bytes().startswith(b"user,rank,score\n")
