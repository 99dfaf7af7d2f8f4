"""Boxes, arrows and paths, against all meta paths written out."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.importance import PathImportance
from diffmg.core.metagraph import EMPTY, IDENTITY, MetaGraph, links_of
from diffmg.core.schema import Relation, Schema
from diffmg.core.space import SearchSpace
from diffmg.viz.meaning import MOST_ARROWS, MOST_PATHS, Box, meaning_of
from pictures import DEAD, PLANTED, published
from worlds import metagraphs, schemas

SELF, OTHER = Relation("a", "knows", "a"), Relation("b", "likes", "a")


@given(st.data(), schemas())
def test_arrows_are_the_relations_of_all_paths_by_hop(data: st.DataObject, schema: Schema) -> None:
    metagraph = data.draw(metagraphs(schema, max_operations=2))
    (tower,) = meaning_of([metagraph]).towers
    paths = metagraph.paths()
    wanted = {(len(path) - n, relation) for path in paths for n, relation in enumerate(path)}
    drawn = {(arrow.hop, arrow.relation) for arrow in tower.arrows}
    assert drawn <= wanted
    assert len(wanted) == len(drawn) + tower.more_arrows
    assert set(tower.boxes) == {Box(0, metagraph.target) for _ in paths} | {Box(h, r.source) for h, r in drawn}
    assert len(tower.paths) + (tower.more_paths or 0) == len(paths)
    assert {p.path for p in tower.paths} <= paths


@given(st.data(), schemas())
def test_shares_are_sums_over_paths_and_every_arrow_leads_on(data: st.DataObject, schema: Schema) -> None:
    metagraph = data.draw(metagraphs(schema, max_operations=2))
    paths = sorted(metagraph.paths())
    drops = data.draw(st.lists(st.floats(-0.2, 0.5), min_size=len(paths), max_size=len(paths)))
    known = [PathImportance(metagraph.target, p, d, 0.01) for p, d in zip(paths, drops, strict=True)]
    (tower,) = meaning_of([metagraph], known).towers
    total = sum(max(d, 0) for d in drops)
    for arrow in tower.arrows:
        if total == 0:
            assert arrow.share is None
            continue
        through = [max(i.drop, 0) for i in known if len(i.path) >= arrow.hop and i.path[-arrow.hop] == arrow.relation]
        assert math.isclose(arrow.share or 0.0, sum(through) / total, abs_tol=1e-9)
        assert arrow.target in tower.boxes
    for heard in tower.paths:
        assert all(heard.path[n:] in {p.path for p in tower.paths} for n in range(len(heard.path)))


def test_what_only_passes_or_leads_nowhere_is_left_out_and_listed() -> None:
    (tower,) = meaning_of([DEAD]).towers
    assert [a.relation.name for a in tower.arrows] == ["written_by"]
    assert [m.name for m in tower.unused] == ["writes"]
    (tower,) = meaning_of([PLANTED]).towers
    assert [m.name for m in tower.unused] == ["identity"]


def test_published_meta_graphs_are_drawn_exactly_and_whole() -> None:
    for name in ("dblp", "douban", "yelp", "amazon", "acm", "imdb"):
        for tower in meaning_of(published(name)).towers:
            assert tower.exact
            assert (tower.more_arrows, tower.more_paths) == (0, 0)


def test_a_picture_that_shows_more_than_there_is_says_so() -> None:
    """Two paths share the type in the middle: the picture also shows a third, which is none."""
    one = Relation("b", "r", "a"), Relation("b", "s", "a")
    two = Relation("c", "u", "b"), Relation("d", "v", "b")
    links = dict.fromkeys(links_of(3), EMPTY)
    links = {link: {(1, 0): two[0], (2, 0): two[1], (3, 1): one[0], (3, 2): one[1]}.get(link, EMPTY) for link in links}
    (tower,) = meaning_of([MetaGraph.of("a", links)]).towers
    assert not tower.exact
    assert len(MetaGraph.of("a", links).paths()) == 5


def test_a_deep_meta_graph_and_a_wide_one_are_capped_and_counted() -> None:
    deep = MetaGraph("a", tuple((SELF, OTHER, IDENTITY) for _ in links_of(18)))
    (tower,) = meaning_of([deep]).towers
    assert len(tower.arrows) <= MOST_ARROWS
    assert len(tower.arrows) + tower.more_arrows == 2 * 18
    assert len(tower.paths) == MOST_PATHS
    types = tuple("abcdefgh")
    wide = Schema(types, tuple(Relation(types[n % 8], f"r{n}", types[0]) for n in range(40)))
    (tower,) = meaning_of([SearchSpace.dag(wide, "a", 2).everything()]).towers
    assert len(tower.arrows) == MOST_ARROWS
    assert all(arrow.hop == 1 for arrow in tower.arrows)


def test_with_importances_the_important_arrows_are_drawn() -> None:
    wide = tuple(Relation("b", f"r{n}", "a") for n in range(40))
    known = [PathImportance("a", (wide[n],), 0.1 * n, 0.0) for n in (31, 39)]
    (tower,) = meaning_of([MetaGraph("a", (wide,))], known).towers
    assert [a.relation.name for a in tower.arrows[:2]] == ["r39", "r31"]
    assert tower.own_share == pytest.approx(0.0)


def test_numbers_of_neighbours_are_told_of_though_they_are_not_drawn() -> None:
    """Importances of paths that are not the meta graph's are those of counts."""
    drawn, counted = Relation("b", "r", "a"), Relation("b", "owns", "a")
    metagraph = MetaGraph("a", ((drawn,),))
    known = [PathImportance("a", (drawn,), 0.1, 0.0), PathImportance("a", (counted,), 0.3, 0.0)]
    (tower,) = meaning_of([metagraph], known).towers
    assert " Not drawn: how many nodes, and with what weight, each relation links" in tower.sentence
    assert tower.sentence.endswith(" (75%), first of all owns.")
    (plain,) = meaning_of([metagraph], known[:1]).towers
    assert "Not drawn" not in plain.sentence


def test_importances_of_another_target_or_of_no_use_change_nothing() -> None:
    plain = meaning_of([PLANTED])
    for other in (PathImportance("venue", (), 1.0, 0.0), PathImportance("author", (), -0.1, 0.0)):
        assert meaning_of([PLANTED], [other]) == plain
    assert not plain.measured
