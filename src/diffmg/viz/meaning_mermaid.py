"""What a meta graph means, as a Mermaid flowchart for Markdown pages."""

from __future__ import annotations

from collections.abc import Sequence

from diffmg.core import MetaGraph
from diffmg.core.importance import PathImportance
from diffmg.viz._base import DRAWINGS
from diffmg.viz.meaning import Arrow, meaning_of
from diffmg.viz.theme import plain_colours
from diffmg.viz.words import name_words, relation_words

_MERMAID = str.maketrans({c: f"#{ord(c)};" for c in '#&<>"`\\'})


@DRAWINGS.add("mermaid")
def to_mermaid(metagraphs: Sequence[MetaGraph], importances: Sequence[PathImportance] = ()) -> str:
    """One flowchart with a subgraph per meta graph: node types as boxes, relations as arrows to the target."""
    meaning = meaning_of(metagraphs, importances)
    colours, styles, lines = plain_colours(meaning.node_types), list[str](), ["flowchart LR"]
    links = 0
    for number, tower in enumerate(meaning.towers):
        names = {box: f"g{number}n{n}" for n, box in enumerate(tower.boxes)}
        lines += [f'  subgraph g{number}["{tower.sentence.translate(_MERMAID)}"]', "    direction LR"]
        for box, name in names.items():
            lines.append(f'    {name}["{name_words(box.node_type).translate(_MERMAID)}"]')
            styles.append(f"  style {name} stroke:{colours[box.node_type]},stroke-width:{2 if box.hop else 4}px")
        for arrow in tower.arrows:
            lines.append(f'    {names[arrow.source]} -->|"{_label(arrow)}"| {names[arrow.target]}')
            width = 2.0 if arrow.share is None else 1 + 7 * arrow.share
            styles.append(f"  linkStyle {links} stroke:{colours[arrow.relation.source]},stroke-width:{width:.1f}px")
            links += 1
        if tower.more_arrows:
            lines.append(f'    g{number}more["and {tower.more_arrows} more relations"]')
        lines.append("  end")
    return "\n".join([*lines, *styles])


def _label(arrow: Arrow) -> str:
    share = "" if arrow.share is None else f" · {arrow.share:.0%}"
    return f"{relation_words(arrow.relation)}{share}".translate(_MERMAID)
