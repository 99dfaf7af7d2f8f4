"""Meta paths counted and listed without writing all of them out."""

from __future__ import annotations

import random
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.core.limits import MOST_STATES
from diffmg.core.metagraph import EMPTY, IDENTITY, Link, MetaGraph, links_of
from diffmg.core.schema import Relation, Schema
from diffmg.core.space import SearchSpace
from worlds import metagraphs, schemas

SELF, OTHER = Relation("a", "knows", "a"), Relation("a", "likes", "a")


def ends_another(path: tuple[Relation, ...], paths: frozenset[tuple[Relation, ...]]) -> bool:
    return any(len(other) > len(path) and other[len(other) - len(path) :] == path for other in paths)


@given(st.data(), schemas())
def test_counts_lists_and_membership_agree_with_all_paths_written_out(data: st.DataObject, schema: Schema) -> None:
    metagraph = data.draw(metagraphs(schema, max_operations=3))
    paths, found = metagraph.paths(), metagraph.meta_paths
    longest = [path for path in paths if not ends_another(path, paths)]
    assert found.count() == len(paths) == len(list(found))
    assert found.count_longest() == len(longest)
    assert sorted(found.longest(10_000)) == sorted(longest)
    assert [len(p) for p in found.longest(3)] == sorted(map(len, longest), reverse=True)[:3]
    assert [len(p) for p in found] == sorted(map(len, paths))
    words = [(r, *path) for path in paths for r in schema.relations] + [()]
    assert {w for w in words if w in found} == {w for w in words if w in paths}


def test_a_deep_meta_graph_with_relations_within_a_type_is_counted_at_once() -> None:
    deep = MetaGraph("a", tuple((SELF, OTHER) for _ in links_of(30)))
    assert deep.meta_paths.count() == 2**31 - 1
    assert deep.meta_paths.count_longest() == 2**30
    assert [len(path) for path in deep.longest_paths(5)] == [30] * 5
    assert [len(path) for path in islice(deep.meta_paths, 4)] == [0, 1, 1, 2]
    with pytest.raises(DiffmgError, match="at most 200000 meta paths are listed at once, but got 2147483647"):
        deep.paths()


@pytest.mark.parametrize("seed", range(5))
def test_many_empty_links_do_not_make_counting_hang(seed: int) -> None:
    rng = random.Random(seed)
    some = (EMPTY, IDENTITY, SELF, OTHER)
    deep = MetaGraph("a", tuple((rng.choice(some),) for _ in links_of(40)))
    count = deep.meta_paths.count()
    assert count is None or count > 0
    assert len(deep.longest_paths(3)) <= 3


def test_as_deep_as_a_file_may_be() -> None:
    line = MetaGraph.of("a", {link: SELF if link.k == link.i + 1 else EMPTY for link in links_of(MOST_STATES)})
    assert line.meta_paths.count() == MOST_STATES + 1
    assert line.longest_paths() == ((SELF,) * MOST_STATES,)


def test_the_whole_space_of_many_relations() -> None:
    types = tuple(f"t{n}" for n in range(8))
    schema = Schema(types, tuple(Relation(types[n % 8], f"r{n}", types[(3 * n + 1) % 8]) for n in range(40)))
    everything = SearchSpace.dag(schema, "t1", 6).everything()
    assert (everything.meta_paths.count() or 0) > 1000
    assert len(everything.longest_paths(12)) == 12


def test_nothing_reaches_a_target_behind_empty_links() -> None:
    nothing = MetaGraph.of("a", {Link(1, 0): EMPTY, Link(2, 0): EMPTY, Link(2, 1): SELF})
    assert nothing.meta_paths.root is None
    assert nothing.meta_paths.count() == 0
    assert nothing.longest_paths() == ()
    assert () not in nothing.meta_paths
    with pytest.raises(DiffmgError, match="`most >= 1` must hold, but got most=0"):
        nothing.longest_paths(0)
