"""The states of a meta graph as a self-contained SVG picture."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import sqrt
from operator import itemgetter
from xml.sax.saxutils import escape

from diffmg.core import Link, MetaGraph
from diffmg.viz._base import STATES
from diffmg.viz.marks import (
    DARK,
    DIM,
    FAINT,
    GREY,
    PALETTE,
    Look,
    Mark,
    Use,
    looks,
    marks_of,
    path_lines,
    title,
    wrap,
)  # fmt: skip
from diffmg.viz.measure import fitted, text_width
from diffmg.viz.svg_parts import document, text

RADIUS, LANE, CORNER, MARGIN = 20, 46, 14, 24


LEGEND = (
    (Use.SENDS, "solid, in a colour of its own: the relation carries messages that reach the target"),
    (Use.PASSES, "dashed: only hands the target's state on, unchanged"),
    (Use.DEAD, "dotted: leads nowhere, nothing of it reaches the target"),
)
STATES_SAY = (
    "H0 is the input of all node types; each later state is the sum of its arrows; the filled one is the result."
)
DASHES = {"solid": "none", "dashed": "6 4", "dotted": "2 3"}
INKS = {DARK: "ink", GREY: "mute", DIM: "mute", FAINT: "faint"} | {c: f"t{n}" for n, c in enumerate(PALETTE)}
"""The variable of the theme for each colour of the other formats."""


@STATES.add("svg")
def to_svg(metagraphs: Sequence[MetaGraph]) -> str:
    """Meta graphs below each other, each with a title, its states and links, and its meta paths; a legend below."""
    look, parts, width, top = _themed(looks(metagraphs)), list[str](), 480.0, 0.0
    for metagraph in metagraphs:
        body, box_width, height = _svg_one(metagraph, look)
        parts += [f'<g transform="translate({MARGIN} {top:g})">', *body, "</g>"]
        width, top = max(width, box_width), top + height
    legend, bottom = _legend(top, width)
    heading = "; ".join(map(title, metagraphs))
    return document(width, bottom, heading, STATES_SAY, [*parts, *legend])


def _themed(look: Look) -> Look:
    """The same style in colours that follow light and dark."""

    def themed(mark: Mark) -> tuple[str, str, str]:
        colour, ink, style = look(mark)
        return f"var(--dm-{INKS[colour]})", f"var(--dm-{INKS[ink]})", style

    return themed


def _legend(y: float, width: float) -> tuple[list[str], float]:
    """What the lines and states mean, and where the picture ends."""
    parts = []
    for use, words in LEGEND:
        style = {Use.SENDS: ("t0", "solid"), Use.PASSES: ("mute", "dashed"), Use.DEAD: ("faint", "dotted")}[use]
        dash = f'stroke="var(--dm-{style[0]})" stroke-width="2" stroke-dasharray="{DASHES[style[1]]}"'
        parts.append(f'<path fill="none" d="M{MARGIN} {y + 8:g}h34" {dash}/>')
        for line in fitted(words, width - 2 * MARGIN - 44, 12.5, 3):
            parts.append(text(line, MARGIN + 44, y + 12, 12.5, "mute", "start"))
            y += 18
    for line in fitted(STATES_SAY, width - 2 * MARGIN, 12.5, 3):
        parts.append(text(line, MARGIN, y + 12, 12.5, "mute", "start"))
        y += 18
    return parts, y + MARGIN


def _svg_one(metagraph: MetaGraph, look: Look) -> tuple[list[str], float, float]:
    """One meta graph with its width and height.

    Every operation has its own lane. Its label is placed in the lane between two states, where there are only lanes,
    so labels never overlap each other or another line.
    """
    marks = sorted(marks_of(metagraph), key=lambda m: (m.link, m.use is Use.DEAD))
    lanes = _lanes(marks)
    gap = max([60.0, *(max(text_width(m.name, 14), text_width(m.note, 12)) for m in marks)]) + 2 * (RADIUS + CORNER)
    width = max(480.0, 2 * (MARGIN + RADIUS) + gap * metagraph.depth)
    axis = 3 * MARGIN - _height(max([0, *lanes]))
    parts = [f'<text y="{MARGIN + 8}" font-size="16" font-weight="bold">{escape(title(metagraph))}</text>']
    parts += [f'<g transform="translate({RADIUS} {axis})">', *_svg_links(marks, lanes, gap, look)]
    parts += [*_svg_states(metagraph.depth, gap), "</g>"]
    y = axis + _height(min([0, *lanes])) + 2 * MARGIN + RADIUS
    parts.append(f'<text y="{y}" font-weight="bold">meta paths</text>')
    for row in (row for line in path_lines(metagraph) for row in wrap(line, int(width / 7.5), " " * 6)):
        y += 20
        parts.append(f'<text x="{4 * (len(row) - len(row.lstrip()))}" y="{y}">{escape(row.strip())}</text>')
    return parts, width, y + MARGIN


def _lanes(marks: Sequence[Mark]) -> list[int]:
    """One lane per mark: 0 is the line of states, lanes above it are positive, lanes below negative.

    Short links are innermost, and each link takes the side where it is nearer to the states.
    """
    sizes = Counter(mark.link for mark in marks)
    lanes: dict[Link, list[int]] = {}
    for link in sorted(sizes, key=lambda link: (link.k - link.i, link)):
        taken = [n for other in lanes if max(link.i, other.i) < min(link.k, other.k) for n in lanes[other]]
        up, down = max([0, *taken]), -min([0, *taken])
        side = 1 if up <= down else -1
        start = min(up, down) + (link.k - link.i > 1)
        lanes[link] = [side * (start + n) for n in range(sizes[link])]
    return [lane for link in sizes for lane in lanes[link]]


def _ports(heights: Mapping[Link, int]) -> dict[tuple[Link, int], float]:
    """Horizontal offset from a state's centre where a link leaves (right) or enters (left); outer lanes are nearest."""
    ends = [((k, k == link.i, lane > 0), -abs(lane), link) for link, lane in heights.items() if lane for k in link]
    ports: dict[tuple[Link, int], float] = {}
    for (state, leaves, _), group in groupby(sorted(ends), key=itemgetter(0)):
        inside_first = [link for *_, link in group]
        step = (0.9 if leaves else -0.9) * RADIUS / len(inside_first)
        ports |= {(link, state): step * (n + 0.5) for n, link in enumerate(inside_first)}
    return ports


