"""What a meta graph means, in the DOT language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from diffmg.core import MetaGraph
from diffmg.core.importance import PathImportance
from diffmg.viz._base import DRAWINGS
from diffmg.viz.meaning import Box, Tower, meaning_of
from diffmg.viz.theme import plain_colours
from diffmg.viz.words import name_words, relation_words

_DOT = str.maketrans({"&": "&amp;", "\\": "\\\\", '"': '\\"'})


@DRAWINGS.add("dot")
def to_dot(metagraphs: Sequence[MetaGraph], importances: Sequence[PathImportance] = ()) -> str:
    """One digraph with a cluster per meta graph: node types as boxes, relations as arrows to the target."""
    meaning = meaning_of(metagraphs, importances)
    colours = plain_colours(meaning.node_types)
    lines = [
        "digraph metagraph {",
        f'  graph [rankdir=LR, fontname="Helvetica", labelloc=b, label="{meaning.sentence.translate(_DOT)}"];',
        '  node [shape=box, style="rounded,filled", fillcolor=white, fontname="Helvetica", penwidth=1.6];',
        '  edge [fontname="Helvetica", fontsize=11];',
    ]
    for number, tower in enumerate(meaning.towers):
        lines += [f"  subgraph cluster_{number} {{", '    label=""; color="#c9ced6";']
        lines += [f"    {line}" for line in _lines(tower, number, colours)]
        lines.append("  }")
    return "\n".join([*lines, "}"])


def _lines(tower: Tower, number: int, colours: Mapping[str, str]) -> Iterator[str]:
    names = {box: f"g{number}n{n}" for n, box in enumerate(tower.boxes)}
    for box, name in names.items():
        width = "" if box.hop else ", penwidth=3"
        yield f'{name} [label="{_name(box)}", color="{colours[box.node_type]}"{width}];'
    for arrow in tower.arrows:
        share = "" if arrow.share is None else f" · {arrow.share:.0%}"
        thick = 1.6 if arrow.share is None else 1 + 7 * arrow.share
        label = f"{relation_words(arrow.relation)}{share}".translate(_DOT)
        ink = f'color="{colours[arrow.relation.source]}", penwidth={thick:.1f}'
        yield f'{names[arrow.source]} -> {names[arrow.target]} [label="{label}", {ink}];'
    if tower.more_arrows:
        yield f'g{number}more [shape=plaintext, style="", label="and {tower.more_arrows} more relations"];'


def _name(box: Box) -> str:
    return name_words(box.node_type).translate(_DOT)
