from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.viz.report.plot import COLOURS, Line, plot, share, ticks


def points(chart: str) -> list[list[tuple[float, float]]]:
    """The points of each line, in percent of the area."""
    lines = re.findall(r'<polyline points="([^"]*)"', chart)
    return [[(float(x), float(y)) for x, y in (p.split(",") for p in line.split())] for line in lines]


def test_no_points_give_no_chart() -> None:
    assert plot([], "epoch", "score") == ""
    assert plot([Line("a", [])], "epoch", "score") == ""


def test_later_is_further_right_and_higher_is_further_up() -> None:
    (line,) = points(plot([Line("a", [(1, 0.1), (2, 0.9), (3, 0.4)])], "epoch", "score"))
    assert line[0][0] < line[1][0] < line[2][0]
    assert line[1][1] < line[2][1] < line[0][1]
    assert all(0 <= v <= 100 for point in line for v in point)


def test_places_are_in_proportion_to_values() -> None:
    (line,) = points(plot([Line("", [(0, 0), (5, 5), (10, 10)])], "x", "y"))
    assert line == [(0, 100), (50, 50), (100, 0)]


def test_axes_and_names_are_written_and_escaped() -> None:
    chart = plot([Line("<b>", [(1, 0.25), (9, 0.75)]), Line("b", [(1, 0.5)])], "<x>", "<y>")
    assert all(f">{name}<" in chart for name in ("0.3", "0.7", "2", "8", "&lt;x&gt;", "&lt;y&gt;"))
    assert "&lt;b&gt;" in chart
    assert "<b>" not in chart.replace("<b style", "")


def test_more_lines_than_colours_are_told_apart_by_dashes() -> None:
    chart = plot([Line(str(i), [(0, i), (1, i)]) for i in range(COLOURS + 2)], "epoch", "score")
    assert len(points(chart)) == COLOURS + 2
    looks = re.findall(r'<polyline points="[^"]*" class="([^"]*)"', chart)
    assert len(set(looks)) == COLOURS + 2


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_no_number_does_not_hide_the_others(odd: float) -> None:
    chart = plot([Line("", [(1, 0.1), (2, odd), (3, 0.9)])], "epoch", "score")
    assert len(points(chart)[0]) == 2
    assert not re.search(r"\b(nan|inf)\b", chart)


@given(low=st.floats(-1e6, 1e6), width=st.floats(1e-3, 1e6))
def test_ticks_are_few_and_round_and_hold_the_values(low: float, width: float) -> None:
    found = ticks([low, low + width])
    assert 3 <= len(found) <= 8
    step = found[1] - found[0]
    assert found[0] - 1e-6 * step <= low < found[1] + 1e-6 * step
    assert found[-2] - 1e-6 * step <= low + width <= found[-1] + 1e-6 * step
    assert f"{step:.3e}"[:5] in ("1.000", "2.000", "5.000")


def test_ticks_of_curves_people_draw() -> None:
    assert ticks([1, 200]) == [0, 50, 100, 150, 200]
    assert ticks([0.447, 0.705]) == pytest.approx([0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75])
    assert ticks([4, 6], whole=True) == [4, 5, 6]
    assert ticks([0.5, 0.5]) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])


def test_a_constant_line_lies_within_its_chart() -> None:
    (line,) = points(plot([Line("", [(1, 0.5), (2, 0.5)])], "x", "y"))
    assert all(0 < y < 100 for _, y in line)
    (line,) = points(plot([Line("", [(1, 0.0)])], "x", "y"))
    assert all(0 < y < 100 for _, y in line)


def test_a_share_stays_within_the_axis() -> None:
    assert [share(v, [0.0, 1.0, 2.0]) for v in (-1, 0, 0.5, 2, 9)] == [0, 0, 25, 100, 100]
