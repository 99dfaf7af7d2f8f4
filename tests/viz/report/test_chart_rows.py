from __future__ import annotations

import math
import re

from diffmg.viz.report.rows import Row, bar_rows, dot_rows


def lefts(chart: str, kind: str) -> list[float]:
    return [float(x) for x in re.findall(rf'class="{kind}" style="left:([\d.]+)%', chart)]


def test_dots_are_in_the_order_of_their_values_with_their_intervals_around_them() -> None:
    rows = [Row("a", 0.9, "0.9", 0.8, 1.0), Row("b", 0.5, "0.5", 0.4, 0.6), Row("c", 0.2, "0.2")]
    chart = dot_rows(rows, "scores")
    places = lefts(chart, "dot")
    assert places == sorted(places, reverse=True)
    assert all(low < dot for low, dot in zip(lefts(chart, "range"), places, strict=False))
    assert len(lefts(chart, "range")) == 2


def test_bars_begin_at_zero_on_either_side() -> None:
    chart = bar_rows([Row("a", 0.5, "0.5"), Row("b", -0.5, "-0.5")], "drops")
    widths = [float(x) for x in re.findall(r'class="bar" style="left:[\d.]+%;width:([\d.]+)%', chart)]
    places = lefts(chart, "bar")
    assert widths[0] == widths[1] > 0
    assert places[0] == places[1] + widths[1]


def test_names_notes_and_captions_are_escaped() -> None:
    chart = dot_rows([Row("<i>", 1.0, "<b>", note="<u>")], "<s>", ("<x>", "<y>"))
    assert not re.search(r"<(b|u|x|y)>|<i>|<s>", chart)
    assert all(f"&lt;{c}&gt;" in chart for c in "ibusxy")


def test_values_that_are_no_numbers_are_left_out() -> None:
    assert dot_rows([Row("a", math.nan, "none")], "scores") == ""
    assert "b" in dot_rows([Row("a", math.nan, "none"), Row("b", 1.0, "1")], "scores")
