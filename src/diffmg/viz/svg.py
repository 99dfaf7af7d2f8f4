"""A meta graph as a self-contained SVG picture."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import sqrt
from operator import itemgetter
from unicodedata import east_asian_width
from xml.sax.saxutils import escape

from diffmg.core import Link, MetaGraph
from diffmg.viz._base import DRAWINGS
from diffmg.viz.marks import DARK, Look, Mark, Use, looks, marks_of, path_lines, title, wrap

RADIUS, LANE, CORNER, MARGIN = 20, 46, 14, 24


@DRAWINGS.add("svg")
def to_svg(metagraphs: Sequence[MetaGraph]) -> str:
    """Meta graphs below each other, each with a title, its states and links, and its meta paths."""
    look, parts, width, top = looks(metagraphs), list[str](), 480.0, 0.0
    for metagraph in metagraphs:
        body, box_width, height = _svg_one(metagraph, look)
        parts += [f'<g transform="translate({MARGIN} {top:g})">', *body, "</g>"]
        width, top = max(width, box_width), top + height
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {top:g}" width="{width:g}" height="{top:g}" '
        f'role="img" font-family="Helvetica, Arial, sans-serif" font-size="13" fill="{DARK}">'
    )
    heading = f"<title>{escape('; '.join(map(title, metagraphs)))}</title>"
    return "\n".join([head, heading, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>"])


def _svg_one(metagraph: MetaGraph, look: Look) -> tuple[list[str], float, float]:
    """One meta graph with its width and height.

    Every operation has its own lane. Its label is placed in the lane between two states, where there are only lanes,
    so labels never overlap each other or another line.
    """
    marks = sorted(marks_of(metagraph), key=lambda m: (m.link, m.use is Use.DEAD))
    lanes = _lanes(marks)
    gap = max([60.0, *(max(_width(m.name), _width(m.note) * 0.85) for m in marks)]) + 2 * (RADIUS + CORNER)
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
        colour, text, style = look(mark)
        leave, enter = (ports[mark.link, state] if lane else 0.0 for state in (i, k))
        line, head = _line(gap * i + leave, gap * k + enter, enter, y)
        dash = {"solid": "none", "dashed": "6 4", "dotted": "2 3"}[style]
        yield f'<path d="{line}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
        yield f'<path d="{head}" fill="{colour}"/>'
        x = gap * ((i + k - 1) // 2 + 0.5)
        yield f'<text class="operation {mark.use.value}" text-anchor="middle" fill="{text}">'
        yield f'<tspan x="{x:g}" y="{y - 6}">{escape(mark.name)}</tspan>'
        yield f'<tspan x="{x:g}" y="{y + 14}" font-size="11" fill-opacity="0.85">{escape(mark.note)}</tspan></text>'


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
        fill, text = (DARK, "white") if k == depth else ("white", DARK)
        yield f'<circle cx="{gap * k:g}" r="{RADIUS}" fill="{fill}" stroke="{DARK}" stroke-width="2"/>'
        yield f'<text x="{gap * k:g}" y="5" text-anchor="middle" fill="{text}">H{k}</text>'


def _width(text: str) -> float:
    """A generous estimate of the width in pixels of text at font size 13."""
    return sum(14.0 if east_asian_width(c) in "WF" else 11.0 if c in "mwMW@%" else 7.4 for c in text)
