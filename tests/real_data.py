"""Checks on the data sets of the paper; they need the files that DIFFMG_DATA names."""

from __future__ import annotations

import math
import os
from dataclasses import replace

import pytest

import runs  # noqa: F401  (one thread)
from diffmg.datasets import DATASETS, Published
from diffmg.plan import settings_from
from diffmg.space import SearchSpace
from diffmg.strategies import make_strategy
from diffmg.strategies.diffmg import DiffMG
from diffmg.train import Problem, Training, TrainSettings

needs_data = pytest.mark.skipif(not os.environ.get("DIFFMG_DATA"), reason="DIFFMG_DATA is not set")


def published(name: str) -> Published:
    """What the authors published for a data set."""
    found = DATASETS.get(name)(name).published()
    assert found is not None
    return found


def train_settings(name: str) -> TrainSettings:
    """The authors' settings of retraining."""
    return settings_from(TrainSettings(), published(name).train)


def search_options(name: str) -> DiffMG:
    """The authors' settings of the search."""
    strategy = make_strategy("diffmg", published(name).search)
    assert isinstance(strategy, DiffMG)
    return strategy


def edges(problem: Problem) -> dict[str, int]:
    """Edges of each relation, by `source -name-> target`."""
    return {str(relation): matrix.nnz for relation, matrix in problem.graph.adjacency.items()}


def split(problem: Problem) -> tuple[int, ...]:
    """Labelled nodes or pairs of train, val and test."""
    return tuple(problem.task.size(part) for part in ("train", "val", "test"))


def assert_published_in_space(name: str, problem: Problem) -> None:
    """The authors' meta graphs fit the network and lie in the space their program searched."""
    metagraphs = problem.arranged(published(name).metagraphs)
    for metagraph, target in zip(metagraphs, problem.task.target_types, strict=True):
        assert SearchSpace.dag(problem.graph.schema, target, depth=4, identity_last=True).contains(metagraph)


def assert_trains(name: str, problem: Problem) -> None:
    """Two epochs with the authors' settings give finite numbers."""
    settings = replace(train_settings(name), max_epochs=2)
    training = Training(problem, problem.arranged(published(name).metagraphs), settings, seed=0)
    while not training.done:
        epoch = training.advance()
        assert math.isfinite(epoch.train_loss)
        assert math.isfinite(epoch.val_loss)
        assert 0 <= epoch.val_score <= 1
    assert training.epoch == 2