def _svg_links(marks: Sequence[Mark], lanes: Sequence[int], gap: float, look: Look) -> Iterator[str]:
    """Lines, arrow heads and labels; unused operations are drawn first, then from the outside in."""
    outside_first = sorted(zip(marks, lanes, strict=True), key=lambda pair: -abs(pair[1]))
    ports = _ports({mark.link: lane for mark, lane in reversed(outside_first)})
    for mark, lane in sorted(outside_first, key=lambda pair: pair[0].use is not Use.DEAD):
        (k, i), y = mark.link, _height(lane)
        colour, ink, style = look(mark)
        leave, enter = (ports[mark.link, state] if lane else 0.0 for state in (i, k))
        line, head = _line(gap * i + leave, gap * k + enter, enter, y)
        dash = DASHES[style]
        yield f'<path d="{line}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
        yield f'<path d="{head}" fill="{colour}"/>'
        x = gap * ((i + k - 1) // 2 + 0.5)
        yield f'<text class="operation {mark.use.value}" text-anchor="middle" style="fill:{ink}">'
        yield f'<tspan x="{x:g}" y="{y - 6}">{escape(mark.name)}</tspan>'
        yield f'<tspan x="{x:g}" y="{y + 14}" font-size="12">{escape(mark.note)}</tspan></text>'


def _line(start: float, end: float, enter: float, y: int) -> tuple[str, str]:
    """SVG paths of a line from one circle's centre along the lane at `y` to the other circle, and of its arrow head."""
    if y == 0:
        return f"M{start:g} 0H{end - RADIUS - 8:g}", f"M{end - RADIUS:g} 0l-9 -4v8z"
    side = 1 if y > 0 else -1
    bend, rim = side * CORNER, side * sqrt(RADIUS**2 - enter**2)
    legs = f"M{start:g} 0V{y - bend}q0 {bend} {CORNER} {bend}", f"q{CORNER} 0 {CORNER} {-bend}V{rim + side * 8:.1f}"
    return f"H{end - CORNER:g}".join(legs), f"M{end:g} {rim:.1f}l-4 {9 * side}h8z"


def _height(lane: int) -> int:
    """The y coordinate of a lane (SVG counts downwards), with extra room around the states."""
    return -LANE * lane - (RADIUS // 2) * ((lane > 0) - (lane < 0))


def _svg_states(depth: int, gap: float) -> Iterator[str]:
    """The states as circles; the last one, the output, is filled."""
    for k in range(depth + 1):
        fill, ink = ("ink", "bg") if k == depth else ("bg", "ink")
        edge = 'stroke="var(--dm-ink)" stroke-width="2"'
        yield f'<circle cx="{gap * k:g}" r="{RADIUS}" fill="var(--dm-{fill})" {edge}/>'
        yield f'<text x="{gap * k:g}" y="5" text-anchor="middle" style="fill:var(--dm-{ink})">H{k}</text>'
