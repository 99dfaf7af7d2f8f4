from __future__ import annotations

import json
from itertools import combinations, pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import EMPTY, IDENTITY, Choice, Link, MetaGraph, MetaPath, links_of
from diffmg.core.schema import Relation
from worlds import metagraphs, schemas

VP, PA, PP = Relation("venue", "vp", "paper"), Relation("paper", "pa", "author"), Relation("paper", "pp", "paper")
PATH = MetaGraph.of("author", {Link(1, 0): VP, Link(2, 0): EMPTY, Link(2, 1): PA})


def brute_force_paths(metagraph: MetaGraph) -> set[MetaPath]:
    """Every route from state K to state 0, every operation on it, every relation that fits taken and skipped."""
    between = range(1, metagraph.depth)
    routes = [
        (metagraph.depth, *sorted(stops, reverse=True), 0)
        for n in range(metagraph.depth)
        for stops in combinations(between, n)
    ]
    found = set()
    for route in routes:
        for operations in product(*(metagraph[k, i] for k, i in pairwise(route))):
            if EMPTY not in operations:
                found |= {
                    walk(metagraph.target, operations, takes) for takes in product([0, 1], repeat=len(operations))
                }
    return found


def walk(node_type: str, operations: tuple, takes: tuple[int, ...]) -> MetaPath:
    path: MetaPath = ()
    for operation, take in zip(operations, takes, strict=True):
        if take and isinstance(operation, Relation) and operation.target == node_type:
            path, node_type = (operation, *path), operation.source
    return path


@given(st.data(), schemas())
def test_paths_equal_brute_force(data, schema):
    metagraph = data.draw(metagraphs(schema, max_operations=2))
    assert metagraph.paths() == brute_force_paths(metagraph)


@given(st.data(), schemas())
def test_longest_paths_are_those_that_end_no_other(data, schema):
    metagraph = data.draw(metagraphs(schema, max_operations=2))
    paths = metagraph.paths()
    wanted = {p for p in paths if not any(len(q) > len(p) and q[len(q) - len(p) :] == p for q in paths)}
    longest = metagraph.longest_paths()
    assert set(longest) == wanted
    assert [len(p) for p in longest] == sorted((len(p) for p in longest), reverse=True)


def test_paths_of_a_path():
    """The relation into papers does not lead to authors, so an author that skips the last step passes it by."""
    assert PATH.paths() == {(VP, PA), (PA,), ()}
    assert PATH.longest_paths() == ((VP, PA),)


def test_no_message_no_path():
    assert MetaGraph("author", ((EMPTY,),)).paths() == frozenset()


def test_features_only_has_the_empty_path():
    metagraph = MetaGraph.features_only("author")
    assert metagraph.paths() == {()}
    assert metagraph.depth == 1


@given(st.data(), schemas())
def test_json_round_trip(data, schema):
    metagraph = data.draw(metagraphs(schema))
    again = MetaGraph.from_dict(json.loads(json.dumps(metagraph.to_dict())))
    assert again == metagraph
    assert hash(again) == hash(metagraph)


