from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import MetaPath
from diffmg.core.schema import Relation, Schema
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._paths import (
    MOST_PATHS,
    closed_paths,
    parse_path,
    path_texts,
    paths_by_target,
    reverses_of,
    spelled,
    symmetric_paths,
    usual_paths,
)
from small_networks import AA, AB, AB2, AC, BA, BB, CB, small_world
from worlds import World, schemas, worlds

SCHEMA = small_world().schema
DBLP = {"author": ("paper",), "paper": ("author", "conference"), "conference": ("paper",)}


def linked(types: dict[str, tuple[str, ...]]) -> Schema:
    return Schema(tuple(types), tuple(Relation(s, f"{s}_{t}", t) for s, ends in types.items() for t in ends))


def closed(schema: Schema, target: str, longest: int) -> set[MetaPath]:
    """Every chain of relations that composes and leads from the target back to it."""
    chains = (c for n in range(1, longest + 1) for c in product(schema.relations, repeat=n))
    return {
        c for c in chains if c[0].source == c[-1].target == target and all(a.target == b.source for a, b in pairwise(c))
    }


def test_a_path_is_read_with_and_without_names():
    assert parse_path("b -> a -> c -> b", SCHEMA) == (BA, AC, CB)
    assert parse_path("b -ba-> a -ab2-> b", SCHEMA) == (BA, AB2)
    assert parse_path("  b -> a  -ab->  b ", SCHEMA) == (BA, AB)
    assert parse_path("a -> a", SCHEMA) == (AA,)


def test_names_with_spaces_and_hyphens_are_read():
    schema = Schema(("co-author", "a paper"), (Relation("co-author", "is-in x", "a paper"),))
    assert parse_path("co-author -is-in x-> a paper", schema) == schema.relations
    assert parse_path("co-author -> a paper", schema) == schema.relations


@given(schemas(), st.data())
def test_a_spelled_path_is_read_back(schema, data):
    path = [data.draw(st.sampled_from(schema.relations))]
    while data.draw(st.booleans()) and (onward := [r for r in schema.relations if r.source == path[-1].target]):
        path.append(data.draw(st.sampled_from(onward)))
    assert parse_path(spelled(tuple(path)), schema) == tuple(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("b", "is written .* with spaces around the arrows, but got 'b'"),
        ("b->a->b", "with spaces around the arrows, but got 'b->a->b'"),
        ("b -> a -> b", "must be named where two types have several, but got 'a -> b' in .* any of: .*ab2"),
        ("b -> c", "but got 'b -> c' in 'b -> c'; relations from 'b': 'b -ba-> a', 'b -bb-> b'"),
        ("b -> a -of-> b", "but got 'a -of-> b' in .*; relations from 'a': 'a -ab-> b'"),
        ("b -> d -> b", "unknown node type 'd'"),
    ],
)
def test_a_path_that_does_not_compose_says_where(text, message):
    with pytest.raises(DiffmgError, match=message):
        parse_path(text, SCHEMA)


def test_given_paths_go_to_the_type_they_start_at():
    graph = small_world().graph()
    texts = ["b -bb-> b", "a -> c -> b -> a", "b -> a -ab-> b", "b -> b"]
    assert paths_by_target(graph, ("a", "b"), texts) == {"a": ((AC, CB, BA),), "b": ((BB,), (BA, AB))}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["b -> a"], r"start and end at the same target type, one of \['b'\], but got 'b -ba-> a'"),
        (["a -> a"], "same target type"),
    ],
)
def test_given_paths_must_be_of_a_target(texts, message):
    with pytest.raises(DiffmgError, match=message):
        paths_by_target(small_world().graph(), ("b",), texts)


def test_every_target_needs_a_path():
    with pytest.raises(DiffmgError, match="none of 'a'"):
        paths_by_target(small_world().graph(), ("a", "b"), ["b -> b"])


@pytest.mark.parametrize("paths", [3, {"a": "b"}, [1], None])
def test_paths_are_texts(paths):
    with pytest.raises(DiffmgError, match=r"but got paths="):
        path_texts(paths)


def test_one_path_may_be_given_alone():
    assert path_texts("a -> b") == ("a -> b",)
    assert path_texts(["a -> b"]) == ("a -> b",)


