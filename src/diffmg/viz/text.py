"""The states of a meta graph as text for a terminal."""

from collections.abc import Iterator, Sequence

from diffmg.core import MetaGraph
from diffmg.viz._base import STATES
from diffmg.viz.marks import Mark, Use, marks_of, path_lines, title, wrap

COLUMNS = 80


@STATES.add("text")
def to_text(metagraphs: Sequence[MetaGraph]) -> str:
    """One block per meta graph: its states with their incoming operations, then its meta paths."""
    return "\n\n".join("\n".join(_text_lines(metagraph)) for metagraph in metagraphs)


def _text_lines(metagraph: MetaGraph) -> Iterator[str]:
    marks = marks_of(metagraph)
    yield title(metagraph)
    yield "  H0    the features of every type"
    for k in range(1, metagraph.depth + 1):
        yield from _state_lines(k, [m for m in marks if m.link.k == k and m.use is not Use.DEAD])
    dead = [f"H{m.link.i} ─▶ H{m.link.k} {m.label}" for m in marks if m.use is Use.DEAD]
    if dead:
        yield from wrap("not used: " + ", ".join(dead), COLUMNS, " " * 12)
    yield "meta paths:"
    for line in path_lines(metagraph):
        yield from wrap(line, COLUMNS, " " * 6)


def _state_lines(k: int, marks: Sequence[Mark]) -> Iterator[str]:
    if not marks:
        yield f"  H{k}    not used"
    for n, mark in enumerate(marks):
        head = f"H{k} ◀"
        joint = "─" if len(marks) == 1 else "┬" if n == 0 else "├" if n < len(marks) - 1 else "└"
        yield f"  {head if n == 0 else ' ' * len(head)}{joint}─ H{mark.link.i}  {mark.label}"
