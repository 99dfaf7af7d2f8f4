"""What a meta graph means, as a self-contained SVG picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diffmg.core import MetaGraph
from diffmg.core.importance import PathImportance
from diffmg.core.text import printable
from diffmg.viz._base import DRAWINGS
from diffmg.viz.layers import place
from diffmg.viz.meaning import Arrow, Box, Meaning, Tower, meaning_of
from diffmg.viz.placed import Edge, Layout, Node, PlacedEdge
from diffmg.viz.svg_parts import MARGIN, arrow, box, document, paragraph, text
from diffmg.viz.theme import type_colours
from diffmg.viz.tips import Tip, tips_svg
from diffmg.viz.words import name_words, relation_words

LEAST_WIDTH = 420.0
PLAIN, THIN, WIDEST = 2.2, 1.2, 7.5
"""Widths of lines: without importances, and from no share to all of it."""
PAIR = 130.0
"""Room for the box where two towers meet."""


@DRAWINGS.add("svg")
def to_svg(metagraphs: Sequence[MetaGraph], importances: Sequence[PathImportance] = ()) -> str:
    """Node types as boxes, relations as arrows to the target, and a sentence below."""
    return meaning_svg(meaning_of(metagraphs, importances))


def meaning_svg(meaning: Meaning, *, edges: Mapping[str, int] | None = None, caption: bool = True) -> str:
    """The picture of a meaning; `edges`: numbers of edges by relation, as `str` writes it, told on hover."""
    layouts = [layout_of(tower) for tower in meaning.towers]
    reach = max(layout.width for layout in layouts)
    pair = PAIR if len(layouts) == 2 and all(layout.nodes for layout in layouts) else 0.0
    width = max(LEAST_WIDTH, reach + pair + 2 * MARGIN)
    pen = _Pen(type_colours(meaning.node_types), edges or {}, measured=meaning.measured)
    parts, y, targets, tips = list[str](), MARGIN, list[tuple[float, float]](), list[list[Tip]]()
    for tower, layout in zip(meaning.towers, layouts, strict=True):
        x = MARGIN + (width - 2 * MARGIN - pair - layout.width) * (1 if pair else 0.5)
        parts += [f'<g class="tower" transform="translate({x:.1f} {y:.1f})">', *pen.draw(tower, layout), "</g>"]
        tips.append([tip.moved(x, y) for tip in pen.tips(tower, layout)])
        targets += [(x + layout.width, y + n.rect.middle) for n in layout.nodes if n.node.column == 0]
        y += layout.height + (MARGIN if layout.nodes else 0)
    if pair:
        parts += _pair(targets, width - MARGIN)
    for kind, line in notes_of(meaning) if caption else ():
        drawn, y = paragraph(line, y, width - 2 * MARGIN, kind)
        parts += drawn
    parts += tips_svg(tips, width, y + MARGIN)
    title = "what is heard by " + " and ".join(printable(t.target) for t in meaning.towers)
    return document(width, y + MARGIN, title, meaning.sentence, parts)


def layout_of(tower: Tower) -> Layout:
    """Hops are columns, the target on the right."""
    nodes = [Node(b.hop, b.node_type, name_words(b.node_type), _box_note(b, tower)) for b in tower.boxes]
    edges = [
        Edge(a.hop, a.relation.source, a.relation.target, a.relation.name, relation_words(a.relation), _note(a))
        for a in tower.arrows
    ]
    return place(nodes, edges)


def _box_note(box: Box, tower: Tower) -> str:
    if box.hop:
        return ""
    return "is judged" if tower.own_share is None else f"own features {tower.own_share:.0%}"


def _note(arrow: Arrow) -> str:
    return "" if arrow.share is None else f"{arrow.share:.0%}"


def notes_of(meaning: Meaning) -> list[tuple[str, str]]:
    """The lines below the picture, each with its style."""
    lines = [("caption", meaning.sentence)]
    for tower in meaning.towers:
        if tower.more_arrows:
            lines.append(
                ("mute", f"Not drawn: {tower.more_arrows} more arrows on the way to {name_words(tower.target)}.")
            )
        if not tower.exact:
            lines.append(("mute", "Types at a hop are drawn once: not every chain of arrows is a meta path."))
    if meaning.measured:
        lines.append(
            ("mute", "Width and percent: how much of the validation score is lost without a path; all paths make 100%.")
        )
    return list(dict.fromkeys(lines))


@dataclass(frozen=True)
class _Pen:
    """Draws a placed tower."""

    colours: Mapping[str, str]
    edges: Mapping[str, int]
    measured: bool

    def draw(self, tower: Tower, layout: Layout) -> list[str]:
        """Arrows first, boxes above them."""
        if not layout.nodes:
            return []
        wires = self._wires(tower, layout)
        drawn = [arrow(p, self.colours[a.relation.source], self._width(a), *self._about(a)) for p, a in wires]
        for node in layout.nodes:
            name, hop = node.node.name, node.node.column
            data = {"type": printable(name), "hop": hop}
            drawn.append(box(node, self.colours[name], _of_box(node.node), data, strong=hop == 0))
        return drawn

    def tips(self, tower: Tower, layout: Layout) -> list[Tip]:
        """What each of the parts says, in the same order."""
        if not layout.nodes:
            return []
        arrows = [Tip(self._about(a)[0], p.label) for p, a in self._wires(tower, layout)]
        return [*arrows, *(Tip(_of_box(node.node), node.rect) for node in layout.nodes)]

    def _wires(self, tower: Tower, layout: Layout) -> list[tuple[PlacedEdge, Arrow]]:
        arrows = {(a.hop, a.relation.source, a.relation.target, a.relation.name): a for a in tower.arrows}
        return [(p, arrows[p.edge[:4]]) for p in layout.edges]

    def _width(self, a: Arrow) -> float:
        return PLAIN if a.share is None else THIN + (WIDEST - THIN) * a.share

    def _about(self, a: Arrow) -> tuple[str, dict[str, object]]:
        relation, count = a.relation, self.edges.get(str(a.relation))
        words = [printable(str(relation)), relation_words(relation)]
        words += [] if count is None else [f"{count} edges"]
        words += [] if a.share is None else [f"{a.share:.0%} of the importance"]
        ends = {"source": printable(relation.source), "target": printable(relation.target)}
        share = None if a.share is None else f"{a.share:.4f}"
        data: dict[str, object] = {
            "relation": printable(relation.name),
            **ends,
            "hop": a.hop,
            "edges": count,
            "importance": share,
        }
        return ": ".join([words[0], ", ".join(words[1:])]), data


def _of_box(node: Node) -> str:
    name = printable(node.name)
    return f"{name}: what is judged" if node.column == 0 else f"{name}, {_hops(node.column)} away"


def _hops(number: int) -> str:
    return "one hop" if number == 1 else f"{number} hops"


def _pair(targets: Sequence[tuple[float, float]], right: float) -> list[str]:
    """The box in which the two targets meet."""
    middle = sum(y for _, y in targets) / len(targets)
    left, wide, tall = right - 76, 76.0, 46.0
    parts = []
    for x, y in targets:
        end = middle + (-10 if y < middle else 10)
        parts.append(
            f'<path class="wire" stroke="var(--dm-mute)" stroke-width="1.6" d="M{x:.1f} {y:.1f}'
            f'C{x + 40:.1f} {y:.1f} {left - 40:.1f} {end:.1f} {left - 8:.1f} {end:.1f}"/>'
            f'<path d="M{left:.1f} {end:.1f}l-9 -4.5v9z" fill="var(--dm-mute)"/>'
        )
    rect = f'x="{left:.1f}" y="{middle - tall / 2:.1f}" width="{wide:g}" height="{tall:g}" rx="9"'
    parts.append(f'<g class="pair"><rect class="box" {rect} fill="var(--dm-mute)" stroke="var(--dm-mute)"/>')
    parts += [
        text("match", left + wide / 2, middle - 2, 14, "name"),
        text("of both", left + wide / 2, middle + 14, 12.5, "mute"),
    ]
    return [*parts, "</g>"]
