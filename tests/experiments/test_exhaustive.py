from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from made_tables import made_table, programs_of

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import EMPTY, IDENTITY, MetaGraph
from diffmg.core.settings import Settings
from diffmg.nn import DerivedModel
from diffmg.race.field import Field
from diffmg.race.trial import Outcome, Trial
from experiments.exhaustive import MOST, make_work, tabulate
from experiments.exhaustive_parts import best_tenth
from experiments.exhaustive_programs import program_key
from experiments.exhaustive_table import read_table, write_table
from small_networks import small_classification, small_recommendation

QUICK = Settings(dim=4, max_epochs=2, patience=None)


class Counting:
    """Scores without training: those of the first seed fall with every trial."""

    def __init__(self) -> None:
        self.trials: list[Trial] = []

    def run(self, field: Field, trials: Sequence[Trial]) -> list[Outcome]:
        self.trials += trials
        return [Outcome(1 / (1 + len(self.trials) + n) + t.seed, 0.5, best_epoch=3) for n, t in enumerate(trials)]

    def close(self) -> None:
        pass


def all_metagraphs(problem) -> list[tuple[MetaGraph, ...]]:
    towers = []
    for space in programs_of(problem, 2).spaces:
        numbers = product(*(range(len(c)) for c in space.candidates))
        towers.append([space.metagraph(picks) for picks in numbers])
    return list(product(*towers))


