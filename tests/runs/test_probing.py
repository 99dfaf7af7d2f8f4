from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from diffmg.core.plan import Source
from diffmg.datasets import load_dataset
from diffmg.runs import probing
from diffmg.runs.probing import Pace, Probe, probe
from diffmg.runs.sources import make_plan
from diffmg.training import Epoch, Job

QUICK = {"dim": 8, "max_epochs": 9, "patience": None}
PACE = Pace(2.0, 0.5, 9)


class Ticking(Job):
    """Ten epochs; the first takes five seconds and others two."""

    total = 10

    def __init__(self, clock: list[float]) -> None:
        self.clock = clock

    def advance(self) -> Sequence[Epoch]:
        self.clock[0] += 2 if self.epoch else 5
        self.epoch += 1
        return []


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    now = [100.0]
    monkeypatch.setattr(probing.time, "perf_counter", lambda: now[0])
    yield now


def test_the_first_epoch_is_counted_apart(clock: list[float]) -> None:
    job = Ticking(clock)
    pace = probing._pace(job, 100.0, epochs=3)
    assert (pace, job.epoch) == (Pace(5.0, 2.0, 10), 4)
    assert pace.most == 5 + 9 * 2


def test_a_job_of_one_epoch_is_over_after_it(clock: list[float]) -> None:
    job = Ticking(clock)
    job.total = 1
    assert probing._pace(job, 100.0, epochs=3).most == 5


def test_a_run_takes_its_searches_and_trainings() -> None:
    plan = make_plan(Source("academic:120"), "diffmg", {"search_seeds": 3}, QUICK, repeats=2)
    found = Probe(plan, 3, Pace(1.0, 1.0, 5), PACE)
    assert PACE.most == 6.0
    assert found.trainings == 4
    assert found.total == 3 * 5 + 4 * 6
    assert found.values() == {"search": 5.0, "training": 6.0, "trainings": 4, "total": 39.0}


def test_a_race_takes_its_budget_or_its_trainings() -> None:
    plan = make_plan(Source("academic:120"), settings=QUICK, budget="60s")
    found = Probe(plan, 0, None, PACE, cores=2)
    assert (found.trainings, found.total) == (20, 60.0)
    counted = Probe(replace(plan, budget=make_plan(Source("academic"), budget=30).budget), 0, None, PACE, cores=2)
    assert (counted.trainings, counted.total) == (30, 30 * 6 / 2)


@pytest.mark.parametrize("method", ["diffmg", "gcn", "mlp", "svd"])
def test_methods_are_probed_by_their_own_epochs(method: str) -> None:
    problem = load_dataset("academic:120")
    found = probe(make_plan(problem.source, method, settings=QUICK), problem, 2)
    assert (found.search is not None) == (method == "diffmg")
    assert found.training.epochs == (1 if method == "svd" else 9)
    assert 0 < found.training.most <= found.total


def test_candidates_of_a_race_are_probed() -> None:
    problem = load_dataset("shop:160")
    found = probe(make_plan(problem.source, settings=QUICK, budget="30s"), problem, 2)
    assert found.training.begun > 0
    assert found.training.epochs <= 9
    assert found.total == 30
