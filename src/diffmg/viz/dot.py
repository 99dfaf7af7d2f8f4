"""The states of a meta graph in the DOT language of Graphviz."""

from collections.abc import Sequence

from diffmg.core import MetaGraph
from diffmg.viz._base import STATES
from diffmg.viz.marks import looks, marks_of, path_lines, title

_DOT = str.maketrans({"&": "&amp;", "\\": "\\\\", '"': '\\"'})


@STATES.add("dot")
def to_dot(metagraphs: Sequence[MetaGraph]) -> str:
    """One digraph with a cluster per meta graph."""
    look = looks(metagraphs)
    lines = [
        "digraph metagraph {",
        '  graph [rankdir=LR, fontname="Helvetica", labeljust=l, color="#cccccc"];',
        '  node [shape=circle, fontname="Helvetica"];',
        '  edge [fontname="Helvetica", fontsize=11];',
    ]
    for n, metagraph in enumerate(metagraphs):
        caption = "".join(t.translate(_DOT) + r"\l" for t in (title(metagraph), "meta paths:", *path_lines(metagraph)))
        lines += [f"  subgraph cluster_{n} {{", f'    label="{caption}";']
        lines += [f'    g{n}H{k} [label="H{k}"];' for k in range(metagraph.depth + 1)]
        for mark in marks_of(metagraph):
            colour, text, style = look(mark)
            ends = f"g{n}H{mark.link.i} -> g{n}H{mark.link.k}"
            ink = f'color="{colour}", fontcolor="{text}", style={style}'
            lines.append(f'    {ends} [label="{mark.label.translate(_DOT)}", {ink}];')
        lines.append("  }")
    return "\n".join([*lines, "}"])