@pytest.mark.parametrize("make", [small_classification, small_recommendation])
def test_every_meta_graph_is_of_exactly_one_program(make: Callable[[], Any]) -> None:
    problem = make()
    programs, everything = programs_of(problem, 2), all_metagraphs(problem)
    keys = [program_key(metagraphs) for metagraphs in everything]
    listed = [programs.key(n) for n in range(programs.size)]
    assert len(set(listed)) == programs.size == len(set(keys))
    assert {key: keys.count(key) for key in listed} == {programs.key(n): programs.count(n) for n in range(len(listed))}
    assert len(everything) == programs.metagraph_count
    for n in (0, programs.size // 2, programs.size - 1):
        assert programs.metagraphs(n) == everything[keys.index(listed[n])], "the first of its meta graphs"


def test_meta_graphs_with_one_key_compute_the_same() -> None:
    """By outputs of networks with the same weights: equal keys, equal outputs; other keys, other outputs."""
    problem, found = small_classification(), {}
    for metagraphs in all_metagraphs(problem):
        model = DerivedModel(problem.graph, metagraphs, 2, Settings(dim=4, dropout=0.0), 0).eval()
        with torch.no_grad():
            found.setdefault(program_key(metagraphs), []).append(model(problem.graph)[0])
    assert max(map(len, found.values())) > 1
    for outputs in found.values():
        assert all(torch.allclose(outputs[0], other, atol=1e-6) for other in outputs)
    firsts = [outputs[0] for outputs in found.values()]
    same = sum(torch.allclose(a, b, atol=1e-6) for n, a in enumerate(firsts) for b in firsts[:n])
    assert same < len(firsts) / 4, "a state that is passed on unchanged is still a step of its own"


def test_a_table_is_trained_in_parts_and_resumed(tmp_path: Path) -> None:
    problem, path = small_classification(), tmp_path / "made.parquet"
    work = make_work(problem, QUICK, 2, sample=25)
    counting = Counting()
    assert tabulate(work, path, limit=12, executor=counting, chunk=8) is None
    assert len(counting.trials) == 12
    assert tabulate(work, path, limit=13, executor=counting, chunk=8) is None, "the second seed is missing"
    assert not path.exists()
    table = tabulate(work, path, executor=counting, chunk=8)
    assert table is not None
    assert [trial.seed for trial in counting.trials] == [0] * 25 + [1] * 3
    assert [row.score for row in table.rows] == [pytest.approx(o, abs=1e-6) for o in first_scores()]
    again = [row for row in table.rows if math.isfinite(row.second)]
    assert again == sorted(table.rows, key=lambda row: -row.score)[:3], "the best tenth"
    assert tabulate(work, path, executor=counting) == table
    assert len(counting.trials) == 28, "nothing is trained again"
    other = replace(work, settings=replace(QUICK, dim=8))
    assert tabulate(other, path, limit=1, executor=counting) is None, "parts of other settings are not used"


def first_scores() -> list[float]:
    sizes = [8, 4, 8, 5]
    ends = [sum(sizes[: n + 1]) for n in range(4)]
    return [1 / (1 + end + n) for size, end in zip(sizes, ends, strict=True) for n in range(size)]


@pytest.mark.parametrize("make", [small_classification, small_recommendation])
def test_scores_are_those_of_real_trainings(make: Callable[[], Any], tmp_path: Path) -> None:
    work = make_work(make(), QUICK, 2, sample=4)
    table = tabulate(work, tmp_path / "made.parquet")
    assert table is not None
    assert all(0 <= row.score <= 1 and 1 <= row.best_epoch <= 2 for row in table.rows)
    read = read_table(tmp_path / "made.parquet")
    assert [row.score for row in read.rows] == pytest.approx([row.score for row in table.rows], abs=1e-6)
    assert [work.programs.metagraphs(n) for n in work.numbers] == [table.metagraphs(row) for row in table.rows]
    assert not table.complete


def test_a_table_is_a_small_file_that_can_be_looked_up(tmp_path: Path) -> None:
    table = made_table(small_recommendation())
    write_table(tmp_path / "made.parquet", table)
    read = read_table(tmp_path / "made.parquet")
    assert (tmp_path / "made.parquet").stat().st_size < 60 * len(table.rows) + 8000
    assert [(r.key, r.operations, r.metagraphs, r.best_epoch) for r in read.rows] == [
        (r.key, r.operations, r.metagraphs, r.best_epoch) for r in table.rows
    ]
    assert [r.score for r in read.rows] == pytest.approx([r.score for r in table.rows], nan_ok=True, abs=1e-6)
    assert read.spaces == table.spaces
    for metagraphs in all_metagraphs(small_recommendation())[::311]:
        assert read.row(metagraphs[::-1]).key == program_key(metagraphs), "towers in any order"
    assert read.regret(read.best.score) == 0
    assert read.regret(read.best.score - 0.25) == pytest.approx(0.25)
    with pytest.raises(DiffmgError, match="must be one of made-depth2"):
        read.row([MetaGraph("a", ((EMPTY,), (EMPTY,), (IDENTITY,)))])


def test_files_that_are_no_tables_are_named(tmp_path: Path) -> None:
    (tmp_path / "no.parquet").write_text("nothing", encoding="utf-8")
    with pytest.raises(DiffmgError, match=r"Parquet file, but got .*no.parquet"):
        read_table(tmp_path / "no.parquet")


def test_best_tenth_by_the_metrics_direction() -> None:
    lines = [{"number": n, "score": None if n == 3 else float(n)} for n in range(21)]
    assert best_tenth(lines, 1) == [19, 20]
    assert best_tenth(lines, -1) == [0, 1]


def test_a_sample_is_uniform_seeded_and_bounded() -> None:
    programs = programs_of(small_classification(), 2)
    assert programs.sample(5, 1) == programs.sample(5, 1) != programs.sample(5, 2)
    assert programs.sample(programs.size, 0) == list(range(programs.size))
    with pytest.raises(DiffmgError, match="1 <= sample"):
        programs.sample(programs.size + 1, 0)


def test_too_many_programs_need_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.exhaustive.MOST", 10)
    with pytest.raises(DiffmgError, match="use --sample 10"):
        make_work(small_classification(), QUICK, 2)
    assert MOST == 20_000


def test_the_command(experiment: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.exhaustive.published_settings", lambda data: QUICK)
    words = ("exhaustive", "academic:120", "--depth", 1, "--out", tmp_path, "--device", "cpu")
    assert experiment(*words, "--count").out == "academic:120: 3 meta graphs of depth 1, 3 programs\n"
    assert "give the command again" in experiment(*words, "--limit", 2).out
    assert "best validation macro_f1" in experiment(*words).out
    (file,) = tmp_path.glob("*.parquet")
    table = read_table(file)
    assert (table.complete, table.about["settings"]["dim"]) == (True, 4)
    assert table.about["command"] == "python -m experiments exhaustive academic:120 --depth 1 --seed 0"
    assert experiment("exhaustive", "nowhere", "--out", tmp_path).code == 2
