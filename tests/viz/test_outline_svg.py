"""The tree for phones."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

import pytest

from diffmg.viz.meaning import meaning_of
from diffmg.viz.outline_svg import WIDTH, outline_svg, place_rows
from hard_pictures import CASES, importances
from pictures import published, texts


@pytest.mark.parametrize("name", CASES)
def test_rows_fit_a_phone_and_do_not_overlap(name: str) -> None:
    meaning = meaning_of([CASES[name]], importances(CASES[name]))
    rows = place_rows(meaning.towers[0])
    rects = [rect for row in rows for rect in (row.chip, row.label)]
    assert rects
    assert not any(one.overlaps(other) for one, other in combinations(rects, 2))
    assert all(rect.x + rect.width <= WIDTH for rect in rects)
    root = ElementTree.fromstring(outline_svg(meaning))
    assert float(root.get("width", "0")) == WIDTH <= 400
    assert all(float(t.get("font-size", "0")) >= 11 for t in root.iter("{http://www.w3.org/2000/svg}text"))


def test_both_towers_stand_below_each_other() -> None:
    words = texts(outline_svg(meaning_of(published("douban"))))
    assert words.count("own features") == 2
    assert words.index("group") < words.index("type")
