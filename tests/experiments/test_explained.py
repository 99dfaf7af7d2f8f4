from __future__ import annotations

from pathlib import Path

from diffmg.core.importance import PathImportance
from diffmg.core.metagraph import Link
from diffmg.datasets.academic import PUBLISHES, WRITTEN_BY, Academic
from experiments.explained import DISTRACTORS, among_distractors, explained_sheet, longest, ranks, run_explained
from experiments.jsonl import read_lines
from experiments.planted import VARIANTS


def test_distractors_stand_beside_the_planted_relations() -> None:
    (planted,) = Academic.planted
    mixed = among_distractors(planted, VARIANTS["academic"].problem(200, 0), DISTRACTORS["academic"])
    assert longest(planted) == (PUBLISHES, WRITTEN_BY)
    assert mixed[Link(2, 1)][0] == WRITTEN_BY
    assert set(planted.paths()) < set(mixed.paths())
    assert len(mixed.paths()) >= 7


def test_runs_are_written_once(tmp_path: Path) -> None:
    said: list[str] = []
    sheet = run_explained(1, tmp_path, "cpu", data=["academic"], size=150, say=said.append)
    (line,) = read_lines(tmp_path / "explained.jsonl")
    assert [line["data"], len(line["ranks"])] == ["academic", 1]
    assert run_explained(1, tmp_path, "cpu", data=["academic"], size=150, say=said.append) == sheet
    assert len(said) == 1


def test_the_place_of_a_path_is_among_those_into_its_target() -> None:
    found = [
        PathImportance("b", (), 1.0, 0.1),
        PathImportance("a", (PUBLISHES,), 0.5, 0.1),
        PathImportance("a", (), 0, 0),
    ]
    assert [ranks(found, "a", ()), ranks(found, "b", ()), ranks(found, "b", (PUBLISHES,))] == [2, 1, 0]


def test_the_table_counts_seeds_where_all_planted_paths_are_first() -> None:
    lines = [{"data": "shop", "seed": s, "ranks": [1, 1 + s], "drop": 0.1, "val": 0.9} for s in range(2)]
    sheet = explained_sheet([*lines, {"data": "shop", "seed": 2, "error": "no memory"}])
    assert sheet.rows == (("shop", "1 of 2", "10.00", "90.00"),)
    assert sheet.notes == ("shop, seed 2, failed: no memory",)
