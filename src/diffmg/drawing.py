"""Drawings of meta graphs for people: text for a terminal, DOT, Mermaid and SVG."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import groupby
from math import sqrt
from operator import itemgetter
from typing import NamedTuple
from unicodedata import east_asian_width
from xml.sax.saxutils import escape

from diffmg.errors import DiffmgError, unknown
from diffmg.metagraph import EMPTY, Link, MetaGraph, Operation
from diffmg.program import compile_program
from diffmg.schema import Relation

MOST_PATHS = 12
"""How many meta paths are written out; a person reads no more."""
COLUMNS = 80
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#999933")
"""Colours that stay apart for colour-blind eyes (Okabe and Ito, then Tol); relations take them in order."""
DARK, GREY, DIM, FAINT = "#222222", "#6b6b6b", "#8c8c8c", "#cccccc"


class Use(Enum):
    """What an operation does for the target type at the last state."""

    SENDS = "sends"
    PASSES = "passes"
    DEAD = "dead"


class Mark(NamedTuple):
    """One operation on one link, as it is drawn."""

    link: Link
    operation: Operation
    use: Use

    @property
    def name(self) -> str:
        """The operation in a word."""
        return _clean(self.operation.name if isinstance(self.operation, Relation) else str(self.operation))

    @property
    def note(self) -> str:
        """What stands behind the name: the types it joins, or that it only lets other types pass."""
        if not isinstance(self.operation, Relation):
            return ""
        if self.use is Use.PASSES:
            return "(passes)"
        return _clean(f"({self.operation.source} → {self.operation.target})")

    @property
    def label(self) -> str:
        """Such as `publishes (venue → paper)`."""
        return f"{self.name} {self.note}".rstrip()


Look = Callable[[Mark], tuple[str, str, str]]
"""Of a mark: the colour of its line, the colour of its label, and `solid`, `dashed` or `dotted`."""


def draw(metagraph: MetaGraph, form: str) -> str:
    """Draw one meta graph in the form `text`, `dot`, `mermaid` or `svg`."""
    return draw_all([metagraph], form)


def draw_all(metagraphs: Sequence[MetaGraph], form: str) -> str:
    """Draw several meta graphs, such as the two towers of a recommendation, into one picture."""
    if form not in _FORMS:
        raise unknown("format", form, _FORMS)
    if not metagraphs:
        raise DiffmgError("one or more meta graphs must be given to draw, but got none")
    return _FORMS[form](metagraphs)


def marks_of(metagraph: MetaGraph) -> tuple[Mark, ...]:
    """Every operation but `EMPTY`, with its use: read off the compiled program."""
    steps = compile_program(metagraph).steps
    sends = {term.weight for step in steps for product in step.products for term in product.terms}
    passes = {term.weight for step in steps for term in step.passed}
    return tuple(
        Mark(link, operation, Use.SENDS if j in sends else Use.PASSES if j in passes else Use.DEAD)
        for j, (link, operation) in enumerate(metagraph.choices)
        if operation is not EMPTY
    )


def path_lines(metagraph: MetaGraph) -> list[str]:
    """The longest meta paths, one a line, as in `venue -publishes-> paper -written_by-> author`."""
    paths = metagraph.longest_paths()
    own = f"{metagraph.target} (own features)"
    shown = [(p[0].source if p else own) + "".join(f" -{r.name}-> {r.target}" for r in p) for p in paths[:MOST_PATHS]]
    if len(paths) > MOST_PATHS:
        shown.append(f"… and {len(paths) - MOST_PATHS} more")
    return [_clean(line) for line in shown] or ["none: nothing reaches the target"]


def _title(metagraph: MetaGraph) -> str:
    states = "1 state" if metagraph.depth == 1 else f"{metagraph.depth} states"
    return _clean(f"meta graph for '{metagraph.target}', {states}")


def _clean(text: str) -> str:
    """Names come from files: what cannot be printed (line breaks, terminal codes) becomes a blank."""
    return "".join(c if c.isprintable() else " " for c in text)


def _wrap(text: str, columns: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text, columns, initial_indent="  ", subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _looks(metagraphs: Sequence[MetaGraph]) -> Look:
    """How operations look: one colour a relation, the same in all meta graphs that are drawn together."""
    sending = (m.operation for metagraph in metagraphs for m in marks_of(metagraph) if m.use is Use.SENDS)
    colours = {relation: PALETTE[n % len(PALETTE)] for n, relation in enumerate(dict.fromkeys(sending))}

    def look(mark: Mark) -> tuple[str, str, str]:
        if mark.use is Use.SENDS:
            return colours[mark.operation], DARK, "solid"
        return (GREY, GREY, "dashed") if mark.use is Use.PASSES else (FAINT, DIM, "dotted")

    return look


def _text(metagraphs: Sequence[MetaGraph]) -> str:
    return "\n\n".join("\n".join(_text_lines(metagraph)) for metagraph in metagraphs)


def _text_lines(metagraph: MetaGraph) -> Iterator[str]:
    marks = marks_of(metagraph)
    yield _title(metagraph)
    yield "  H0    the features of every type"
    for k in range(1, metagraph.depth + 1):
        yield from _state_lines(k, [m for m in marks if m.link.k == k and m.use is not Use.DEAD])
    dead = [f"H{m.link.i} ─▶ H{m.link.k} {m.label}" for m in marks if m.use is Use.DEAD]
    if dead:
        yield from _wrap("not used: " + ", ".join(dead), COLUMNS, " " * 12)
    yield "meta paths:"
    for line in path_lines(metagraph):
        yield from _wrap(line, COLUMNS, " " * 6)


def _state_lines(k: int, marks: Sequence[Mark]) -> Iterator[str]:
    if not marks:
        yield f"  H{k}    not used"
    for n, mark in enumerate(marks):
        head = f"H{k} ◀"
        joint = "─" if len(marks) == 1 else "┬" if n == 0 else "├" if n < len(marks) - 1 else "└"
        yield f"  {head if n == 0 else ' ' * len(head)}{joint}─ H{mark.link.i}  {mark.label}"


_DOT = str.maketrans({"&": "&amp;", "\\": "\\\\", '"': '\\"'})
_MERMAID = str.maketrans({c: f"#{ord(c)};" for c in '#&<>"`\\'})


def _dot(metagraphs: Sequence[MetaGraph]) -> str:
    look = _looks(metagraphs)
    lines = [
        "digraph metagraph {",
        '  graph [rankdir=LR, fontname="Helvetica", labeljust=l, color="#cccccc"];',
        '  node [shape=circle, fontname="Helvetica"];',
        '  edge [fontname="Helvetica", fontsize=11];',
    ]
    for n, metagraph in enumerate(metagraphs):
        caption = "".join(t.translate(_DOT) + r"\l" for t in (_title(metagraph), "meta paths:", *path_lines(metagraph)))
        lines += [f"  subgraph cluster_{n} {{", f'    label="{caption}";']
        lines += [f'    g{n}H{k} [label="H{k}"];' for k in range(metagraph.depth + 1)]
        for mark in marks_of(metagraph):
            colour, text, style = look(mark)
            ends = f"g{n}H{mark.link.i} -> g{n}H{mark.link.k}"
            ink = f'color="{colour}", fontcolor="{text}", style={style}'
            lines.append(f'    {ends} [label="{mark.label.translate(_DOT)}", {ink}];')
        lines.append("  }")
    return "\n".join([*lines, "}"])


def _mermaid(metagraphs: Sequence[MetaGraph]) -> str:
    look = _looks(metagraphs)
    lines, styles = ["flowchart LR"], list[str]()
    for n, metagraph in enumerate(metagraphs):
        lines += [f'  subgraph g{n}["{_title(metagraph).translate(_MERMAID)}"]', "    direction LR"]
        lines += [f'    g{n}H{k}(("H{k}"))' for k in range(metagraph.depth + 1)]
        for mark in marks_of(metagraph):
            colour, text, style = look(mark)
            arrow = "-->" if style == "solid" else "-.->"
            lines.append(f'    g{n}H{mark.link.i} {arrow}|"{mark.label.translate(_MERMAID)}"| g{n}H{mark.link.k}')
            styles.append(f"  linkStyle {len(styles)} stroke:{colour},color:{text}")
        caption = "<br/>".join(t.translate(_MERMAID) for t in ("meta paths:", *path_lines(metagraph)))
        lines += [f'    g{n}paths["{caption}"]', "  end", f"  style g{n}paths fill:none,stroke:none,text-align:left"]
    return "\n".join([*lines, *styles])


RADIUS, LANE, CORNER, MARGIN = 20, 46, 14, 24


def _svg(metagraphs: Sequence[MetaGraph]) -> str:
    """Meta graphs one below the other, each a title, its states and links, and its meta paths."""
    look, parts, width, top = _looks(metagraphs), list[str](), 480.0, 0.0
    for metagraph in metagraphs:
        body, box_width, height = _svg_one(metagraph, look)
        parts += [f'<g transform="translate({MARGIN} {top:g})">', *body, "</g>"]
        width, top = max(width, box_width), top + height
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {top:g}" width="{width:g}" height="{top:g}" '
        f'role="img" font-family="Helvetica, Arial, sans-serif" font-size="13" fill="{DARK}">'
    )
    title = f"<title>{escape('; '.join(map(_title, metagraphs)))}</title>"
    return "\n".join([head, title, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>"])


def _svg_one(metagraph: MetaGraph, look: Look) -> tuple[list[str], float, float]:
    """One meta graph with its width and height.

    Every operation runs in a lane of its own. Its label sits there between two states, where nothing but lanes runs:
    so no label can meet another one or a foreign line.
    """
    marks = sorted(marks_of(metagraph), key=lambda m: (m.link, m.use is Use.DEAD))
    lanes = _lanes(marks)
    gap = max([60.0, *(max(_width(m.name), _width(m.note) * 0.85) for m in marks)]) + 2 * (RADIUS + CORNER)
    width = max(480.0, 2 * (MARGIN + RADIUS) + gap * metagraph.depth)
    axis = 3 * MARGIN - _height(max([0, *lanes]))
    parts = [f'<text y="{MARGIN + 8}" font-size="16" font-weight="bold">{escape(_title(metagraph))}</text>']
    parts += [f'<g transform="translate({RADIUS} {axis})">', *_svg_links(marks, lanes, gap, look)]
    parts += [*_svg_states(metagraph.depth, gap), "</g>"]
    y = axis + _height(min([0, *lanes])) + 2 * MARGIN + RADIUS
    parts.append(f'<text y="{y}" font-weight="bold">meta paths</text>')
    for row in (row for line in path_lines(metagraph) for row in _wrap(line, int(width / 7.5), " " * 6)):
        y += 20
        parts.append(f'<text x="{4 * (len(row) - len(row.lstrip()))}" y="{y}">{escape(row.strip())}</text>')
    return parts, width, y + MARGIN


def _lanes(marks: Sequence[Mark]) -> list[int]:
    """One lane a mark: 0 is the line of states, lanes above it are positive, lanes below negative.

    Short links lie inside, and a link takes the side where it stays nearer to the states.
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
    """How far beside the middle of a state a link leaves (right) or enters it (left): high ones further inside."""
    ends = [((k, k == link.i, lane > 0), -abs(lane), link) for link, lane in heights.items() if lane for k in link]
    ports: dict[tuple[Link, int], float] = {}
    for (state, leaves, _), group in groupby(sorted(ends), key=itemgetter(0)):
        inside_first = [link for *_, link in group]
        step = (0.9 if leaves else -0.9) * RADIUS / len(inside_first)
        ports |= {(link, state): step * (n + 0.5) for n, link in enumerate(inside_first)}
    return ports


