from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from diffmg.core.metagraph import EMPTY, IDENTITY, MetaGraph
from diffmg.core.schema import Relation
from diffmg.datasets import Published, load_dataset
from experiments import seeds, spec
from experiments.jsonl import read_lines, write_lines
from experiments.runner import done_cells
from experiments.seeds import seeds_sheet, seeds_table, train_seeds
from experiments.tables import percent

DATA = "academic:120"
PAPER = {DATA: (90.0, 0.5)}


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results of both programs from two seeds on the meta graph of one relation."""
    relation = next(r for r in load_dataset(DATA).graph.schema.relations if r.target == "author")
    assert isinstance(relation, Relation)
    published = Published((MetaGraph("author", ((relation,), (EMPTY,), (IDENTITY,))),), {}, {}, {})
    monkeypatch.setattr(spec, "published_for", lambda _data: published)
    quick = {"dim": 8, "max_epochs": 5, "patience": None}
    monkeypatch.setattr(seeds, "seeds_table", lambda *given: replace(seeds_table(*given), settings=quick))
    train_seeds(DATA, 2, tmp_path, "cpu", None)
    return tmp_path


def test_both_programs_are_trained_from_every_seed(trained: Path) -> None:
    (line,) = read_lines(trained / "seeds.jsonl")
    assert {name: len(line[name]) for name in ("epoch", "value", "val", "test")} == dict.fromkeys(
        ("epoch", "value", "val", "test"), 2
    )
    assert (line["data"], line["seeds"], line["metric"]) == (DATA, 2, "macro_f1")
    (cell,) = done_cells(seeds.seeds_table(DATA, 2), trained).values()
    ((data, number, ours, _, paper),) = seeds_sheet(trained, PAPER).rows
    assert (data, number, ours, paper) == (DATA, "2", percent(cell), "90.00 ± 0.50")


def test_the_reference_s_scores_are_shown_in_percent(trained: Path) -> None:
    (line,) = read_lines(trained / "seeds.jsonl")
    write_lines(trained / "seeds.jsonl", [line | {"test": [0.5, 0.75]}])
    assert seeds_sheet(trained, PAPER).rows[0][3] == "62.50 ± 17.68"


def test_without_a_run_there_is_no_line(trained: Path) -> None:
    (trained / "runs.jsonl").unlink()
    assert seeds_sheet(trained, PAPER).rows == ()
