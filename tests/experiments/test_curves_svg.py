from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import pytest

from experiments.curves_svg import HEIGHT, WIDTH, curves_svg

SVG = "{http://www.w3.org/2000/svg}"


def points(svg: str) -> list[list[tuple[float, float]]]:
    """The points of each line."""
    lines = (line.get("points", "") for line in ET.fromstring(svg).iter(f"{SVG}polyline"))
    return [[(float(x), float(y)) for x, y in (p.split(",") for p in line.split())] for line in lines]


def texts(svg: str) -> list[str]:
    return [t.text or "" for t in ET.fromstring(svg).iter(f"{SVG}text")]


def test_no_points_give_no_picture() -> None:
    assert curves_svg({}, "epoch", "score") == ""
    assert curves_svg({"train": []}, "epoch", "score") == ""


def test_a_line_a_name_within_the_picture() -> None:
    lines = points(curves_svg({"a": [(1, 0.1), (2, 0.9), (3, 0.4)], "b": [(1, 0.2)]}, "epoch", "score"))
    assert [len(line) for line in lines] == [3, 1]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for line in lines for x, y in line)


def test_later_is_further_right_and_higher_is_further_up() -> None:
    (line,) = points(curves_svg({"a": [(1, 0.1), (2, 0.9), (3, 0.4)]}, "epoch", "score"))
    assert line[0][0] < line[1][0] < line[2][0]
    assert line[1][1] < line[2][1] < line[0][1]


def test_places_are_in_proportion_to_values() -> None:
    (line,) = points(curves_svg({"a": [(0, 0), (5, 5), (10, 10)]}, "x", "y"))
    assert line[1] == pytest.approx([(line[0][i] + line[2][i]) / 2 for i in (0, 1)], abs=0.11)


def test_a_constant_curve_has_a_place() -> None:
    (line,) = points(curves_svg({"a": [(3, 0.5)]}, "epoch", "score"))
    assert all(map(math.isfinite, line[0]))


def test_axes_and_names_are_written() -> None:
    found = texts(curves_svg({"search-0": [(1, 0.25), (9, 0.75)]}, "epoch", "validation auc"))
    assert {"search-0", "epoch", "validation auc", "0.3", "0.7", "2", "8"} <= set(found)


def test_names_are_escaped() -> None:
    assert '<b>&"' in texts(curves_svg({'<b>&"': [(1, 1)]}, "<x>", "<y>"))


def test_more_curves_than_colours_are_all_drawn() -> None:
    svg = curves_svg({str(i): [(0, i), (1, i)] for i in range(9)}, "epoch", "score")
    assert len(points(svg)) == 9
    assert len(set(re.findall(r'stroke="(#\w{6})"', svg))) == 7


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_no_number_does_not_hide_the_others(odd: float) -> None:
    svg = curves_svg({"a": [(1, 0.1), (2, odd), (3, 0.9)]}, "epoch", "score")
    assert not re.search(r"\b(nan|inf)\b", svg)
    assert len({y for _, y in points(svg)[0]}) == 2