def _svg_links(marks: Sequence[Mark], lanes: Sequence[int], gap: float, look: Look) -> Iterator[str]:
    """Lines, arrow heads and labels; what is not used is drawn first, then from outside in."""
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
    """From the middle of one circle along the lane at `y` to the rim of the other one, and the arrow head there."""
    if y == 0:
        return f"M{start:g} 0H{end - RADIUS - 8:g}", f"M{end - RADIUS:g} 0l-9 -4v8z"
    side = 1 if y > 0 else -1
    bend, rim = side * CORNER, side * sqrt(RADIUS**2 - enter**2)
    legs = f"M{start:g} 0V{y - bend}q0 {bend} {CORNER} {bend}", f"q{CORNER} 0 {CORNER} {-bend}V{rim + side * 8:.1f}"
    return f"H{end - CORNER:g}".join(legs), f"M{end:g} {rim:.1f}l-4 {9 * side}h8z"


def _height(lane: int) -> int:
    """Where a lane runs (SVG counts down the page); the states need some room of their own."""
    return -LANE * lane - (RADIUS // 2) * ((lane > 0) - (lane < 0))


def _svg_states(depth: int, gap: float) -> Iterator[str]:
    """The states as circles; the last one, which is read, is filled."""
    for k in range(depth + 1):
        fill, text = (DARK, "white") if k == depth else ("white", DARK)
        yield f'<circle cx="{gap * k:g}" r="{RADIUS}" fill="{fill}" stroke="{DARK}" stroke-width="2"/>'
        yield f'<text x="{gap * k:g}" y="5" text-anchor="middle" fill="{text}">H{k}</text>'


def _width(text: str) -> float:
    """A safe guess of the width in pixels of letters of 13 pixels."""
    return sum(14.0 if east_asian_width(c) in "WF" else 11.0 if c in "mwMW@%" else 7.4 for c in text)


_FORMS: dict[str, Callable[[Sequence[MetaGraph]], str]] = {"text": _text, "dot": _dot, "mermaid": _mermaid, "svg": _svg}
