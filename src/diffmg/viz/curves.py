"""Curves as an SVG picture that stands alone, for pages of results; the report page has `report.plot`."""

import math
from collections.abc import Mapping, Sequence
from html import escape

from diffmg.viz.report.plot import ticks

WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 56, 150, 16, 36
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


def curves_svg(curves: Mapping[str, Sequence[tuple[float, float]]], x_name: str, y_name: str) -> str:
    """One line per name through its points (x, y), with axes and a legend."""
    curves = {name: [p for p in curve if all(map(math.isfinite, p))] for name, curve in curves.items()}
    points = [p for curve in curves.values() for p in curve]
    if not points:
        return ""
    x_ticks, y_ticks = ticks([p[0] for p in points]), ticks([p[1] for p in points])
    font = 'font-family="system-ui, sans-serif" font-size="11"'
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font} class="curves" role="img">']
    parts += _axes(x_ticks, y_ticks, x_name, y_name)
    for number, (name, curve) in enumerate(curves.items()):
        colour, dash = _look(name, number)
        line = " ".join(f"{_x(x, x_ticks):.1f},{_y(y, y_ticks):.1f}" for x, y in curve)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" {dash} stroke-width="1.6"/>')
        y = TOP + 14 + 18 * number
        x = WIDTH - RIGHT + 10
        parts.append(f'<path d="M{x} {y - 7}h18" stroke="{colour}" {dash} stroke-width="2.4"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 32}" y="{y - 3}">{escape(name)}</text>')
    return "".join([*parts, "</svg>"])


def _look(name: str, number: int) -> tuple[str, str]:
    """Colour and dashes of a curve: names ending in the same number share a colour, searches are dashed."""
    kind, _, end = name.rpartition("-")
    place = int(end) if end.isdecimal() else number
    return COLOURS[place % len(COLOURS)], 'stroke-dasharray="5 3"' if kind == "search" else ""


def _axes(x_ticks: Sequence[float], y_ticks: Sequence[float], x_name: str, y_name: str) -> list[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = [f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="#888"/>']
    for value in y_ticks:
        y = _y(value, y_ticks)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{right}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.6g}</text>')
    for value in x_ticks:
        x = _x(value, x_ticks)
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{value:.6g}</text>')
    parts.append(f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 4}" text-anchor="middle">{escape(x_name)}</text>')
    parts.append(
        f'<text transform="translate(12 {(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle">{escape(y_name)}</text>'
    )
    return parts


def _x(value: float, ticks: Sequence[float]) -> float:
    return LEFT + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (WIDTH - LEFT - RIGHT)


def _y(value: float, ticks: Sequence[float]) -> float:
    return HEIGHT - BOTTOM - (value - ticks[0]) / (ticks[-1] - ticks[0]) * (HEIGHT - TOP - BOTTOM)
