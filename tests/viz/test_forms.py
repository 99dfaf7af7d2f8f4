"""What a person must find in a drawing of any form: first of states, then of what they mean."""

from __future__ import annotations

import html
from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import EMPTY, MetaGraph
from diffmg.core.schema import Relation
from diffmg.core.space import SearchSpace
from diffmg.viz import DRAWINGS, STATES, draw, draw_all
from diffmg.viz.marks import PALETTE, Use, marks_of, path_lines
from diffmg.viz.meaning import meaning_of
from diffmg.viz.words import name_words, relation_words
from pictures import FORMS, ODD, ODD_GRAPH, PLANTED, SCHEMA, labels, published


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["douban", "yelp", "dblp"])
def test_every_live_relation_and_every_meta_path_is_named(form: str, name: str) -> None:
    for metagraph in published(name):
        drawing = html.unescape(draw(metagraph, form, "states")).replace("#62;", ">")
        for mark in marks_of(metagraph):
            if mark.use is Use.SENDS:
                assert mark.name in drawing
                assert mark.note in drawing
        for line in path_lines(metagraph):
            assert line in drawing


@pytest.mark.parametrize("form", ["dot", "mermaid", "svg"])
def test_each_operation_is_drawn_once_and_empty_is_not(form: str) -> None:
    metagraph = SearchSpace.dag(SCHEMA, "author", 3).everything()
    wanted = [mark.label for mark in marks_of(metagraph)]
    assert sorted(labels(draw(metagraph, form, "states"), form)) == sorted(wanted)
    assert len(wanted) == sum(operation is not EMPTY for _, operation in metagraph.choices)


@pytest.mark.parametrize("form", FORMS)
def test_one_state(form: str) -> None:
    assert "author (own features)" in draw(MetaGraph.features_only("author"), form, "states")
    assert "nothing reaches the target" in draw(MetaGraph("author", ((EMPTY,),)), form, "states")


@pytest.mark.parametrize("form", ["dot", "mermaid", "svg"])
def test_odd_names_come_back_unharmed(form: str) -> None:
    assert labels(draw(ODD_GRAPH, form, "states"), form) == [f"{ODD} (c{{ → {ODD})"]


@pytest.mark.parametrize("form", FORMS)
def test_names_cannot_break_lines_or_command_the_terminal(form: str) -> None:
    nasty = MetaGraph("b", ((Relation("a\n", "r\x1b[31m\x00", "b"),),))
    plain = MetaGraph("b", ((Relation("a\\n", "r\\x1b[31m\\x00", "b"),),))
    assert draw(nasty, form, "states") == draw(plain, form, "states")


@pytest.mark.parametrize("form", ["dot", "mermaid", "svg"])
def test_two_towers_share_one_picture_and_one_palette(form: str) -> None:
    towers = published("douban")
    drawing = draw_all(towers, form, "states")
    assert labels(drawing, form).count("UU (user → user)") == 3
    head = {"dot": "digraph", "mermaid": "flowchart", "svg": "<svg"}[form]
    assert drawing.startswith(head)
    assert drawing.count(head) == 1
    colours = {m.operation for tower in towers for m in marks_of(tower) if m.use is Use.SENDS}
    inks = [f"var(--dm-t{n})" for n in range(len(PALETTE))] if form == "svg" else PALETTE
    body = drawing.partition("</style>")[2] or drawing
    assert sum(ink in body for ink in inks) >= min(len(colours), len(PALETTE))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["douban", "yelp", "dblp", "amazon"])
def test_every_relation_that_carries_messages_is_named_and_no_other(form: str, name: str) -> None:
    towers = published(name)
    drawing = html.unescape(draw_all(towers, form))
    for tower in meaning_of(towers).towers:
        for arrow in tower.arrows:
            assert relation_words(arrow.relation) in drawing
            assert name_words(arrow.relation.source) in drawing
    sends = {m.name for tower in towers for m in marks_of(tower) if m.use is Use.SENDS}
    wanted = sorted(relation_words(a.relation) for t in meaning_of(towers).towers for a in t.arrows)
    assert sends == set(wanted)
    if form in ("dot", "mermaid"):
        assert sorted(labels(drawing, form)) == wanted


@pytest.mark.parametrize("form", FORMS)
def test_the_meaning_of_one_state_and_of_nothing(form: str) -> None:
    assert "An author is judged by their own features." in draw(MetaGraph.features_only("author"), form)
    nothing = draw(MetaGraph("author", ((EMPTY,),)), form)
    assert "judged by nothing" in nothing
    assert "no message reaches it" in " ".join(nothing.replace("</text>", " ").split())


@pytest.mark.parametrize("form", FORMS)
def test_the_meaning_of_nasty_names_is_that_of_plain_ones(form: str) -> None:
    nasty = MetaGraph("b", ((Relation("a\n", "r\x1b[31m\x00", "b"),),))
    plain = MetaGraph("b", ((Relation("a\\n", "r\\x1b[31m\\x00", "b"),),))
    assert draw(nasty, form) == draw(plain, form)


@pytest.mark.parametrize("form", FORMS)
def test_the_same_meta_graph_gives_the_same_drawing(form: str) -> None:
    towers = published("amazon")
    again = tuple(MetaGraph.from_dict(tower.to_dict()) for tower in towers)
    assert draw_all(towers, form) == draw_all(again, form)


def test_every_form_is_tested_and_has_a_test_file_of_its_name() -> None:
    assert sorted(FORMS) == DRAWINGS.names() == STATES.names()
    for prefix in ("test_", "test_meaning_"):
        assert all((Path(__file__).parent / f"{prefix}{form}.py").is_file() for form in FORMS)


def test_unknown_form_names_the_nearest() -> None:
    with pytest.raises(DiffmgError, match=r"did you mean 'mermaid'\?.*dot, mermaid, svg,"):
        draw(PLANTED, "mermaids")
    with pytest.raises(DiffmgError, match=r"unknown view 'state'; did you mean 'states'\?"):
        draw(PLANTED, "text", "state")
    with pytest.raises(DiffmgError, match="but got none"):
        draw_all([], "text")
