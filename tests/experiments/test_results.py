from __future__ import annotations

import math
import statistics
from dataclasses import replace
from pathlib import Path

import pytest
from made_cells import cell, cell_of, race_of, run_of

from diffmg.core.budget import Budget
from diffmg.core.engine import Engine
from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import MetaGraph
from diffmg.core.method import MethodSpec
from diffmg.core.plan import Plan, Source
from diffmg.core.run import Candidate, Finalist
from diffmg.core.settings import Settings
from experiments import RESULTS
from experiments.cells import StoredRun
from experiments.jsonl import read_lines, write_lines
from experiments.results import FINALISTS, Key, Results, mark_of

PLAN = Plan(MethodSpec("gcn"), Source("acm"))
KEY = Key("gcn", "acm", False, "0123abcd")


def test_device_engine_and_defaults_written_out_make_no_other_run() -> None:
    others = [
        replace(PLAN, device="cpu"),
        replace(PLAN, engine=Engine(columns=4)),
        replace(PLAN, method=MethodSpec("gcn", {"layers": MethodSpec("gcn").make().layers})),  # type: ignore[attr-defined]
    ]
    assert {mark_of(plan) for plan in (PLAN, *others)} == {mark_of(PLAN)}


def test_everything_else_makes_another_run() -> None:
    others = [
        replace(PLAN, method=MethodSpec("gat")),
        replace(PLAN, method=MethodSpec("gcn", {"layers": 3})),
        replace(PLAN, source=Source("imdb")),
        replace(PLAN, source=Source("acm", seed=1)),
        replace(PLAN, settings=Settings(lr=0.5)),
        replace(PLAN, repeats=2),
        replace(PLAN, seed=1),
        replace(PLAN, budget=Budget(trainings=30)),
        replace(PLAN, budget=Budget(seconds=30.0)),
        replace(PLAN, budget=Budget(trainings=30), single=True),
        replace(PLAN, budget=Budget(trainings=30), refit="val"),
    ]
    assert len({mark_of(plan) for plan in (PLAN, *others)}) == 1 + len(others)


def test_a_mark_stays_what_it_was() -> None:
    """Kept results are found by it."""
    assert mark_of(PLAN) == mark_of(Plan(MethodSpec("gcn"), Source("acm"), Settings(), 1, 0, "cuda"))
    results = Results(RESULTS)
    for key in [key for key in results if key.data == "acm" and not key.timed][::20]:
        assert mark_of(results[key].run.plan) == key.mark


def test_a_run_is_kept_in_one_line_and_found_again(tmp_path: Path) -> None:
    results = Results(tmp_path)
    assert len(results) == 0
    stored = StoredRun(run_of(0.5, 0.75, train_0=1.5), {"train-0": (0.25, 0.5)})
    results.add(KEY, stored)
    again = Results(tmp_path)
    assert (list(again), KEY in again, KEY._replace(timed=True) in again) == ([KEY], True, False)
    kept = replace(stored.run, files={}, data=replace(stored.run.data, digests={}, facts={}))
    assert again[KEY] == replace(stored, run=kept) == results[KEY]
    assert len((tmp_path / "runs.jsonl").read_text(encoding="utf-8").splitlines()) == 1


def test_of_the_candidates_only_those_like_the_chosen_keep_their_meta_graphs(tmp_path: Path) -> None:
    one, other = (MetaGraph.features_only(name) for name in ("author", "paper"))
    for found, kept in (((one, other, one), (other, None, None)), ((one, one, one), (one, one, one))):
        candidates = tuple(Candidate((m,), 0.5) for m in found)
        run = replace(run_of(0.5), candidates=candidates, chosen=1)
        Results(tmp_path).add(KEY, StoredRun(run))
        stored = Results(tmp_path)[KEY].run
        assert stored.metagraphs == run.metagraphs
        assert len({c.metagraphs for c in stored.candidates}) == len({c.metagraphs for c in candidates})
        assert kept.count(None) == [c.metagraphs for c in stored.candidates].count(())


def test_engines_other_than_the_default_are_kept(tmp_path: Path) -> None:
    run = run_of(0.5)
    run = replace(run, plan=replace(run.plan, engine=Engine(columns=16)))
    Results(tmp_path).add(KEY, StoredRun(run))
    assert Results(tmp_path)[KEY].run.plan == run.plan


