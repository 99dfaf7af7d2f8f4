"""What a meta graph means, as a tree in a narrow SVG picture: for phones, and for deep meta graphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape

from diffmg.core.text import printable
from diffmg.viz.layers import LABEL, NAME, ROW
from diffmg.viz.meaning import Meaning, Tower
from diffmg.viz.measure import fitted, in_a_line, text_width
from diffmg.viz.outline import Row, rows_of
from diffmg.viz.placed import Rect
from diffmg.viz.svg_parts import attributes, document, text
from diffmg.viz.theme import type_colours
from diffmg.viz.tips import Tip, tips_svg
from diffmg.viz.words import name_words, relation_words

WIDTH, EDGE, INDENT, CHIP = 320.0, 6.0, 22.0, 26.0
"""The width of the picture, its margin, how far each level is moved in, and the height of a box."""


@dataclass(frozen=True)
class PlacedRow:
    """A row of the tree with its box and the lines of its label below."""

    row: Row
    chip: Rect
    name: str
    label: Rect
    lines: tuple[str, ...]


def outline_svg(meaning: Meaning) -> str:
    """One tree per tower: below a box what it hears, each box one meta path."""
    colours, parts, tips, y = type_colours(meaning.node_types), list[str](), list[list[Tip]](), EDGE
    for tower in meaning.towers:
        rows = place_rows(tower, y)
        parts += _drawn(rows, tower, colours)
        tips.append([Tip(_about(row, tower), row.chip) for row in rows])
        y = max([y, *(r.label.y + r.label.height for r in rows)]) + 8
        more = "many" if tower.more_paths is None else tower.more_paths
        if more:
            parts.append(text(f"and {more} more meta paths", EDGE, y + 6, LABEL, "mute", "start"))
            y += 20
    parts += tips_svg(tips, WIDTH, y + EDGE)
    return document(WIDTH, y + EDGE, "what is heard, as a tree", meaning.sentence, parts)


def place_rows(tower: Tower, y: float = 0.0) -> list[PlacedRow]:
    """The rows of a tree below each other; names and labels fit the width."""
    placed = []
    for row in rows_of(tower):
        x = EDGE + min(INDENT * len(row.path), WIDTH / 2)
        name = in_a_line(name_words(row.path[0].source if row.path else tower.target), (WIDTH - x - 26) / 1.08, NAME)
        lines = fitted(_label(row), WIDTH - x - EDGE - 16, LABEL, 3)
        chip = Rect(x, y, min(1.08 * text_width(name, NAME) + 20, WIDTH - x - EDGE), CHIP)
        label = Rect(x, y + CHIP, WIDTH - x - EDGE, ROW * len(lines) + 6)
        placed.append(PlacedRow(row, chip, name, label, lines))
        y = label.y + label.height + 6
    return placed


def _label(row: Row) -> str:
    words = relation_words(row.path[0]) if row.path else "own features"
    return words if row.share is None else f"{words} · {row.share:.0%}"


def _drawn(rows: list[PlacedRow], tower: Tower, colours: Mapping[str, str]) -> list[str]:
    chips = {placed.row.path: placed.chip for placed in rows}
    stems = [_stem(p, chips[p.row.path[1:]], _colour(p, tower, colours)) for p in rows if p.row.path]
    boxes = [_box(p, tower, _colour(p, tower, colours)) for p in rows]
    return [*stems, '<g class="tower">', *boxes, "</g>"]


def _colour(placed: PlacedRow, tower: Tower, colours: Mapping[str, str]) -> str:
    node_type = placed.row.path[0].source if placed.row.path else tower.target
    return colours.get(node_type, "var(--dm-mute)")


def _stem(placed: PlacedRow, parent: Rect, colour: str) -> str:
    """From a box to the left and up into the box that hears it."""
    x, top, y = parent.x + 9, parent.y + parent.height, placed.chip.middle
    width = 2.0 if placed.row.share is None else 1.2 + 6 * placed.row.share
    return (
        f'<path class="wire" d="M{x:.1f} {top + 6:.1f}V{y:.1f}" stroke="var(--dm-mute)" stroke-width="1.4"/>'
        f'<path class="wire" d="M{x:.1f} {y:.1f}H{placed.chip.x:.1f}" stroke="{colour}" stroke-width="{width:.1f}"/>'
        f'<path d="M{x:.1f} {top:.1f}l-4.5 8h9z" fill="var(--dm-mute)"/>'
    )


def _about(placed: PlacedRow, tower: Tower) -> str:
    path = placed.row.path
    return printable(str(path[0])) if path else f"{printable(tower.target)}: what is judged"


def _box(placed: PlacedRow, tower: Tower, colour: str) -> str:
    row, chip = placed.row, placed.chip
    relation = row.path[0] if row.path else None
    data = {"relation": printable(relation.name) if relation else None, "hop": len(row.path), "importance": row.share}
    shape = f'x="{chip.x:.1f}" y="{chip.y:.1f}" width="{chip.width:.1f}" height="{chip.height:.1f}" rx="7"'
    lines = [
        text(line, placed.label.x + 16, placed.label.y + 14 + ROW * n, LABEL, "mute", "start")
        for n, line in enumerate(placed.lines)
    ]
    return "".join(
        [
            f'<g class="type" tabindex="0"{attributes(data)}><title>{escape(_about(placed, tower))}</title>',
            f'<rect class="box" {shape} fill="{colour}" stroke="{colour}"/>',
            text(placed.name, chip.x + 10, chip.y + 18, NAME, "name", "start"),
            *lines,
            "</g>",
        ]
    )
