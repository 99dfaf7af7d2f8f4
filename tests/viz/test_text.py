"""The drawing a newcomer sees first."""

from __future__ import annotations

from diffmg.core.metagraph import MetaGraph
from diffmg.core.schema import Relation
from diffmg.viz import draw, draw_all
from pictures import DEAD, PLANTED, published


def test_text_as_a_newcomer_sees_it() -> None:
    assert draw(PLANTED, "text", "states").splitlines() == [
        "meta graph for 'author', 2 states",
        "  H0    the features of every type",
        "  H1 ◀── H0  publishes (venue → paper)",
        "  H2 ◀┬─ H0  identity",
        "      └─ H1  written_by (paper → author)",
        "meta paths:",
        "  venue -publishes-> paper -written_by-> author",
    ]


def test_text_fits_a_terminal() -> None:
    drawing = draw_all(published("douban"), "text", "states")
    assert max(map(len, drawing.splitlines())) <= 80
    long = Relation("author", "has_contributed_to_writing", "author")
    deep = MetaGraph("author", tuple((long,) for _ in range(10)))
    assert max(map(len, draw(deep, "text", "states").splitlines())) <= 80


def test_dead_links_are_set_apart() -> None:
    text = draw(DEAD, "text", "states").splitlines()
    assert "  H1    not used" in text
    assert "  not used: H0 ─▶ H1 writes (author → paper)" in text
    assert "not used" not in draw(PLANTED, "text", "states")


def test_towers_are_parted_by_a_blank_line() -> None:
    towers = published("douban")
    assert draw_all(towers, "text", "states") == "\n\n".join(draw(tower, "text", "states") for tower in towers)
