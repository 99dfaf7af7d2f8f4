from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given

from diffmg.core.schema import Relation, Schema
from diffmg.methods.baselines._reach import reaching, relations_by_layer, types_within
from small_networks import AB, AC, BA, CB
from worlds import worlds


@given(world=worlds())
def test_types_within_so_many_hops(world):
    """Powers of the matrix of types."""
    schema, types = world.graph().schema, list(world.num_nodes)
    linked = np.eye(len(types), dtype=int)
    for r in world.edges:
        linked[types.index(r.source), types.index(r.target)] = linked[types.index(r.target), types.index(r.source)] = 1
    for hops in range(4):
        near = np.linalg.matrix_power(linked, hops)[0] > 0
        assert types_within(schema, types[:1], hops) == tuple(t for t, yes in zip(types, near, strict=True) if yes)


@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("targets", [("b",), ("a", "c")])
def test_types_that_matter_are_those_with_a_walk_to_a_target(steps, targets):
    relations = [("a", "r", "b"), ("c", "r", "a"), ("d", "r", "c"), ("b", "r", "e"), ("d", "s", "d")]
    schema = Schema(tuple("abcde"), tuple(Relation(*r) for r in relations))
    levels = reaching(schema, targets, steps)
    for level, types in enumerate(levels):
        reach = set(targets)
        for length in range(1, steps - level + 1):
            for walk in product(schema.relations, repeat=length):
                linked = all(x.target == y.source for x, y in pairwise(walk))
                if linked and walk[-1].target in targets:
                    reach.add(walk[0].source)
        assert set(types) == reach
        assert types[: len(targets)] == targets


def test_relations_by_layer():
    relations = [AB, BA, AC, CB]
    assert relations_by_layer(relations, ["c"], 3) == [(AB, BA, AC, CB), (BA, AC), (AC,)]
    assert relations_by_layer([AC], ["a"], 2) == [(), ()]
