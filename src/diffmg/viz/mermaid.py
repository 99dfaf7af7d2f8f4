"""The states of a meta graph as a Mermaid flowchart, for Markdown pages."""

from collections.abc import Sequence

from diffmg.core import MetaGraph
from diffmg.viz._base import STATES
from diffmg.viz.marks import looks, marks_of, path_lines, title

_MERMAID = str.maketrans({c: f"#{ord(c)};" for c in '#&<>"`\\'})


@STATES.add("mermaid")
def to_mermaid(metagraphs: Sequence[MetaGraph]) -> str:
    """One flowchart with a subgraph per meta graph."""
    look = looks(metagraphs)
    lines, styles = ["flowchart LR"], list[str]()
    for n, metagraph in enumerate(metagraphs):
        lines += [f'  subgraph g{n}["{title(metagraph).translate(_MERMAID)}"]', "    direction LR"]
        lines += [f'    g{n}H{k}(("H{k}"))' for k in range(metagraph.depth + 1)]
        for mark in marks_of(metagraph):
            colour, text, style = look(mark)
            arrow = "-->" if style == "solid" else "-.->"
            lines.append(f'    g{n}H{mark.link.i} {arrow}|"{mark.label.translate(_MERMAID)}"| g{n}H{mark.link.k}')
            styles.append(f"  linkStyle {len(styles)} stroke:{colour},color:{text}")
        caption = "<br/>".join(t.translate(_MERMAID) for t in ("meta paths:", *path_lines(metagraph)))
        lines += [f'    g{n}paths["{caption}"]', "  end", f"  style g{n}paths fill:none,stroke:none,text-align:left"]
    return "\n".join([*lines, *styles])
