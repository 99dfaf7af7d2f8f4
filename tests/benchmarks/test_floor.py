from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks import floor
from benchmarks.floor import ceilings, least_work
from diffmg.core.metagraph import EMPTY, IDENTITY, MetaGraph
from diffmg.core.schema import Relation
from diffmg.core.settings import Settings
from diffmg.graph.network import HeteroGraph
from diffmg.methods.search.random import RandomMetaGraph
from diffmg.tasks import NodeClassification, Recommendation
from diffmg.tasks.problem import Problem

CPU = torch.device("cpu")
AB, BA = Relation("a", "ab", "b"), Relation("b", "ba", "a")
FOUR = [[0, 1, 2, 2], [0, 0, 0, 1]]
"""Edges from a to b, by hand."""
FEATURES = {"a": np.ones((3, 2), np.float32)}
DIM = 5


def network() -> HeteroGraph:
    """3 nodes of a with features, 2 of b without; 4 edges one way and 1 the other."""
    return HeteroGraph.build({"a": 3, "b": 2}, {AB: FOUR, BA: [[1], [2]]}, FEATURES)


def classified() -> Problem:
    return Problem(network(), NodeClassification.build("a", [0, 1, 0], train=[0, 1], val=[2], test=[]))


def test_the_least_work_of_one_product_by_hand():
    """State 0 of both types, and the product along `ab`; b has a learned vector for each of its two nodes."""
    state_0 = 3 * 2 * (3 + 2) * DIM  # three passes, written and read
    parameters = (1 + 2) * DIM
    product = 8 * 4 + 4 * DIM * (2 + 3)  # entries and their columns; a read, b written
    assert least_work(classified(), [MetaGraph("b", ((AB,),))], DIM) == {
        "bytes": 4 * (state_0 + 7 * parameters) + 3 * product,
        "operations": 3 * 2 * (3 + 2) * DIM * DIM + 12 * parameters + 3 * 2 * 4 * DIM,
    }
    assert least_work(classified(), [MetaGraph("b", ((AB,),))], DIM) == {"bytes": 1416, "operations": 1050}


def test_a_product_more_costs_its_matrix_and_its_rows_alone():
    """`ba` into state 1 of a, before `ab` into state 2 of b; state 1 of b only passes."""
    one = least_work(classified(), [MetaGraph("b", ((AB,),))], DIM)
    path = least_work(classified(), [MetaGraph("b", ((BA,), (EMPTY,), (AB,)))], DIM)
    assert path["bytes"] - one["bytes"] == 3 * (8 * 1 + 4 * DIM * (2 + 3))
    assert path["operations"] - one["operations"] == 3 * 2 * 1 * DIM


def test_what_only_passes_is_no_product():
    only = least_work(classified(), [MetaGraph("b", ((IDENTITY,),))], DIM)
    assert only == {"bytes": 4 * (3 * 2 * 2 * DIM + 7 * 2 * DIM), "operations": 3 * 2 * 2 * DIM * DIM + 12 * 2 * DIM}


def test_the_work_of_two_towers_is_that_of_both():
    task = Recommendation.build(
        "a", "b", (3, 2), {"train": [[0, 1]], "val": [[1, 1]]}, {"train": [[2, 0]], "val": [[0, 0]]}, exempt=("ab",)
    )
    problem = Problem(network(), task)
    towers = [MetaGraph("a", ((BA,),)), MetaGraph("b", ((AB,),))]
    both, first, second = (least_work(problem, some, DIM) for some in (towers, towers[:1], towers[1:]))
    assert both == {name: first[name] + second[name] for name in both}


def test_work_grows_with_the_columns(problem):
    metagraphs = RandomMetaGraph(depth=3).search(problem, Settings(), 0).found()
    less, more = (least_work(problem, metagraphs, dim) for dim in (8, 16))
    assert less["bytes"] < more["bytes"] < 2 * less["bytes"], "the matrices' entries are read once, for all columns"
    assert more["operations"] > 2 * less["operations"]


def test_ceilings_are_measured(monkeypatch):
    monkeypatch.setattr(floor, "COPIED", {"cpu": 2**16})
    monkeypatch.setattr(floor, "SIDE", 64)
    found = ceilings(CPU)
    assert set(found) == {"copy_bytes_per_second", "operations_per_second"}
    assert all(1e6 < speed < 1e15 for speed in found.values())


def test_ceilings_are_bytes_and_operations_by_the_median_second(monkeypatch):
    """A copy reads and writes 4 bytes a number; a product of n rows does n^3 multiplications and additions."""
    seconds = iter([100.0, 1.0, 3.0, 1.0, 2.0, 3.0, 1.0, 3.0] * 2)  # the first only warms up
    clock = [0.0]
    monkeypatch.setattr(floor, "COPIED", {"cpu": 1000})
    monkeypatch.setattr(floor, "SIDE", 10)

    class Clock:
        calls = 0

        @classmethod
        def perf_counter(cls) -> float:
            cls.calls += 1
            if cls.calls % 2 == 0:
                clock[0] += next(seconds)
            return clock[0]

    monkeypatch.setattr(floor, "time", Clock)
    found = ceilings(CPU)
    assert found == {"copy_bytes_per_second": 8 * 1000 / 2, "operations_per_second": 2 * 10**3 / 2}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_copy_is_larger_than_caches(device):
    assert 4 * floor.COPIED[device] >= 2**28
