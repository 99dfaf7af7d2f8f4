"""Charts as small SVG lines under labels in HTML: lines stretch with the page, letters keep their size.

A chart library would be larger than the rest of the page, and most scale their letters with the picture, so that they
cannot be read on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from diffmg.viz.report.html import text

Point = tuple[float, float]
Range = tuple[float, float]
COLOURS = 6
"""Colours of lines, `--c0` and so on in the style; lines beyond them are dashed."""


@dataclass(frozen=True)
class Line:
    """One line of a chart."""

    name: str
    points: Sequence[Point]
    dots: bool = False
    """Whether its points are drawn, and not the line between them."""
    both: bool = False
    """Whether points are drawn on the line."""
    quiet: bool = False
    """Whether it is only there to compare with."""
    dashed: bool = False


def plot(
    lines: Sequence[Line], x_name: str, y_name: str, *, x: Range | None = None, y: Range | None = None, label: str = ""
) -> str:
    """A chart with axes and a legend; empty where no point is finite."""
    lines = [Line(n.name, _finite(n.points), n.dots, n.both, n.quiet, n.dashed) for n in lines]
    points = [p for line in lines for p in line.points]
    if not points:
        return ""
    x_ticks = ticks([p[0] for p in points] if x is None else x, whole=all(float(p[0]).is_integer() for p in points))
    y_ticks = ticks(_apart([p[1] for p in points]) if y is None else y)
    drawn, colour = [], 0
    for line in lines:
        drawn.append((line, "quiet" if line.quiet else f"c{colour % COLOURS}", colour >= COLOURS or line.dashed))
        colour += not line.quiet
    marks = "".join(_drawn(line, look, x_ticks, y_ticks, dashed=dashed) for line, look, dashed in drawn)
    about = escape(label or f"{y_name} by {x_name}", quote=True)
    return (
        f'<figure class="plot"><div class="frame" role="img" aria-label="{about}">'
        f'<span class="y-name">{text(y_name)}</span><div class="area">{_grid(x_ticks, y_ticks)}'
        f'<svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">{marks}</svg></div>'
        f'<span class="x-name">{text(x_name)}</span></div>{_legend(drawn)}</figure>'
    )


def _legend(drawn: Sequence[tuple[Line, str, bool]]) -> str:
    named = [item for item in drawn if item[0].name]
    if len(named) < 2:
        return ""
    items = "".join(
        f'<span class="{look}"><i class="key{" dashed" if dashed else ""}"></i>{text(line.name)}</span>'
        for line, look, dashed in named
    )
    return f"<figcaption>{items}</figcaption>"


def _drawn(line: Line, look: str, x_ticks: Sequence[float], y_ticks: Sequence[float], *, dashed: bool) -> str:
    places = [(share(x, x_ticks), 100 - share(y, y_ticks)) for x, y in line.points]
    marks = ""
    if not line.dots:
        route = " ".join(f"{x:.2f},{y:.2f}" for x, y in places)
        marks = f'<polyline points="{route}" class="{look}{" dashed" if dashed else ""}"/>'
    if line.dots or line.both:
        spots = "".join(f"M{x:.2f} {y:.2f}h0" for x, y in places)
        marks += f'<path d="{spots}" class="{look} spot{" many" if len(places) > 60 else ""}"/>'
    return marks


def _grid(x_ticks: Sequence[float], y_ticks: Sequence[float]) -> str:
    """Tick labels, and a line for each on the vertical axis; every second one on a phone where there are many."""
    rows = "".join(f'<b style="bottom:{share(v, y_ticks):.2f}%"><u>{v:.6g}</u></b>' for v in y_ticks)
    columns = "".join(f'<s style="left:{share(v, x_ticks):.2f}%"{_thin(n)}>{v:.6g}</s>' for n, v in enumerate(x_ticks))
    return rows + columns


def _thin(number: int) -> str:
    return ' class="odd"' if number % 2 else ""


def ticks(values: Sequence[float], *, whole: bool = False) -> list[float]:
    """Up to eight round numbers enclosing the values, spaced by 1, 2 or 5 times a power of ten.

    `whole`: by no less than 1.
    """
    low, high = min(values), max(values)
    if high - low < 1e-9 * max(abs(low), abs(high), 1):
        low, high = low - 0.5, high + 0.5
    unit = 10 ** math.floor(math.log10((high - low) / 6))
    unit = max(1, unit) if whole else unit
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor * 6 >= high - low)
    return [step * n for n in range(math.floor(low / step), math.ceil(high / step) + 1)]


def share(value: float, scale: Sequence[float]) -> float:
    """Where a value lies between the first and the last tick, in percent; not outside of them."""
    return min(100.0, max(0.0, 100 * (value - scale[0]) / (scale[-1] - scale[0])))


def _apart(values: Sequence[float]) -> Sequence[float]:
    """The values; of a single one, a little less and a little more."""
    only = values[0]
    return [0.95 * only, 1.05 * only] if min(values) == max(values) != 0 else values


def _finite(points: Sequence[Point]) -> list[Point]:
    return [p for p in points if all(map(math.isfinite, p))]
