"""SVG for reports."""

from __future__ import annotations

import random
from xml.etree import ElementTree

import pytest

from diffmg.core.space import SearchSpace
from diffmg.viz import draw
from diffmg.viz.marks import marks_of
from pictures import DEAD, PLANTED, SCHEMA, texts


def test_dead_links_are_set_apart() -> None:
    assert texts(draw(DEAD, "svg", "states"), "dead") == ["writes (author → paper)"]
    assert texts(draw(DEAD, "svg", "states"), "sends") == ["written_by (paper → author)"]


def test_a_legend_says_what_lines_and_states_are() -> None:
    words = " ".join(texts(draw(PLANTED, "svg", "states")))
    assert all(sign in words for sign in ("solid", "dashed", "dotted", "H0 is the input"))


@pytest.mark.parametrize("depth", range(1, 7))
@pytest.mark.parametrize("multi", [False, True])
def test_svg_labels_keep_clear_of_each_other(depth: int, multi: bool) -> None:
    space = SearchSpace.dag(SCHEMA, "author", depth)
    metagraph = space.everything() if multi else space.sample(random.Random(depth))
    svg = ElementTree.fromstring(draw(metagraph, "svg", "states"))
    places = [
        (float(t[0].get("x", "")), float(t[0].get("y", "")))
        for t in svg.iter("{http://www.w3.org/2000/svg}text")
        if "operation" in t.get("class", "")
    ]
    assert len(places) == len(marks_of(metagraph))
    for n, (x, y) in enumerate(places):
        assert all(abs(x - a) >= 150 or abs(y - b) >= 40 for a, b in places[:n])
