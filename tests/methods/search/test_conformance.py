"""What every registered strategy must satisfy."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import pytest
import torch
from torch import Tensor

from diffmg.core.errors import DiffmgError
from diffmg.core.settings import Settings
from diffmg.core.space import check_fits
from diffmg.graph.network import HeteroGraph
from diffmg.methods.search import STRATEGIES, Search, Strategy, make_strategy
from diffmg.tasks import Part, Task
from diffmg.tasks.problem import Problem
from diffmg.training import Training
from resuming import assert_resumable, run

DEPTH, EPOCHS = 2, 3
SMALL = {"epochs": EPOCHS, "trials": 6, "batch": 2, "generations": EPOCHS, "population": 4}
"""Options that make a search short, where it has them."""
NAMES = [name for name, _ in STRATEGIES.items()]

pytestmark = pytest.mark.parametrize("name", NAMES)


class Sealed(Task):
    """A task whose test part cannot be looked at."""

    def __init__(self, task: Task) -> None:
        self.task, self.metric = task, task.metric

    @property
    def target_types(self) -> tuple[str, ...]:
        return self.task.target_types

    @property
    def outputs(self) -> int:
        return self.task.outputs

    def size(self, part: Part) -> int:
        return self.task.size(self._allowed(part))

    def check(self, graph: HeteroGraph) -> None:
        self.task.check(graph)

    def to(self, device: torch.device | str) -> Sealed:
        return Sealed(self.task.to(device))

    def loss(self, outputs: tuple[Tensor, ...], part: Part) -> Tensor:
        return self.task.loss(outputs, self._allowed(part))

    def scores(self, outputs: tuple[Tensor, ...], part: Part) -> dict[str, Tensor]:
        return self.task.scores(outputs, self._allowed(part))

    def evaluate(self, outputs: tuple[Tensor, ...], part: Part) -> tuple[Tensor, Tensor]:
        return self.task.evaluate(outputs, self._allowed(part))

    def final_scores(self, outputs: tuple[Tensor, ...], part: Part) -> dict[str, Tensor]:
        return self.task.final_scores(outputs, self._allowed(part))

    def fingerprint(self) -> str:
        return self.task.fingerprint()

    @staticmethod
    def _allowed(part: Part) -> Part:
        assert part != "test", "a search looked at the test part"
        return part


def make(name: str) -> Strategy:
    """With few epochs where it has them."""
    known = {f.name for f in fields(STRATEGIES.get(name))}
    return make_strategy(name, {option: value for option, value in SMALL.items() if option in known})


def start(name: str, problem: Problem, quick: Settings, seed: int = 0) -> Search:
    return make(name).start(problem, DEPTH, quick, seed)


def test_options_have_defaults_and_are_frozen(name):
    strategy = make_strategy(name)
    assert strategy == make_strategy(name)
    with pytest.raises(FrozenInstanceError):
        strategy.epochs = 1


def test_says_what_it_is_in_one_line(name):
    summary = STRATEGIES.get(name).summary
    assert summary.strip() == summary != ""
    assert "\n" not in summary


def test_unknown_option(name):
    with pytest.raises(DiffmgError, match=f"unknown option of strategy '{name}': 'colour'"):
        make_strategy(name, {"colour": "red"})


def test_finds_one_meta_graph_per_target_type_at_any_time(name, problem, quick):
    search = start(name, problem, quick)
    for _ in range(EPOCHS):
        found = search.found()
        assert tuple(m.target for m in found) == problem.task.target_types
        assert all(m.depth <= DEPTH for m in found)
        for metagraph in found:
            check_fits(metagraph, problem.graph.schema)
        if not search.done:
            search.advance()


def test_what_is_found_can_be_trained(name, problem, quick):
    search = start(name, problem, quick)
    run(search, EPOCHS)
    assert len(run(Training(problem, search.found(), quick, 0), 1)) == 1


def test_epochs_are_counted_from_one(name, problem, quick):
    search = start(name, problem, quick)
    history = run(search, EPOCHS)
    assert [record.epoch for record in history] == list(range(1, len(history) + 1))
    assert search.epoch == len(history)


def test_records_are_finite(name, problem, quick):
    for record in run(start(name, problem, quick), EPOCHS):
        assert torch.tensor([record.train_loss, record.val_loss, record.val_score]).isfinite().all()


def test_repeats_with_its_seed(name, problem, quick):
    one, other = start(name, problem, quick, seed=5), start(name, problem, quick, seed=5)
    torch.manual_seed(1)
    first = run(one, EPOCHS)
    torch.manual_seed(2)
    assert run(other, EPOCHS) == first
    assert one.found() == other.found()


def test_state_round_trip(name, problem, quick):
    search = start(name, problem, quick)
    if not search.done:
        assert_resumable(lambda: start(name, problem, quick), EPOCHS)
        return
    again = start(name, problem, quick)
    again.restore(search.tensors(), search.numbers())
    assert again.found() == search.found()


def test_a_finished_search_is_told_so(name, problem, quick):
    search = start(name, problem, quick)
    run(search)
    assert search.done
    assert search.epoch <= search.total


def test_never_looks_at_the_test_part(name, problem, quick):
    sealed = Problem(problem.graph, Sealed(problem.task))
    search = start(name, sealed, quick)
    run(search, EPOCHS)
    assert search.found() == _found(name, problem, quick)


def _found(name: str, problem: Problem, quick: Settings):
    search = start(name, problem, quick)
    run(search, EPOCHS)
    return search.found()


def test_has_a_test_file_of_its_name(name):
    assert (Path(__file__).parent / f"test_{name}.py").is_file()
