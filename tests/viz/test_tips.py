"""What parts of a picture say to those without a mouse."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.viz.meaning import meaning_of
from diffmg.viz.meaning_svg import meaning_svg
from diffmg.viz.outline_svg import outline_svg
from diffmg.viz.placed import Rect
from diffmg.viz.schema_svg import schema_svg
from diffmg.viz.tips import tip_rect
from hard_pictures import CASES, FORTY, importances
from pictures import SCHEMA, published

SVG = "{http://www.w3.org/2000/svg}"
DOUBAN = meaning_of(published("douban"))
PICTURES = {"douban": meaning_svg(DOUBAN), "douban, tree": outline_svg(DOUBAN)}
PICTURES |= {name: meaning_svg(meaning_of([m], importances(m))) for name, m in CASES.items()}
PICTURES |= {f"{name}, tree": outline_svg(meaning_of([CASES[name]])) for name in ("long", "deep 1")}
PICTURES |= {"schema": schema_svg(SCHEMA), "forty": schema_svg(FORTY)}


def said(part: ElementTree.Element) -> str:
    """Words without the places where lines are broken."""
    return "".join("".join(part.itertext()).split())


@pytest.mark.parametrize("name", PICTURES)
def test_each_part_that_can_be_focused_has_its_title_as_a_tip(name: str) -> None:
    root = ElementTree.fromstring(PICTURES[name])
    towers = root.findall(f"{SVG}g[@class='tower']")
    assert sum(part.get("tabindex") == "0" for part in root.iter()) == sum(map(len, towers)) > 0
    assert root.findall(f"{SVG}g")[: len(towers)] == towers
    above = root.findall(f"{SVG}g")[-1]
    assert (above.get("class"), len(above)) == ("tips", len(towers))
    for number, (tower, tips) in enumerate(zip(towers, above, strict=True), 1):
        for nth, (part, tip) in enumerate(zip(tower, tips, strict=True), 1):
            title, shown = said(part.find(f"{SVG}title")), said(tip)
            assert title == shown or (shown.endswith("…") and title.startswith(shown[:-1]))
            wanted = f"svg:has(>.tower:nth-of-type({number})>:nth-child({nth}):focus)"
            assert f"{wanted}>.tips>:nth-child({number})>:nth-child({nth})" in PICTURES[name]


@pytest.mark.parametrize("name", PICTURES)
def test_tips_lie_inside_the_picture(name: str) -> None:
    root = ElementTree.fromstring(PICTURES[name])
    ends = float(root.get("width", "0")), float(root.get("height", "0"))
    for rect in root.findall(f"{SVG}g[@class='tips']//{SVG}rect"):
        x, y, width, height = (float(rect.get(key, "nan")) for key in ("x", "y", "width", "height"))
        assert min(x, y) >= 0
        assert x + width <= ends[0] + 1
        assert y + height <= ends[1] + 1


@given(st.floats(0, 500), st.floats(0, 300), st.floats(1, 200), st.floats(1, 60), st.integers(1, 6))
def test_a_tip_covers_its_part_only_where_there_is_no_room(
    x: float, y: float, width: float, height: float, lines: int
) -> None:
    part, size = Rect(x, y, width, height), (700.0, 360.0)
    tip = tip_rect(part, ["some words"] * lines, *size)
    room = y - tip.height - 4 >= 0 or y + height + 4 + tip.height <= size[1]
    assert not (room and tip.overlaps(part))


def test_an_empty_picture_has_no_tips() -> None:
    svg = schema_svg(type(SCHEMA)(("alone",), ()))
    assert not re.search(r"<g[^>]*tabindex|tips", svg)
