"""The picture that a person sees first."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest

from diffmg.core.importance import PathImportance
from diffmg.viz import draw, draw_all
from diffmg.viz.meaning import meaning_of
from diffmg.viz.meaning_svg import THIN, WIDEST, layout_of, meaning_svg
from hard_pictures import CASES, LONG, importances
from pictures import PLANTED, PUBLISHES, WRITTEN_BY, published, texts

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", CASES)
def test_hard_cases_are_well_formed_escaped_and_do_not_overlap(name: str) -> None:
    metagraph = CASES[name]
    for known in ((), importances(metagraph)):
        meaning = meaning_of([metagraph], known)
        root = ElementTree.fromstring(meaning_svg(meaning))
        assert not list(root.iter(f"{SVG}script"))
        assert len(root.findall(f".//{SVG}g[@class='link']")) == len(meaning.towers[0].arrows)
        layout = layout_of(meaning.towers[0])
        rects = [*(n.rect for n in layout.nodes), *(e.label for e in layout.edges)]
        assert not any(one.overlaps(other) for one, other in combinations(rects, 2))
        assert all(float(t.get("font-size", "0")) >= 11 for t in root.iter(f"{SVG}text"))


def test_long_names_are_shortened_and_whole_in_the_title() -> None:
    root = ElementTree.fromstring(draw(CASES["long"], "svg"))
    assert any((t.text or "").endswith("…") for t in root.iter(f"{SVG}text"))
    titles = [t.text or "" for t in root.iter(f"{SVG}title")]
    for name in LONG:
        assert any(name in title for title in titles)


def test_elements_say_what_they_are_and_can_be_reached_by_keyboard() -> None:
    known = [PathImportance("author", (PUBLISHES, WRITTEN_BY), 0.3, 0.0), PathImportance("author", (), 0.1, 0.0)]
    svg = meaning_svg(meaning_of([PLANTED], known), edges={str(PUBLISHES): 1234})
    root = ElementTree.fromstring(svg)
    links = root.findall(f".//{SVG}g[@class='link']")
    assert [link.get("data-relation") for link in links] == ["written_by", "publishes"]
    assert [link.get("data-importance") for link in links] == ["0.7500", "0.7500"]
    assert [link.get("data-edges") for link in links] == [None, "1234"]
    assert all(link.get("tabindex") == "0" for link in links)
    assert links[1].find(f"{SVG}title").text == (
        "venue -publishes-> paper: publishes, 1234 edges, 75% of the importance"
    )
    assert root.find(f"{SVG}desc").text == (
        "An author is judged mostly by venues of their papers (75%), and also by their own features (25%)."
    )


def test_line_width_grows_with_the_share() -> None:
    known = [
        PathImportance("author", (WRITTEN_BY,), 0.3, 0.0),
        PathImportance("author", (PUBLISHES, WRITTEN_BY), 0.1, 0),
    ]
    svg = draw_all([PLANTED], "svg", importances=known)
    widths = [float(w) for w in re.findall(r'class="wire"[^>]* stroke-width="([\d.]+)"', svg)]
    assert widths == [pytest.approx(w, abs=0.051) for w in (WIDEST, THIN + (WIDEST - THIN) / 4)]
    assert len(set(re.findall(r'class="wire"[^>]* stroke-width="([\d.]+)"', draw(PLANTED, "svg")))) == 1


def test_both_towers_meet_in_one_figure_and_one_does_not() -> None:
    both = draw_all(published("douban"), "svg")
    assert both.count('class="tower"') == 2
    assert both.count('class="pair"') == 1
    assert 'class="pair"' not in draw(PLANTED, "svg")
    assert "match" in texts(both)


def test_words_below_say_what_the_picture_leaves_out() -> None:
    words = " ".join(texts(draw(CASES["K = 8"], "svg")))
    assert re.search(r"Not drawn: \d+ more arrows on the way to table a\.", words)
    assert "Not drawn" not in " ".join(texts(draw(PLANTED, "svg")))
    assert "make 100%" in " ".join(texts(draw_all([PLANTED], "svg", importances=importances(PLANTED))))
    assert "is judged by" not in " ".join(texts(meaning_svg(meaning_of([PLANTED]), caption=False)))


def test_it_needs_nothing_from_outside() -> None:
    svg = draw_all(published("douban"), "svg")
    assert svg.count("http") == 1
    assert "url(" not in svg
    assert len(svg) < 20_000
