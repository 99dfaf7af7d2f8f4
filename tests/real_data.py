"""Checks on the data sets of the paper; they need the files that DIFFMG_DATA names."""

from __future__ import annotations

import os

import pytest

import runs  # noqa: F401  (one thread)
from diffmg.datasets import DATASETS, Published
from diffmg.plan import settings_from
from diffmg.strategies import make_strategy
from diffmg.strategies.diffmg import DiffMG
from diffmg.train import Problem, TrainSettings

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
