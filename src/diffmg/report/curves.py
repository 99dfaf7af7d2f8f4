"""Learning curves as a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 56, 150, 16, 36
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


def curves_svg(curves: Mapping[str, Sequence[tuple[float, float]]], x_name: str, y_name: str) -> str:
    """Lines through points (x, y), one per name, with axes and a legend."""
    curves = {name: [p for p in curve if all(map(math.isfinite, p))] for name, curve in curves.items()}
    points = [p for curve in curves.values() for p in curve]
    if not points:
        return ""
    x_range, y_range = _range([p[0] for p in points]), _range([p[1] for p in points])
    font = 'font-family="system-ui, sans-serif" font-size="11"'
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font} class="curves" role="img">']
    parts += _axes(x_range, y_range, x_name, y_name)
    for number, (name, curve) in enumerate(curves.items()):
        colour, dash = _look(name, number)
        line = " ".join(f"{_x(x, x_range):.1f},{_y(y, y_range):.1f}" for x, y in curve)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" {dash} stroke-width="1.6"/>')
        y = TOP + 14 + 18 * number
        x = WIDTH - RIGHT + 10
        parts.append(f'<path d="M{x} {y - 7}h18" stroke="{colour}" {dash} stroke-width="2.4"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 32}" y="{y - 3}">{escape(name)}</text>')
    return "".join([*parts, "</svg>"])


def _look(name: str, number: int) -> tuple[str, str]:
    """Colour and dashes of a curve: those with one number at the end share a colour, searches are dashed."""
    kind, _, end = name.rpartition("-")
    place = int(end) if end.isdecimal() else number
    return COLOURS[place % len(COLOURS)], 'stroke-dasharray="5 3"' if kind == "search" else ""


def _axes(x_range: tuple[float, float], y_range: tuple[float, float], x_name: str, y_name: str) -> list[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = [f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="#888"/>']
    for share in (0, 0.25, 0.5, 0.75, 1):
        value = y_range[0] + share * (y_range[1] - y_range[0])
        y = _y(value, y_range)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{right}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>')
    for share in (0, 0.5, 1):
        value = x_range[0] + share * (x_range[1] - x_range[0])
        x = _x(value, x_range)
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{value:.0f}</text>')
    parts.append(f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 4}" text-anchor="middle">{escape(x_name)}</text>')
    parts.append(
        f'<text transform="translate(12 {(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle">{escape(y_name)}</text>'
    )
    return parts


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _x(value: float, bounds: tuple[float, float]) -> float:
    return LEFT + (value - bounds[0]) / (bounds[1] - bounds[0]) * (WIDTH - LEFT - RIGHT)


def _y(value: float, bounds: tuple[float, float]) -> float:
    return HEIGHT - BOTTOM - (value - bounds[0]) / (bounds[1] - bounds[0]) * (HEIGHT - TOP - BOTTOM)
