"""Boxes, arrows and paragraphs as SVG, from a layout; shared by the pictures of meta graphs and of schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from diffmg.viz.layers import CURVE, LABEL, NAME, ROW
from diffmg.viz.measure import fitted
from diffmg.viz.placed import PlacedEdge, PlacedNode
from diffmg.viz.theme import CLASS, css

MARGIN = 20.0
HEAD = 9.0


def document(width: float, height: float, title: str, description: str, parts: Sequence[str]) -> str:
    """A whole picture that stands alone."""
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{CLASS}" {size} role="group" font-size="{NAME:g}">',
            f"<title>{escape(title)}</title><desc>{escape(description)}</desc>",
            f"<style>{css()}</style>",
            '<rect class="back" width="100%" height="100%"/>',
            *parts,
            "</svg>",
        ]
    )


def box(placed: PlacedNode, colour: str, about: str, data: Mapping[str, object], *, strong: bool = False) -> str:
    """A node type."""
    rect, lines = placed.rect, placed.lines
    note = placed.node.note
    top = rect.middle - ROW * (len(lines) + bool(note)) / 2
    x = rect.x + rect.width / 2
    shape = f'x="{rect.x:.1f}" y="{rect.y:.1f}" width="{rect.width:.1f}" height="{rect.height:.1f}" rx="9"'
    width = ' style="stroke-width: 3"' if strong else ""
    return "".join(
        [
            f'<g class="type" tabindex="0"{attributes(data)}><title>{escape(about)}</title>',
            f'<rect class="box" {shape} fill="{colour}" stroke="{colour}"{width}/>',
            *(text(line, x, top + ROW * n + 12, NAME, "name") for n, line in enumerate(lines)),
            text(note, x, top + ROW * len(lines) + 12, LABEL, "mute") if note else "",
            "</g>",
        ]
    )


def arrow(placed: PlacedEdge, colour: str, width: float, about: str, data: Mapping[str, object]) -> str:
    """A relation with its label and its arrow head."""
    middle = placed.label.x + placed.label.width / 2
    above = len(placed.lines) - bool(placed.edge.note)
    texts = []
    for number, line in enumerate(placed.lines):
        below = number >= above
        y = placed.lane + (ROW if below else ROW * (number - above + 1) - 6) + (width / 2 if below else -width / 2)
        texts.append(text(line, middle, y, LABEL, "mute note" if below else "label"))
    (x, y), size = placed.end, HEAD + width / 2
    head = f'<path d="M{x:.1f} {y:.1f}l{-size:.1f} {-size / 2:.1f}v{size:.1f}z" fill="{colour}"/>'
    return "".join(
        [
            f'<g class="link" tabindex="0"{attributes(data)}><title>{escape(about)}</title>',
            f'<path class="wire" d="{wire(placed, size)}" stroke="{colour}" stroke-width="{width:.1f}"/>',
            head,
            *texts,
            "</g>",
        ]
    )


def wire(placed: PlacedEdge, head: float) -> str:
    """From the source to the lane, along it, and on to the arrow head."""
    (x0, y0), (x1, y1) = placed.start, placed.end
    left, right, lane = placed.label.x, placed.label.x + placed.label.width, placed.lane
    end, bend = x1 - head + 1, CURVE * 0.55
    return (
        f"M{x0:.1f} {y0:.1f}C{x0 + bend:.1f} {y0:.1f} {left - bend:.1f} {lane:.1f} {left:.1f} {lane:.1f}"
        f"H{right:.1f}C{right + bend:.1f} {lane:.1f} {end - bend:.1f} {y1:.1f} {end:.1f} {y1:.1f}"
    )


def text(content: str, x: float, y: float, size: float, kind: str, anchor: str = "middle") -> str:
    """One line of text."""
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{escape(content)}</text>'


def paragraph(content: str, y: float, width: float, kind: str = "caption") -> tuple[list[str], float]:
    """The lines of a paragraph, and where it ends."""
    lines = fitted(content, width, NAME, 12)
    drawn = [text(line, MARGIN, y + 20 * n + 14, NAME, kind, "start") for n, line in enumerate(lines)]
    return drawn, y + 20 * len(lines)


def attributes(data: Mapping[str, object]) -> str:
    """`data-` attributes for pages that show more on hover or tap."""
    return "".join(f" data-{name}={quoteattr(str(value))}" for name, value in data.items() if value is not None)
