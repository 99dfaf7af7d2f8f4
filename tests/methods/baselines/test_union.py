from __future__ import annotations

import numpy as np
import torch
from hypothesis import given

from baseline_checks import dense_union
from diffmg.methods.baselines._reach import rows_of_types, union
from oracle import rows_of
from small_networks import small_world
from worlds import worlds


@given(world=worlds())
def test_union_of_any_network(world):
    torch.testing.assert_close(torch.from_numpy(union(world.graph()).toarray()), dense_union(world))


def test_rows_of_types_stand_in_the_order_of_the_types():
    world = small_world()
    dense = dense_union(world).numpy()
    for types in (("b",), ("c", "a"), ("a", "b", "c")):
        rows = np.concatenate([np.arange(*rows_of(world, t).indices(len(dense))) for t in types])
        found = rows_of_types(union(world.graph()), world.graph(), types)
        assert np.array_equal(found.toarray(), dense[np.ix_(rows, rows)])
