"""Meta structures: how they are stored, grow and shrink."""

from __future__ import annotations

import random

import pytest

from diffmg.core.metagraph import EMPTY
from diffmg.core.schema import Relation, Schema
from diffmg.methods.baselines._gems_structure import Edge, Structure, grown, shortest, shrunk

BUYS, BOUGHT = Relation("user", "buys", "item"), Relation("item", "bought", "user")
KNOWS = Relation("user", "knows", "user")
MADE, MAKES = Relation("item", "made", "brand"), Relation("brand", "makes", "item")
SCHEMA = Schema(("user", "item", "brand"), (BUYS, BOUGHT, KNOWS, MADE, MAKES))
DIRECT = Structure.along([BOUGHT])
SQUARE = Structure(
    ("item", "brand", "user", "item", "user"),
    (Edge(0, 1, MADE), Edge(0, 2, BOUGHT), Edge(1, 3, MAKES), Edge(2, 3, BUYS), Edge(3, 4, BOUGHT)),
)


def evolved(count: int, seed: int = 0) -> list[Structure]:
    """Structures that a long random evolution passes through."""
    rng, found = random.Random(seed), [DIRECT]
    for _ in range(count):
        grows = rng.random() < 0.6
        found.append(grown(found[-1], SCHEMA, 6, 0.3, rng) if grows else shrunk(found[-1], rng))
    return found


def assert_whole(structure: Structure) -> None:
    """From item to user; edges follow the schema and their order, one between two slots, each on a path."""
    assert (structure.slots[0], structure.slots[-1]) == ("item", "user")
    assert list(structure.edges) == sorted(structure.edges)
    for edge in structure.edges:
        assert edge.i < edge.k
        assert edge.relation in SCHEMA.relations
        assert (edge.relation.source, edge.relation.target) == (structure.slots[edge.i], structure.slots[edge.k])
    assert len({(e.i, e.k) for e in structure.edges}) == len(structure.edges)
    assert {e for path in structure.paths() for e in path} == set(structure.edges)
    assert {n for e in structure.edges for n in (e.i, e.k)} == set(range(len(structure.slots)))


def test_evolution_keeps_structures_whole_and_small():
    found = evolved(300)
    assert len(set(found)) > 50
    for structure in found:
        assert_whole(structure)
        assert len(structure.slots) <= 6


def test_growing_adds_a_path_and_shrinking_takes_one():
    rng = random.Random(1)
    for structure in set(evolved(100)):
        before = len(structure.paths())
        larger, smaller = grown(structure, SCHEMA, 6, 0.3, rng), shrunk(structure, rng)
        assert larger == structure or len(larger.paths()) > before
        assert 1 <= len(smaller.paths()) <= max(1, before - 1)
        assert set(smaller.slots) <= set(structure.slots)
    assert len(grown(DIRECT, SCHEMA, 6, 0.3, rng).paths()) > 1
    assert shrunk(DIRECT, rng) == DIRECT


def test_growing_gives_up_where_nothing_fits():
    assert grown(DIRECT, Schema(("user", "item"), (BOUGHT,)), 4, 0.5, random.Random(0)) == DIRECT
    assert grown(DIRECT, SCHEMA, 2, 1.0, random.Random(0)) == DIRECT


def test_paths_by_hand():
    found = {tuple(e.relation for e in path) for path in SQUARE.paths()}
    assert found == {(MADE, MAKES, BOUGHT), (BOUGHT, BUYS, BOUGHT)}


def test_shrinking_removes_what_only_one_path_uses():
    results = {shrunk(SQUARE, random.Random(seed)) for seed in range(20)}
    assert results == {Structure.along([MADE, MAKES, BOUGHT]), Structure.along([BOUGHT, BUYS, BOUGHT])}


def test_what_is_on_no_path_is_pruned():
    dangling = SQUARE.with_slot(1, "brand").with_edge(Edge(0, 1, MADE))
    assert dangling != SQUARE
    assert dangling.pruned() == SQUARE


def test_stored_as_a_meta_graph():
    """Slots are states and edges are operations; reading it gives the same structure."""
    metagraph = SQUARE.metagraph()
    assert metagraph.target == "user"
    assert {(link.i, link.k, o) for link, o in metagraph.choices if o is not EMPTY} == set(map(tuple, SQUARE.edges))
    for structure in evolved(40):
        assert Structure.of(structure.metagraph()) == structure


@pytest.mark.parametrize(
    ("relations", "path"),
    [
        ((BUYS, BOUGHT), (BOUGHT,)),
        ((MADE, MAKES, Relation("brand", "liked", "user")), (MADE, Relation("brand", "liked", "user"))),
        ((BUYS, MADE), None),
    ],
)
def test_the_shortest_meta_path(relations, path):
    found = shortest(Schema(("user", "item", "brand"), relations), "item", "user")
    assert found == (None if path is None else Structure.along(path))
