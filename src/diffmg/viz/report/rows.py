"""Values with their intervals below each other on one axis: a dot plot, or bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from diffmg.viz.report.html import Html, text
from diffmg.viz.report.plot import share, ticks


@dataclass(frozen=True)
class Row:
    """One value; `low` and `high` where it has an interval."""

    name: object
    value: float
    shown: str
    low: float | None = None
    high: float | None = None
    note: object = ""
    own: bool = False
    """Whether it is the row that the reader came for."""

    @property
    def ends(self) -> list[float]:
        """All finite numbers of the row."""
        return [v for v in (self.low, self.value, self.high) if v is not None and math.isfinite(v)]


def dot_rows(rows: Sequence[Row], caption: object, heads: tuple[str, str] = ("", "")) -> str:
    """A dot per row, with its interval."""
    return _rows(rows, caption, heads, bars=False)


def bar_rows(rows: Sequence[Row], caption: object, heads: tuple[str, str] = ("", "")) -> str:
    """A bar per row from zero, with its interval."""
    return _rows(rows, caption, heads, bars=True)


def _rows(rows: Sequence[Row], caption: object, heads: tuple[str, str], *, bars: bool) -> str:
    rows = [row for row in rows if math.isfinite(row.value)]
    if not rows:
        return ""
    scale = ticks([*(v for row in rows for v in row.ends), *([0.0] if bars else [])])
    body = "".join(_row(row, scale, bars=bars) for row in rows)
    grid = "".join(f'<s style="left:{share(v, scale):.2f}%">{v:.6g}</s>' for v in (scale[0], _middle(scale), scale[-1]))
    foot = f'<tr class="axis" aria-hidden="true"><td></td><td><div class="track">{grid}</div></td><td></td></tr>'
    head = "".join(f'<th scope="col">{text(h)}</th>' for h in (heads[0], "chart", heads[1]))
    return (
        f'<table class="dots"><caption>{text(caption)}</caption><thead class="unseen"><tr>{head}</tr></thead>'
        f"<tbody>{body}{foot}</tbody></table>"
    )


def _row(row: Row, scale: Sequence[float], *, bars: bool) -> str:
    marks = ""
    if bars:
        start, end = sorted((share(0.0, scale), share(row.value, scale)))
        marks += f'<i class="bar" style="left:{start:.2f}%;width:{end - start:.2f}%"></i>'
    if row.low is not None and row.high is not None:
        low, high = share(row.low, scale), share(row.high, scale)
        marks += f'<i class="range" style="left:{low:.2f}%;width:{high - low:.2f}%"></i>'
    if not bars:
        marks += f'<i class="dot" style="left:{share(row.value, scale):.2f}%"></i>'
    note = Html(f"<small>{text(row.note)}</small>") if row.note else ""
    own = ' class="own"' if row.own else ""
    return (
        f'<tr{own}><th scope="row">{text(row.name)}{note}</th>'
        f'<td><div class="track" aria-hidden="true">{marks}</div></td><td class="number">{text(row.shown)}</td></tr>'
    )


def _middle(scale: Sequence[float]) -> float:
    return scale[len(scale) // 2]
