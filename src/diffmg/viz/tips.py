"""What a part of a picture says when it is focused or tapped: a title alone is shown to a mouse only.

Tips are drawn last, above everything else; a rule of style for each shows it while its part has the focus.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from diffmg.viz.layers import LABEL, ROW
from diffmg.viz.measure import fitted, text_width
from diffmg.viz.placed import Rect

WIDEST, PAD, LINES = 300.0, 8.0, 6
LOOK = (
    ".tips { visibility: hidden; pointer-events: none; } "
    ".tips rect { fill: var(--dm-bg); stroke: var(--dm-ink); rx: 6px; } @media print { .tips { display: none; } }"
)


class Tip(NamedTuple):
    """Words on a part of the picture, and the place of that part."""

    words: str
    rect: Rect

    def moved(self, x: float, y: float) -> Tip:
        """The same tip further right and down."""
        rect = self.rect
        return Tip(self.words, rect._replace(x=rect.x + x, y=rect.y + y))


def tips_svg(towers: Sequence[Sequence[Tip]], width: float, height: float) -> list[str]:
    """The tips of a picture of this size: a group for each `tower`, in it a tip for each of the tower's children.

    Rules go by these numbers alone, so those of other pictures on the same page say the same.
    """
    rules = [_rule(number, nth) for number, tips in enumerate(towers, 1) for nth in range(1, len(tips) + 1)]
    if not rules:
        return []
    style = f"<style>{LOOK} {', '.join(rules)} {{ visibility: visible; }}</style>"
    groups = [f"<g>{''.join(_drawn(tip, width, height) for tip in tips)}</g>" for tips in towers]
    return [style, '<g class="tips" aria-hidden="true">', *groups, "</g>"]


def _rule(tower: int, nth: int) -> str:
    part = f">.tower:nth-of-type({tower})>:nth-child({nth})"
    return f"svg:has({part}:focus)>.tips>:nth-child({tower})>:nth-child({nth})"


def _drawn(tip: Tip, width: float, height: float) -> str:
    lines = fitted(tip.words, min(WIDEST, width) - 2 * PAD, LABEL, LINES)
    area = tip_rect(tip.rect, lines, width, height)
    place = f'x="{area.x:.0f}" y="{area.y:.0f}" width="{area.width:.0f}" height="{area.height:.0f}"'
    x, y = f"{area.x + PAD:.0f}", area.y + 3 + ROW
    first, *more = map(escape, lines)
    rows = first + "".join(f'<tspan x="{x}" dy="{ROW:g}">{line}</tspan>' for line in more)
    return f'<g><rect {place}/><text x="{x}" y="{y:.0f}" font-size="{LABEL:g}">{rows}</text></g>'


def tip_rect(rect: Rect, lines: Sequence[str], width: float, height: float) -> Rect:
    """Below the part, above it where there is no room below; always inside the picture."""
    wide = min(max(text_width(line, LABEL) for line in lines) + 2 * PAD, width)
    tall = ROW * len(lines) + 10
    x = min(max(rect.x + rect.width / 2 - wide / 2, 1.0), width - wide - 1)
    below, above = rect.y + rect.height + 4, rect.y - tall - 4
    y = below if below + tall <= height or above < 0 else above
    return Rect(x, max(min(y, height - tall - 1), 1.0), wide, tall)
