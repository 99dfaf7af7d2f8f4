"""A network schema as a self-contained SVG picture: who sends to whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diffmg.core import Relation, Schema
from diffmg.core.text import printable
from diffmg.viz.layers import place
from diffmg.viz.placed import Edge, Layout, Node
from diffmg.viz.svg_parts import MARGIN, arrow, box, document, paragraph
from diffmg.viz.theme import type_colours
from diffmg.viz.tips import Tip, tips_svg
from diffmg.viz.words import REVERSE, name_words, relation_words

MOST_RELATIONS = 40


def schema_svg(
    schema: Schema, *, nodes: Mapping[str, int] | None = None, edges: Mapping[Relation, int] | None = None
) -> str:
    """Node types on both sides, each relation an arrow from its source to its target; reverse ones are not drawn."""
    drawn, hidden = _drawn(schema.relations)
    layout = schema_layout(drawn, nodes or {})
    colours = type_colours(schema.node_types)
    parts, tips = [f'<g class="tower" transform="translate({MARGIN} {MARGIN})">'], list[Tip]()
    for placed in layout.edges:
        relation = Relation(placed.edge.source, placed.edge.key, placed.edge.target)
        count = (edges or {}).get(relation)
        about = printable(str(relation)) + ("" if count is None else f", {count} edges")
        data = {"relation": printable(relation.name), "edges": count}
        parts.append(arrow(placed, colours[relation.source], 2.0, about, data))
        tips.append(Tip(about, placed.label).moved(MARGIN, MARGIN))
    parts += [
        box(n, colours[n.node.name], printable(n.node.name), {"type": printable(n.node.name)}) for n in layout.nodes
    ]
    tips += [Tip(printable(n.node.name), n.rect).moved(MARGIN, MARGIN) for n in layout.nodes]
    alone = [t for t in schema.node_types if not any(t in (r.source, r.target) for r in schema.relations)]
    notes = [*hidden, *([f"Without relations: {', '.join(map(name_words, alone))}."] if alone else [])]
    width, y = max(layout.width + 2 * MARGIN, 320.0), layout.height + 1.5 * MARGIN
    parts.append("</g>")
    for note in notes:
        lines, y = paragraph(note, y, width - 2 * MARGIN, "mute")
        parts += lines
    parts += tips_svg([tips], width, y + MARGIN)
    title = f"network of {len(schema.node_types)} node types and {len(schema.relations)} relations"
    return document(width, y + MARGIN, title, "; ".join(printable(str(r)) for r in drawn), parts)


def schema_layout(relations: Sequence[Relation], nodes: Mapping[str, int]) -> Layout:
    """Sources in the left column, targets in the right one."""
    columns = [dict.fromkeys(r.target for r in relations), dict.fromkeys(r.source for r in relations)]
    boxes = [Node(c, t, name_words(t), _count(nodes.get(t))) for c, types in enumerate(columns) for t in types]
    edges = [Edge(1, r.source, r.target, r.name, relation_words(r)) for r in relations]
    return place(boxes, edges)


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}".replace(",", " ")


def _drawn(relations: Sequence[Relation]) -> tuple[list[Relation], list[str]]:
    """The relations to draw, and what is said of the others."""
    known = set(relations)
    back = [r for r in relations if r.name.startswith(REVERSE) and _forward(r) in known]
    rest = [r for r in relations if r not in set(back)]
    notes = [f"And {len(back)} relations in reverse."] if back else []
    if len(rest) > MOST_RELATIONS:
        notes.append(f"And {len(rest) - MOST_RELATIONS} more relations.")
    return rest[:MOST_RELATIONS], notes


def _forward(relation: Relation) -> Relation:
    return Relation(relation.target, relation.name.removeprefix(REVERSE) or relation.name, relation.source)
