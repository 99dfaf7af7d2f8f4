"""A layered layout: boxes in columns, arrows from each column to the next one on its right.

Between two columns every arrow has a lane of its own, a straight stretch that carries its label, so that labels overlap
neither each other nor another arrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from diffmg.viz.measure import fitted, text_width
from diffmg.viz.placed import Edge, Layout, Node, PlacedEdge, PlacedNode, Rect

NAME, LABEL = 14.0, 12.5
"""Sizes of text in boxes and along arrows."""
ROW = 16.0
BOX, BOX_TEXT, LABEL_TEXT = 42.0, 150.0, 180.0
"""Least height of a box; most width of its text and of a label."""
PORT, CURVE, GAP = 11.0, 44.0, 14.0
"""Between arrow ends at a box; room for a curve beside the labels; between boxes."""


def place(nodes: Sequence[Node], edges: Sequence[Edge]) -> Layout:
    """Place nodes and edges; edges must join neighbouring columns."""
    columns = [[n for n in nodes if n.column == c] for c in range(max((n.column for n in nodes), default=-1) + 1)]
    placed: dict[tuple[int, str], PlacedNode] = {}
    arrows: list[PlacedEdge] = []
    right = 0.0
    for number, column in enumerate(columns):
        gutter = [e for e in edges if e.column == number]
        width = _gutter_width(gutter) if number else 0.0
        lanes, boxes = _column(column, gutter, edges, placed, right - width)
        placed |= {(number, box.node.name): box for box in boxes}
        arrows += _arrows(lanes, placed, right - width, width)
        right = min((box.rect.x for box in boxes), default=right)
    return _from_origin(list(placed.values()), arrows)


def _gutter_width(edges: Sequence[Edge]) -> float:
    widest = max((text_width(line, LABEL) for e in edges for line in label_lines(e)), default=0.0)
    return 2 * CURVE + max(60.0, widest)


def label_lines(edge: Edge) -> tuple[str, ...]:
    """The label of an edge, its note in a line of its own below the arrow."""
    return (*fitted(edge.text, LABEL_TEXT, LABEL, 2), *([edge.note] if edge.note else []))


def _column(
    column: Sequence[Node],
    gutter: Sequence[Edge],
    edges: Sequence[Edge],
    placed: Mapping[tuple[int, str], PlacedNode],
    right: float,
) -> tuple[dict[Edge, float], list[PlacedNode]]:
    """The lanes of a gutter, and the boxes of the column that its edges start from, stacked around height 0."""
    lanes: dict[Edge, float] = {}
    boxes: list[PlacedNode] = []
    width = max(_box_width(node) for node in column)
    y = 0.0
    for node in _ordered(column, gutter, placed):
        heard = sum((e.column, e.target) == (node.column + 1, node.name) for e in edges)
        own = sorted((e for e in gutter if e.source == node.name), key=lambda e: _end(e, placed))
        height = max(BOX, max(heard, len(own)) * PORT + 12, ROW * (len(_name_lines(node)) + bool(node.note)) + 14)
        offsets, tall = _block(own, height + GAP)
        lanes |= {edge: y + tall / 2 + offset for edge, offset in zip(own, offsets, strict=True)}
        rect = Rect(right - width, y + (tall - height) / 2, width, height)
        boxes.append(PlacedNode(node, rect, _name_lines(node)))
        y += tall
    up = y / 2 - (sum(_end(e, placed) for e in gutter) / len(gutter) if gutter else 0.0)
    lanes = {edge: lane - up for edge, lane in lanes.items()}
    return lanes, [replace(b, rect=b.rect._replace(y=b.rect.y - up)) for b in boxes]


def _end(edge: Edge, placed: Mapping[tuple[int, str], PlacedNode]) -> float:
    return placed[edge.column - 1, edge.target].rect.middle


def _block(own: Sequence[Edge], least: float) -> tuple[list[float], float]:
    """The lanes of one box around its middle, and the height that they need with their labels."""
    tops, y = list[float](), 0.0
    for edge in own:
        tops.append(y)
        y += _lane_height(edge)
    lanes = [top + _above(edge) for top, edge in zip(tops, own, strict=True)]
    middle = sum(lanes) / len(lanes) if lanes else 0.0
    return [lane - middle for lane in lanes], max(least, 2 * middle, 2 * (y - middle))


def _above(edge: Edge) -> float:
    return ROW * len(fitted(edge.text, LABEL_TEXT, LABEL, 2)) + 8


def _ordered(
    column: Sequence[Node], gutter: Sequence[Edge], placed: Mapping[tuple[int, str], PlacedNode]
) -> list[Node]:
    """Boxes by the mean height of what they lead to, so that few arrows cross."""

    def height(node: Node) -> float:
        ends = [_end(e, placed) for e in gutter if e.source == node.name]
        return sum(ends) / len(ends) if ends else 0.0

    return sorted(column, key=height)


def _lane_height(edge: Edge) -> float:
    return ROW * len(label_lines(edge)) + 16


def _name_lines(node: Node) -> tuple[str, ...]:
    return fitted(node.text, BOX_TEXT, NAME, 2)


def _box_width(node: Node) -> float:
    lines = [*(1.08 * text_width(line, NAME) for line in _name_lines(node)), text_width(node.note, LABEL)]
    return max(72.0, *lines) + 24


def _arrows(
    lanes: Mapping[Edge, float], placed: Mapping[tuple[int, str], PlacedNode], left: float, width: float
) -> list[PlacedEdge]:
    starts = _ports(lanes, {e: placed[e.column, e.source].rect for e in lanes})
    ends = _ports(lanes, {e: placed[e.column - 1, e.target].rect for e in lanes})
    found = []
    for edge, lane in lanes.items():
        source, target = placed[edge.column, edge.source].rect, placed[edge.column - 1, edge.target].rect
        lines = label_lines(edge)
        label = Rect(left + CURVE, lane - _above(edge) + 4, width - 2 * CURVE, ROW * len(lines) + 8)
        start, end = (source.x + source.width, starts[edge]), (target.x, ends[edge])
        found.append(PlacedEdge(edge, start, end, lane, label, lines))
    return found


def _ports(lanes: Mapping[Edge, float], rects: Mapping[Edge, Rect]) -> dict[Edge, float]:
    """The heights at which arrows touch a box, in the order of their lanes."""
    heights: dict[Edge, float] = {}
    for rect in dict.fromkeys(rects.values()):
        own = sorted((e for e in lanes if rects[e] == rect), key=lambda e: lanes[e])
        step = min(2 * PORT, (rect.height - 12) / len(own))
        heights |= {e: rect.middle + (n - (len(own) - 1) / 2) * step for n, e in enumerate(own)}
    return heights


def _from_origin(nodes: Sequence[PlacedNode], edges: Sequence[PlacedEdge]) -> Layout:
    rects = [*(n.rect for n in nodes), *(e.label for e in edges)]
    if not rects:
        return Layout(0.0, 0.0, (), ())
    x, y = min(r.x for r in rects), min(r.y for r in rects)
    width = max(r.x + r.width for r in rects) - x
    height = max(r.y + r.height for r in rects) - y
    moved = tuple(replace(n, rect=_moved(n.rect, x, y)) for n in nodes)
    return Layout(width, height, moved, tuple(_moved_edge(e, x, y) for e in edges))


def _moved(rect: Rect, x: float, y: float) -> Rect:
    return rect._replace(x=rect.x - x, y=rect.y - y)


def _moved_edge(e: PlacedEdge, x: float, y: float) -> PlacedEdge:
    start, end = (e.start[0] - x, e.start[1] - y), (e.end[0] - x, e.end[1] - y)
    return replace(e, start=start, end=end, lane=e.lane - y, label=_moved(e.label, x, y))