def test_the_usual_paths_are_found_by_the_schema():
    found = usual_paths(linked(DBLP), "author")
    assert [len(p) for p in found] == [2, 4]
    assert found[1][1] == Relation("paper", "paper_conference", "conference")
    with_terms = DBLP | {"paper": ("author", "conference", "term"), "term": ("paper",)}
    assert [p[len(p) // 2].source for p in usual_paths(linked(with_terms), "author")] == ["paper", "conference", "term"]


def test_other_schemas_have_no_usual_paths():
    assert usual_paths(linked(DBLP), "paper") == ()
    assert usual_paths(linked(DBLP | {"conference": ()}), "author") == ()
    assert usual_paths(SCHEMA, "a") == ()


@pytest.mark.parametrize(
    ("links", "targets"),
    [
        ("paper author, paper subject", "paper"),
        ("movie director, movie actor", "movie"),
        ("user item, item brand, item category, item view", "user item"),
        ("user user, user business, user compliment, business category, business city", "user business"),
        ("user user, user movie, user group, movie actor, movie director, movie type", "user movie"),
    ],
)
def test_the_data_of_the_paper_have_usual_paths(links, targets):
    pairs = [tuple(link.split()) for link in links.split(", ")]
    types = dict.fromkeys(t for pair in pairs for t in pair)
    schema = linked({t: tuple({b: 0 for a, b in pairs + [p[::-1] for p in pairs] if a == t}) for t in types})
    for target in targets.split():
        found = usual_paths(schema, target)
        assert len(found) >= 2
        for path in found:
            there = [r.source for r in path]
            assert [target, *there[:0:-1]] == there, "there and back the same way"


@given(worlds())
def test_reverses_are_transposes(world):
    graph = world.graph()
    dense = {r: graph.adjacency[r].toarray() > 0 for r in graph.schema.relations}
    found = reverses_of(graph)
    for r in graph.schema.relations:
        ends = [q for q in dense if (q.source, q.target) == (r.target, r.source)]
        partners = [q for q in ends if np.array_equal(dense[q], dense[r].T)]
        assert found.get(r) in (partners or [None])


@given(worlds())
def test_symmetric_paths_against_all_closed_paths(world):
    schema, reverses = world.schema, reverses_of(world.graph())
    for target in schema.node_types:
        found = symmetric_paths(schema, reverses, target, 4)
        wanted = {p for p in closed(schema, target, 4) if comes_back(p, reverses)}
        assert set(found) <= wanted
        assert set(found) == wanted or len(found) == MOST_PATHS
        assert list(map(len, found)) == sorted(map(len, found))
        assert len(set(found)) == len(found) <= MOST_PATHS


def comes_back(path: MetaPath, reverses: dict[Relation, Relation]) -> bool:
    """The same way out and back, with nothing on the way out that is undone at once."""
    half, middle = path[: len(path) // 2], path[len(path) // 2 : -(len(path) // 2) or None]
    mirrored = all(reverses.get(r) == back for r, back in zip(half, path[::-1], strict=False))
    undone = any(reverses[a] == b for a, b in pairwise(half)) if mirrored else True
    if len(path) % 2:
        return mirrored and not undone and reverses.get(middle[0]) == middle[0] and middle[0] not in half
    return mirrored and not undone and reverses[half[-1]] != half[-1]


def test_symmetric_paths_of_a_small_shop():
    world = shop()
    graph = world.graph()
    buys, bought, friend, made, makes = graph.schema.relations
    found = symmetric_paths(graph.schema, reverses_of(graph), "user", 4)
    assert set(found) == {(friend,), (buys, bought), (friend, buys, bought, friend), (buys, made, makes, bought)}
    assert symmetric_paths(graph.schema, reverses_of(graph), "user", 1) == ((friend,),)
    assert symmetric_paths(graph.schema, reverses_of(graph), "item", 3) == (
        (bought, buys),
        (made, makes),
        (bought, friend, buys),
    )


def shop() -> World:
    buys, made = np.array([[0, 1, 1], [0, 0, 1]]), np.array([[0, 1], [0, 0]])
    return World(
        {"user": 3, "item": 2, "brand": 1},
        {
            Relation("user", "buys", "item"): buys,
            Relation("item", "bought_by", "user"): buys[::-1],
            Relation("user", "friend", "user"): np.array([[0, 2], [2, 0]]),
            Relation("item", "made_by", "brand"): made,
            Relation("brand", "makes", "item"): made[::-1],
        },
    )


def test_without_reverses_any_way_back_will_do():
    graph = small_world().graph()
    assert paths_by_target(graph, ("c", "b"), longest=3) == {"c": ((CB, BA, AC),), "b": ((BB,),)}


@given(schemas(), st.integers(1, 4))
def test_closed_paths_lead_back_and_not_through(schema, longest):
    for target in schema.node_types:
        found = closed_paths(schema, target, longest)
        wanted = {
            p
            for p in closed(schema, target, longest)
            if all(r.target != target for r in p[:-1]) and len(set(p)) == len(p)
        }
        assert set(found) <= wanted
        assert set(found) == wanted or len(found) == MOST_PATHS


def test_a_type_with_no_way_back_raises():
    graph = HeteroGraph.build({"a": 2, "b": 2}, {("a", "r", "b"): [[0, 1], [0, 1]]})
    with pytest.raises(DiffmgError, match="raise `longest`"):
        paths_by_target(graph, ("b",))
