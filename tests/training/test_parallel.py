from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import groupby

import pytest
import torch

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import EMPTY, MetaGraph
from diffmg.core.settings import Settings
from diffmg.datasets.academic import Academic
from diffmg.datasets.shop import Shop
from diffmg.methods.search.random import RandomMetaGraph
from diffmg.tasks.problem import Problem
from diffmg.training import Training, parallel, train_parallel
from diffmg.training.parallel import Candidate, _on_cpu, _on_gpu, side_by_side
from resuming import assert_same_state, run

PATIENT = Settings(dim=8, lr=0.05, max_epochs=16, patience=2)
"""Trainings stop at different epochs."""


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Set the number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def on_two_cores(problem: Problem, candidates: Sequence[Candidate], settings: Settings) -> list[Training]:
    """Two trainings in parallel."""
    with threads(2):
        return train_parallel(problem, candidates, settings)


def candidates_of(problem: Problem, settings: Settings) -> list[Candidate]:
    """Different meta graphs from different seeds, one of them twice."""
    planted: Sequence[MetaGraph] = Academic.planted if problem.task.outputs else Shop.planted
    drawn = [RandomMetaGraph(depth=3).search(problem, settings, seed).found() for seed in range(3)]
    return [(planted, 0), (drawn[0], 1), (drawn[1], 0), (planted, 5), (drawn[2], 2), (planted, 0)]


def alone(problem: Problem, candidates: Sequence[Candidate], settings: Settings) -> list[Training]:
    """Each alone, on one thread."""
    trainings = [Training(problem, metagraphs, settings, seed) for metagraphs, seed in candidates]
    for training in trainings:
        run(training)
    return trainings


def assert_same(found: Sequence[Training], wanted: Sequence[Training]) -> None:
    """In order, bit for bit, from the first epoch to the last."""
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert (one.metagraphs, one.seed, one.epoch) == (other.metagraphs, other.seed, other.epoch)
        assert one.done
        assert torch.equal(one.steps.records[: one.epoch], other.steps.records[: other.epoch])
        assert_same_state(one, other)


@pytest.mark.parametrize("way", [train_parallel, on_two_cores, _on_gpu])
def test_each_training_is_what_it_would_be_alone(problem, quick, way):
    candidates = candidates_of(problem, quick)
    assert_same(way(problem, candidates, quick), alone(problem, candidates, quick))


@pytest.mark.parametrize("way", [on_two_cores, _on_gpu])
def test_trainings_stop_when_their_own_patience_is_over(problem, way):
    candidates = candidates_of(problem, PATIENT)
    found = way(problem, candidates, PATIENT)
    assert len({training.epoch for training in found}) > 1, "at different epochs"
    assert min(training.epoch for training in found) < PATIENT.max_epochs
    assert_same(found, alone(problem, candidates, PATIENT))


def test_the_best_model_is_that_of_the_training(problem, quick):
    candidates = candidates_of(problem, quick)[:2]
    for one, other in zip(train_parallel(problem, candidates, quick), alone(problem, candidates, quick), strict=True):
        found, wanted = one.best_model().state_dict(), other.best_model().state_dict()
        assert all(torch.equal(found[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize("way", [train_parallel, _on_cpu, _on_gpu])
def test_of_nothing_nothing_comes(classification, quick, way):
    assert way(classification, [], quick) == []


def here_and_elsewhere() -> tuple[int, int]:
    """The number of compute threads as seen by this thread and by a new one."""
    with ThreadPoolExecutor(1) as pool:
        return torch.get_num_threads(), pool.submit(torch.get_num_threads).result()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_number_of_threads_is_put_back(classification, quick, count):
    with threads(2):
        train_parallel(classification, candidates_of(classification, quick)[:count], quick)
        assert here_and_elsewhere() == (2, 2)


@pytest.mark.parametrize("place", [0, 1, 3])
def test_the_number_of_threads_is_put_back_after_an_error(classification, quick, place):
    candidates = candidates_of(classification, quick)[:3]
    candidates.insert(place, ([MetaGraph("author", ((EMPTY,),))], 0))
    with threads(2):
        with pytest.raises(DiffmgError, match="must reach the target"):
            train_parallel(classification, candidates, quick)
        assert here_and_elsewhere() == (2, 2)


@pytest.mark.parametrize("way", [_on_cpu, _on_gpu])
def test_a_meta_graph_for_another_type_is_named(classification, quick, way):
    with pytest.raises(DiffmgError, match=r"but got \['venue'\]"):
        way(classification, [([MetaGraph.features_only("venue")], 0)], quick)


def test_on_a_cpu_each_training_has_one_thread_and_no_more_run_than_there_are_threads(
    classification, quick, monkeypatch
):
    seen: set[int] = set()
    workers: list[int] = []

    class Noted(Training):
        def advance(self):
            seen.add(torch.get_num_threads())
            return super().advance()

    class Pool(parallel.ThreadPoolExecutor):
        def __init__(self, count):
            workers.append(count)
            super().__init__(count)

    monkeypatch.setattr(parallel, "Training", Noted)
    monkeypatch.setattr(parallel, "ThreadPoolExecutor", Pool)
    for count in (1, 5):
        on_two_cores(classification, candidates_of(classification, quick)[:count], quick)
    assert seen == {1}
    assert workers == [1, 2]


@pytest.mark.parametrize(("at_once", "count"), [(2, 6), (2, 1), (1, 3), (8, 6)])
def test_no_more_than_so_many_share_a_gpu(classification, at_once, count, monkeypatch):
    """In rounds: all running jobs are launched before the first is waited for."""
    log: list[tuple[str, int]] = []

    class Noted(Training):
        def launch(self):
            log.append(("launch", id(self)))
            super().launch()

        def advance(self):
            log.append(("advance", id(self)))
            return super().advance()

    candidates = candidates_of(classification, PATIENT)[:count]
    wanted = alone(classification, candidates, PATIENT)
    monkeypatch.setattr(parallel, "CONCURRENT", at_once)
    monkeypatch.setattr(parallel, "Training", Noted)
    assert_same(_on_gpu(classification, candidates, PATIENT), wanted)
    rounds = [(kind, [who for _, who in calls]) for kind, calls in groupby(log, key=lambda call: call[0])]
    launched, advanced = ([who for kind, who in rounds if kind == word] for word in ("launch", "advance"))
    assert launched == advanced
    assert max(map(len, launched)) == min(at_once, count)
    assert sum(map(len, advanced)) == sum(training.epoch for training in wanted)


class Countdown:
    """A job of so many rounds, and its own log."""

    def __init__(self, name: str, rounds: int, log: list[str]) -> None:
        self.name, self.rounds, self.log = name, rounds, log
        log.append(f"start {name}")

    @property
    def done(self) -> bool:
        return self.rounds == 0

    def launch(self) -> None:
        self.log.append(f"launch {self.name}")

    def advance(self) -> None:
        self.rounds -= 1
        self.log.append(f"advance {self.name}")


def test_any_jobs_run_side_by_side_and_the_next_starts_when_one_is_done(monkeypatch):
    monkeypatch.setattr(parallel, "CONCURRENT", 2)
    log: list[str] = []
    jobs = side_by_side([lambda n=n, r=r: Countdown(n, r, log) for n, r in (("a", 2), ("b", 1), ("c", 1))])
    assert [job.name for job in jobs] == ["a", "b", "c"]
    assert log == [
        "start a", "start b", "launch a", "launch b", "advance a", "advance b",
        "start c", "launch a", "launch c", "advance a", "advance c",
    ]  # fmt: skip
