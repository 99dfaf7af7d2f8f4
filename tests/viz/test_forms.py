"""What a person must find in a drawing of any form."""

from __future__ import annotations

import html
from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import EMPTY, MetaGraph
from diffmg.core.schema import Relation
from diffmg.core.space import SearchSpace
from diffmg.viz import DRAWINGS, draw, draw_all
from diffmg.viz.marks import PALETTE, Use, marks_of, path_lines
from pictures import FORMS, ODD, ODD_GRAPH, PLANTED, SCHEMA, labels, published


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["douban", "yelp", "dblp"])
def test_every_live_relation_and_every_meta_path_is_named(form: str, name: str) -> None:
    for metagraph in published(name):
        drawing = html.unescape(draw(metagraph, form)).replace("#62;", ">")
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
    assert sorted(labels(draw(metagraph, form), form)) == sorted(wanted)
    assert len(wanted) == sum(operation is not EMPTY for _, operation in metagraph.choices)


@pytest.mark.parametrize("form", FORMS)
def test_one_state(form: str) -> None:
    assert "author (own features)" in draw(MetaGraph.features_only("author"), form)
    assert "nothing reaches the target" in draw(MetaGraph("author", ((EMPTY,),)), form)


@pytest.mark.parametrize("form", ["dot", "mermaid", "svg"])
def test_odd_names_come_back_unharmed(form: str) -> None:
    assert labels(draw(ODD_GRAPH, form), form) == [f"{ODD} (c{{ → {ODD})"]


@pytest.mark.parametrize("form", FORMS)
def test_names_cannot_break_lines_or_command_the_terminal(form: str) -> None:
    nasty = MetaGraph("b", ((Relation("a\n", "r\x1b[31m\x00", "b"),),))
    plain = MetaGraph("b", ((Relation("a ", "r [31m ", "b"),),))
    assert draw(nasty, form) == draw(plain, form)


@pytest.mark.parametrize("form", ["dot", "mermaid", "svg"])
def test_two_towers_share_one_picture_and_one_palette(form: str) -> None:
    towers = published("douban")
    drawing = draw_all(towers, form)
    assert labels(drawing, form).count("UU (user → user)") == 3
    head = {"dot": "digraph", "mermaid": "flowchart", "svg": "<svg"}[form]
    assert drawing.startswith(head)
    assert drawing.count(head) == 1
    colours = {m.operation for tower in towers for m in marks_of(tower) if m.use is Use.SENDS}
    assert sum(colour in drawing for colour in PALETTE) == min(len(colours), len(PALETTE))


def test_every_form_is_tested_and_has_a_test_file_of_its_name() -> None:
    assert sorted(FORMS) == [name for name, _ in DRAWINGS.items()]
    assert all((Path(__file__).parent / f"test_{form}.py").is_file() for form in FORMS)


def test_unknown_form_names_the_nearest() -> None:
    with pytest.raises(DiffmgError, match=r"did you mean 'mermaid'\?.*dot, mermaid, svg,"):
        draw(PLANTED, "mermaids")
    with pytest.raises(DiffmgError, match="but got none"):
        draw_all([], "text")
