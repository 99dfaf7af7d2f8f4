from __future__ import annotations

import random
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import EMPTY, IDENTITY, Link, MetaGraph
from diffmg.core.schema import Relation, Schema
from diffmg.core.space import SearchSpace, check_fits
from diffmg.datasets import DATASETS
from worlds import schemas

VP, PV = Relation("venue", "vp", "paper"), Relation("paper", "pv", "venue")
PA, AP = Relation("paper", "pa", "author"), Relation("author", "ap", "paper")
SCHEMA = Schema(("author", "paper", "venue"), (VP, PV, PA, AP))
SMALL = SearchSpace.dag(SCHEMA, "author", 2)


@st.composite
def spaces(draw: st.DrawFn, max_depth: int = 3) -> SearchSpace:
    schema = draw(schemas())
    target = draw(st.sampled_from([r.target for r in schema.relations]))
    return SearchSpace.dag(schema, target, draw(st.integers(1, max_depth)), draw(st.booleans()))


def everyone(space: SearchSpace) -> list[MetaGraph]:
    return [space.metagraph(picks) for picks in product(*(range(len(c)) for c in space.candidates))]


def douban_schema() -> Schema:
    card = DATASETS.get("douban")("douban").card()
    return Schema(tuple(card.nodes), tuple(card.edges))


def test_size_of_the_paper_for_douban():
    schema = douban_schema()
    assert len(schema.relations) == 11
    assert SearchSpace.dag(schema, "user", 4).size == 1_423_656_000


def test_four_cases_of_candidates():
    """A_{k,i} of the paper: before the last state any relation, in the last only those that lead to the target."""
    everything, into = (VP, PV, PA, AP), (PA,)
    assert dict(SearchSpace.dag(SCHEMA, "author", 3).items()) == {
        Link(1, 0): (*everything, IDENTITY),
        Link(2, 0): (*everything, IDENTITY, EMPTY),
        Link(2, 1): (*everything, IDENTITY),
        Link(3, 0): (*into, IDENTITY, EMPTY),
        Link(3, 1): (*into, IDENTITY, EMPTY),
        Link(3, 2): into,
    }


def test_one_state_leaves_only_relations_to_the_target():
    assert SearchSpace.dag(SCHEMA, "paper", 1).candidates == ((VP, AP),)


def test_identity_last_adds_identity_to_the_last_link_only():
    plain, wider = (dict(SearchSpace.dag(SCHEMA, "author", 3, identity_last=x).items()) for x in (False, True))
    assert {link for link in plain if plain[link] != wider[link]} == {Link(3, 2)}
    assert wider[Link(3, 2)] == (PA, IDENTITY)


def test_size_counts_all_meta_graphs():
    assert SMALL.size == len(set(everyone(SMALL))) == 5 * 3 * 1


@given(spaces(max_depth=2))
def test_size_equals_brute_force(space):
    assert space.size == len(set(everyone(space)))


@given(spaces())
def test_depth_is_that_of_its_meta_graphs(space):
    assert space.everything().depth == space.depth


@given(spaces(), st.integers(0, 99))
def test_sample_is_in_the_space_with_one_operation_a_link(space, seed):
    metagraph = space.sample(random.Random(seed))
    assert space.contains(metagraph)
    assert all(len(operations) == 1 for operations in metagraph.operations)


def test_sample_is_uniform():
    rng = random.Random(0)
    drawn = Counter(SMALL.sample(rng) for _ in range(3000))
    assert set(drawn) == set(everyone(SMALL))
    assert all(140 <= count <= 260 for count in drawn.values())


def test_sample_depends_on_the_generator_alone():
    assert SMALL.sample(random.Random(3)) == SMALL.sample(random.Random(3))


@given(spaces(), st.integers(0, 99))
def test_neighbours_are_all_meta_graphs_one_link_away(space, seed):
    metagraph = space.sample(random.Random(seed))
    neighbours = list(space.neighbours(metagraph))
    assert len(set(neighbours)) == len(neighbours) == sum(len(c) - 1 for c in space.candidates)
    assert all(space.contains(n) and _differences(n, metagraph) == 1 for n in neighbours)


def _differences(a: MetaGraph, b: MetaGraph) -> int:
    return sum(x != y for x, y in zip(a.operations, b.operations, strict=True))


def test_neighbours_of_a_stranger():
    with pytest.raises(DiffmgError, match="the meta graph must have 2 states, but got 1"):
        list(SMALL.neighbours(MetaGraph("author", ((PA,),))))


def test_everything_is_in_the_space():
    assert SMALL.contains(SMALL.everything())


@pytest.mark.parametrize(
    ("metagraph", "message"),
    [
        (MetaGraph("paper", ((VP,), (VP,), (VP,))), "must be for target type 'author', but got 'paper'"),
        (MetaGraph("author", ((PA,),)), "must have 2 states, but got 1"),
        (MetaGraph("author", ((EMPTY,), (EMPTY,), (PA,))), "link 1<-0 may use one of: .*identity; but got empty"),
        (MetaGraph("author", ((VP,), (EMPTY,), (VP,))), "link 2<-1 may use one of: paper -pa-> author; but got venue"),
        (MetaGraph("author", ((VP,), (PA, VP), (PA,))), "link 2<-0 may use one of: .*; but got venue -vp-> paper"),
    ],
)
def test_check_says_where_a_meta_graph_does_not_fit(metagraph, message):
    assert not SMALL.contains(metagraph)
    with pytest.raises(DiffmgError, match=message):
        SMALL.check(metagraph)


def test_check_returns_what_fits():
    metagraph = MetaGraph("author", ((VP,), (EMPTY,), (PA,)))
    assert SMALL.check(metagraph) is metagraph


def test_no_states():
    with pytest.raises(DiffmgError, match=r"but got depth=0"):
        SearchSpace.dag(SCHEMA, "author", 0)


def test_target_that_no_relation_leads_to():
    schema = Schema(("author", "paper", "venue"), (VP, PA))
    with pytest.raises(DiffmgError, match=r"but got 'venue' with none; types that have"):
        SearchSpace.dag(schema, "venue", 2)


def test_unknown_target_names_the_nearest():
    with pytest.raises(DiffmgError, match="did you mean 'author'"):
        SearchSpace.dag(SCHEMA, "auther", 2)


def test_check_fits_needs_no_search_space():
    outside = MetaGraph("author", ((EMPTY,),))
    assert check_fits(outside, SCHEMA) is outside


def test_check_fits_refuses_what_the_network_does_not_have():
    with pytest.raises(DiffmgError, match="unknown node type 'term'"):
        check_fits(MetaGraph("term", ((IDENTITY,),)), SCHEMA)
    with pytest.raises(DiffmgError, match="did you mean 'venue -vp-> paper'"):
        check_fits(MetaGraph("author", ((Relation("venue", "xx", "paper"),),)), SCHEMA)