def test_a_run_of_the_same_key_takes_the_place_of_the_other(tmp_path: Path) -> None:
    mine, other = Results(tmp_path), Results(tmp_path)
    mine.add(KEY, StoredRun(run_of(0.5)))
    other.add(KEY._replace(method="gat"), StoredRun(run_of(0.25)))
    mine.add(KEY, StoredRun(run_of(0.75)))
    assert [Results(tmp_path)[key].run.mean("test") for key in Results(tmp_path)] == [0.25, 0.75]


def test_a_cell_has_the_runs_that_exist_or_is_none(tmp_path: Path) -> None:
    results, keys = Results(tmp_path), [KEY, KEY._replace(mark="4567cdef")]
    assert results.cell(keys) is None
    results.add(keys[0], StoredRun(run_of(0.5)))
    first = results.cell(keys)
    assert first is not None
    assert first.test == [0.5]
    results.add(keys[1], StoredRun(run_of(0.75, device="a card")))
    found = results.cell(keys)
    assert found is not None
    assert (found.test, found.mean, found.device) == ([0.5, 0.75], 0.625, "cpu and a card")
    assert found.std == statistics.stdev([0.5, 0.75])


def test_a_line_that_is_no_run_is_named(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.add(KEY, StoredRun(run_of(0.5)))
    (line,) = read_lines(results.path)
    write_lines(results.path, [{**line, "run": {**line["run"], "device": 3}}])
    with pytest.raises(DiffmgError, match=r"the run of gcn on acm .*device"):
        Results(tmp_path)[KEY]


def test_a_cell_is_over_all_trainings_of_all_runs() -> None:
    both = cell_of(run_of(0.5, 0.6, val=(0.1,), search_0=1.0), run_of(0.85, val=(0.2,), search_0=3.0, train_0=9.0))
    assert both.test == [0.5, 0.6, 0.85]
    assert [c.val_score for c in both.candidates] == [0.1, 0.2]
    assert (both.median_seconds("search"), both.median_seconds("train", "search")) == (2.0, 3.0)
    assert both.metric == "macro_f1"


def test_what_cannot_be_computed_is_no_number() -> None:
    assert math.isnan(cell(0.5).std)
    assert cell(0.5).median_seconds("search") == 0
    assert cell(0.5).metagraphs == ()


def test_of_a_race_the_best_finalists_are_kept(tmp_path: Path) -> None:
    run = race_of(0.5, 0.25)
    assert run.evidence is not None
    finalists = tuple(Finalist(number, "a candidate", 0.5, 0.1, 3) for number in range(FINALISTS + 3))
    run = replace(run, evidence=replace(run.evidence, finalists=finalists))
    Results(tmp_path).add(KEY, StoredRun(run))
    stored = Results(tmp_path)[KEY].run
    assert stored.evidence == replace(run.evidence, finalists=finalists[:FINALISTS])
    assert (stored.spent, stored.single, stored.trained) == (run.spent, run.single, run.trained)


def test_a_cell_of_races_has_ensembles_and_single_models() -> None:
    races = cell_of(race_of(0.5, 0.25, trainings=30, race=2.0, score=1.0), race_of(0.75, 0.5, trainings=20, race=7.0))
    assert (races.ensemble, races.single, races.test) == ([0.5, 0.75], [0.25, 0.5], [0.5, 0.75])
    assert (races.run_seconds, races.run_trainings) == (5.0, 25)
    plain = cell(0.5, search_0=1.0, train_0=2.0, search_1=1.0, train_1=2.0, repeat_1=1.0)
    assert (plain.ensemble, plain.single) == ([], [0.5])
    assert (plain.run_seconds, plain.run_trainings) == (7.0, 3)


def test_runs_of_another_file_are_added_and_take_the_place_of_older_ones(tmp_path: Path) -> None:
    mine, other = Results(tmp_path / "mine"), Results(tmp_path / "other")
    key, more = KEY._replace(mark=mark_of(run_of(0.5).plan)), KEY._replace(method="gat", mark=mark_of(run_of(0.5).plan))
    mine.add(key, StoredRun(run_of(0.5)))
    other.add(key, StoredRun(run_of(0.75)))
    other.add(more, StoredRun(run_of(0.25)))
    assert mine.merge(other) == [more, key]
    assert {k: Results(tmp_path / "mine")[k].run.mean("test") for k in mine} == {more: 0.25, key: 0.75}
    assert mine.merge(other) == []
    other.add(KEY, StoredRun(run_of(0.25)))
    with pytest.raises(DiffmgError, match=f"but got {KEY.mark} for gcn on acm"):
        mine.merge(other)
    assert KEY not in Results(tmp_path / "mine")
