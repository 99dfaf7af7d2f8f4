from __future__ import annotations

from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import EMPTY, IDENTITY, Link, MetaGraph
from diffmg.core.schema import Relation
from diffmg.datasets.academic import PUBLISHES, WRITTEN_BY, Academic
from experiments.jsonl import read_lines
from experiments.planted import VARIANTS, further_relations, planted_sheet, readable, run_planted

CITED = Relation("paper", "cited_by", "paper")


def test_runs_are_written_once(tmp_path: Path) -> None:
    said: list[str] = []
    sheet = run_planted(1, 2, tmp_path, "cpu", data=["academic, harder"], size=150, say=said.append)
    (line,) = read_lines(tmp_path / "planted.jsonl")
    found = [MetaGraph.from_dict(m) for m in line["metagraphs"]]
    assert [m.target for m in found] == ["author"]
    assert isinstance(line["found"], bool)
    assert 0 <= line["further"] <= 20
    assert run_planted(1, 2, tmp_path, "cpu", data=["academic, harder"], size=150, say=said.append) == sheet
    assert len(said) == 1


def test_harder_variants_have_more_relations() -> None:
    for name in ("academic", "shop"):
        plain, harder = (VARIANTS[n].problem(200, 0) for n in (name, f"{name}, harder"))
        assert set(plain.graph.schema.relations) < set(harder.graph.schema.relations)


def test_relations_that_reach_the_target_are_counted() -> None:
    assert further_relations(Academic.planted, Academic.planted) == 0
    more = MetaGraph.of(
        "author", {Link(1, 0): (PUBLISHES, CITED), Link(2, 0): Relation("term", "x", "paper"), Link(2, 1): WRITTEN_BY}
    )
    assert further_relations([more], Academic.planted) == 1, "the last relation to papers does not reach authors"


def test_an_encoder_may_read_every_state() -> None:
    deep = MetaGraph.of("author", {Link(1, 0): WRITTEN_BY, Link(2, 0): EMPTY, Link(2, 1): IDENTITY})
    assert readable(deep, every_state=False) == (deep,)
    first, last = readable(deep, every_state=True)
    assert (first, last) == (MetaGraph.of("author", {Link(1, 0): WRITTEN_BY}), deep)


def test_the_table_counts_what_was_found() -> None:
    lines = [{"data": "shop", "seed": s, "found": s < 2, "further": s, "test": 0.5 + s / 10} for s in range(3)]
    failed = {"data": "shop", "seed": 3, "error": "no memory"}
    sheet = planted_sheet([*lines, failed])
    assert sheet.rows == (("shop", "2 of 3", "1.0", "60.00"),)
    assert sheet.notes == ("shop, seed 3, failed: no memory",)


def test_unknown_data(tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match="unknown synthetic data 'academy'"):
        run_planted(1, 3, tmp_path, data=["academy"])
