"""Checks on the data sets of the paper; they need the files that DIFFMG_DATA names."""

from __future__ import annotations

import os

import pytest

from diffmg.core.method import MethodSpec
from diffmg.core.settings import Settings
from diffmg.datasets import DATASETS, Published
from diffmg.methods.search.diffmg import DiffMG
from diffmg.tasks import NodeClassification, Recommendation
from diffmg.tasks.problem import Problem

needs_data = pytest.mark.skipif(not os.environ.get("DIFFMG_DATA"), reason="DIFFMG_DATA is not set")


def published(name: str) -> Published:
    """What the authors published for a data set."""
    found = DATASETS.get(name)(name).published()
    assert found is not None
    return found


def train_settings(name: str) -> Settings:
    """The authors' settings of retraining."""
    return Settings().changed(published(name).train)


def search_options(name: str) -> DiffMG:
    """The authors' settings of the search."""
    method = MethodSpec("diffmg", published(name).search).make()
    assert isinstance(method, DiffMG)
    return method


def assert_network(problem: Problem, nodes: dict[str, int], edges: dict[str, int]) -> None:
    """Node types and relations, by `source -name-> target`, with their counts."""
    assert problem.graph.num_nodes == nodes
    assert {str(relation): matrix.nnz for relation, matrix in problem.graph.adjacency.items()} == edges


def assert_words(problem: Problem, ones: int, columns: int, ids: dict[str, tuple[int, int]]) -> None:
    """Features: how many ones in how many columns; ids: first and last of each type."""
    assert sum(len(x.forward.values()) for x in problem.graph.features.values()) == ones
    assert {x.shape[1] for x in problem.graph.features.values()} == {columns}
    assert {t: (int(i.min()), int(i.max())) for t, i in problem.graph.ids.items()} == ids


def assert_labels(problem: Problem, counts: dict[str, list[int]]) -> None:
    """Nodes of each class per part; no other node has a label."""
    task = problem.task
    assert isinstance(task, NodeClassification)
    assert {part: task.labels[index].bincount().tolist() for part, index in task.parts.items()} == counts
    assert int((task.labels >= 0).sum()) == sum(map(sum, counts.values()))


def assert_pairs(problem: Problem, observed: int, positives: dict[str, int]) -> None:
    """Pairs per part, half of them positive, and the pairs that are edges."""
    task = problem.task
    assert isinstance(task, Recommendation)
    assert {part: int(labelled.labels.sum()) for part, labelled in task.parts.items()} == positives
    assert {part: task.size(part) for part in task.parts} == {part: 2 * count for part, count in positives.items()}
    assert task.seen.nnz == observed