def test_json_is_readable():
    assert PATH.to_dict() == {
        "target": "author",
        "links": {"1<-0": [["venue", "vp", "paper"]], "2<-0": ["empty"], "2<-1": [["paper", "pa", "author"]]},
    }


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "an object with 'target' and 'links', but got 'None'"),
        ([], "an object with 'target' and 'links'"),
        ({"links": {}}, "an object with 'target' and 'links'"),
        ({"target": "a"}, "an object with 'target' and 'links'"),
        ({"target": 1, "links": {}}, "an object with 'target' and 'links'"),
        ({"target": "a", "links": []}, "an object with 'target' and 'links'"),
        ({"target": "a", "links": {}}, "`depth >= 1` must hold"),
        (
            {"target": "a", "links": {"1<-0": "identity"}},
            "link 1<-0 must hold a list of operations, but got 'identity'",
        ),
        ({"target": "a", "links": {"1<-0": []}}, "link 1<-0 needs one or more different operations"),
        ({"target": "a", "links": {"1<-0": ["empty", "empty"]}}, "link 1<-0 needs one or more different operations"),
        (
            {"target": "a", "links": {"1<-0": ["nothing"]}},
            "an operation is 'identity', 'empty' or .* but got 'nothing'",
        ),
        ({"target": "a", "links": {"1<-0": [["a", "b"]]}}, r"an operation is .* but got \['a', 'b'\]"),
        ({"target": "a", "links": {"1<-0": [["a", 2, "b"]]}}, r"a relation is .* but got \('a', 2, 'b'\)"),
        ({"target": "a", "links": {"1->0": ["empty"]}}, "a link is written 'k<-i' .* but got '1->0'"),
        ({"target": "a", "links": {"1<-": ["empty"]}}, "a link is written 'k<-i' .* but got '1<-'"),
        ({"target": "a", "links": {"x<-0": ["empty"]}}, "a link is written 'k<-i' .* but got 'x<-0'"),
        ({"target": "a", "links": {"²<-0": ["empty"]}}, "a link is written 'k<-i' .* but got '²<-0'"),
        ({"target": "a", "links": {"9" * 5000 + "<-0": ["empty"]}}, "a link is written 'k<-i' .* but got '9{80}'"),
        ({"target": "a", "links": {"1<--1": ["empty"]}}, "a link is written 'k<-i' .* but got '1<--1'"),
        ({"target": "a", "links": {"2<-1": ["empty"]}}, r"every link of 2 states .* at \['1<-0', '2<-0'\]"),
        ({"target": "a", "links": {"1<-0": ["empty"], "1<-1": ["empty"]}}, r"every link of 1 states .* at \['1<-1'\]"),
    ],
)
def test_malformed_json_says_where(data, message):
    with pytest.raises(DiffmgError, match=message):
        MetaGraph.from_dict(data)


def test_links_are_ordered_by_state():
    assert [str(link) for link in links_of(3)] == ["1<-0", "2<-0", "2<-1", "3<-0", "3<-1", "3<-2"]


@pytest.mark.parametrize("depth", [0, -1, 1.5, "2", True, None])
def test_depth_is_a_whole_number_from_one(depth):
    with pytest.raises(DiffmgError, match=r"`depth >= 1` must hold .*but got depth="):
        links_of(depth)


def test_link_is_parsed_as_it_is_written():
    assert Link.parse(str(Link(12, 3))) == Link(12, 3)


@pytest.mark.parametrize("count", [0, 2, 4, 5])
def test_number_of_links_is_triangular(count):
    with pytest.raises(DiffmgError, match=rf"K\(K\+1\)/2 links, K >= 1, but got {count} lists"):
        MetaGraph("a", ((IDENTITY,),) * count)


def test_choices_list_every_operation_of_every_link():
    metagraph = MetaGraph.of("author", {Link(1, 0): (VP, IDENTITY), Link(2, 0): EMPTY, Link(2, 1): [PA]})
    assert metagraph.choices == (
        Choice(Link(1, 0), VP),
        Choice(Link(1, 0), IDENTITY),
        Choice(Link(2, 0), EMPTY),
        Choice(Link(2, 1), PA),
    )


def test_item_is_by_link():
    assert {link: PATH[link] for link in links_of(2)} == {(1, 0): (VP,), (2, 0): (EMPTY,), (2, 1): (PA,)}


@pytest.mark.parametrize("link", [(0, 0), (1, 1), (3, 0), (2, -1), (0, 1)])
def test_item_outside_the_states(link):
    with pytest.raises(DiffmgError, match=f"`0 <= i < k <= 2` must hold for a link, but got {link[0]}<-{link[1]}"):
        PATH[link]


def test_replace_changes_one_link_of_a_copy():
    changed = PATH.replace(Link(2, 0), PA, IDENTITY)
    assert changed[2, 0] == (PA, IDENTITY)
    assert (changed[1, 0], changed[2, 1]) == (PATH[1, 0], PATH[2, 1])
    assert PATH[2, 0] == (EMPTY,)


def test_missing_link_is_an_error():
    with pytest.raises(DiffmgError, match=r"every link of 2 states must be given"):
        MetaGraph.of("author", {Link(1, 0): VP, Link(2, 1): PA})
