from __future__ import annotations

import numpy as np

from diffmg.methods.baselines._moves import both_sides_scaled, moves_into
from oracle import adjacency, rows_of
from small_networks import AA, AB, AC, BA, BB, small_world
from worlds import World


def test_relations_are_taken_both_ways_unless_the_reverse_is_there():
    """`bb` is its own reverse; all others of the small world have none."""
    world = small_world()
    plain = World(world.num_nodes, world.edges)
    found = {(t, m.name): m for t, moves in moves_into(world.graph()).items() for m in moves}
    names = {(r.target, str(r)) for r in world.edges} | {(r.source, f"{r}, reversed") for r in world.edges if r != BB}
    assert set(found) == names
    for relation in (AA, AB, AC, BA, BB):
        dense = adjacency(plain, relation)[rows_of(world, relation.target), rows_of(world, relation.source)]
        move = found[relation.target, str(relation)]
        assert np.array_equal(move.links.toarray(), dense > 0)
        assert np.array_equal(move.weights.toarray(), world.graph().adjacency[relation].toarray())
        assert move.weighted == (relation in world.weights)
        assert move.source == relation.source
    back = found["a", f"{AB}, reversed"]
    assert np.array_equal(back.links.toarray(), found["b", str(AB)].links.toarray().T)
    assert np.array_equal(back.weights.toarray(), found["b", str(AB)].weights.toarray().T)
    assert back.source == "b"


def test_entries_are_divided_by_the_roots_of_both_sums():
    links = moves_into(small_world().graph())["b"][0].links
    dense = links.toarray()
    scaled = both_sides_scaled(links).toarray()
    for row, column in np.argwhere(dense):
        assert np.isclose(scaled[row, column], (dense[row].sum() * dense[:, column].sum()) ** -0.5)
    assert np.array_equal(scaled > 0, dense > 0)
