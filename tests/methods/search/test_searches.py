"""What every registered search must satisfy beside the public kit."""

from __future__ import annotations

from dataclasses import fields

import pytest
import torch

from diffmg.core.errors import DiffmgError
from diffmg.core.method import METHODS, MethodSpec
from diffmg.core.settings import Settings
from diffmg.core.space import check_fits
from diffmg.methods.search._base import SearchMethod
from diffmg.tasks.problem import Problem
from diffmg.training import Training
from diffmg.training.job import Search
from resuming import assert_resumable, assert_same_state, run

DEPTH, EPOCHS = 2, 3
SHORT = {"depth": DEPTH, "epochs": EPOCHS, "trials": 6, "batch": 2, "generations": EPOCHS, "population": 4}
"""Options that make a search short, where it has them."""
NAMES = [name for name, kind in METHODS.items() if kind.family == "search" and not kind.races]
SEEDED = [name for name in NAMES if issubclass(METHODS.get(name), SearchMethod)]

each = pytest.mark.parametrize("name", NAMES)


def started(name: str, problem: Problem, quick: Settings, seed: int = 0) -> Search:
    known = {f.name for f in fields(METHODS.get(name))}
    method = MethodSpec(name, {option: value for option, value in SHORT.items() if option in known}).make()
    return method.search(problem, quick, seed)


def assert_fits(search: Search, problem: Problem) -> None:
    found = search.found()
    assert tuple(m.target for m in found) == problem.task.target_types
    for metagraph in found:
        assert metagraph.depth <= DEPTH
        check_fits(metagraph, problem.graph.schema)


@each
def test_at_any_time_one_meta_graph_per_target_type_is_found(name, problem, quick):
    """Epochs are counted from one, records are finite, and what is found in the end can be trained."""
    search = started(name, problem, quick)
    history = []
    assert_fits(search, problem)
    while not search.done:
        history += search.advance()
        assert_fits(search, problem)
    assert search.epoch == len(history) <= search.total
    assert [record.epoch for record in history] == list(range(1, len(history) + 1))
    for record in history:
        assert torch.tensor([record.train_loss, record.val_loss, record.val_score]).isfinite().all()
    assert len(run(Training(problem, search.found(), quick, 0), 1)) == 1


@each
def test_repeats_with_its_seed(name, problem, quick):
    one, other = started(name, problem, quick, seed=5), started(name, problem, quick, seed=5)
    torch.manual_seed(1)
    first = run(one)
    torch.manual_seed(2)
    assert run(other) == first
    assert one.found() == other.found()
    assert_same_state(one, other)


@each
def test_resumed_at_any_epoch_ends_the_same(name, problem, quick):
    search = started(name, problem, quick)
    if not search.done:
        assert_resumable(lambda: started(name, problem, quick), EPOCHS)
        return
    again = started(name, problem, quick)
    again.restore(search.tensors(), search.numbers())
    assert again.found() == search.found()


@pytest.mark.parametrize("option", ["depth", "search_seeds"])
def test_depth_and_number_of_searches_are_checked_with_the_value_shown(option):
    for name in SEEDED:
        with pytest.raises(DiffmgError, match=rf"`(1 <= )?{option}.*` must hold, but got .*{option}=0"):
            METHODS.get(name)(**{option: 0})


def test_there_are_as_many_searches_as_seeds():
    assert len(SEEDED) >= 7
    assert all(METHODS.get(name)(search_seeds=5).searches == 5 for name in SEEDED)
    assert {METHODS.get(name)().searches for name in set(NAMES) - set(SEEDED)} == {1}
