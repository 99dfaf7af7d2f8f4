"""Shared by all drawings: which operations are drawn, their colours and styles, and meta paths as text."""

import textwrap
from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from diffmg.core import EMPTY, Link, MetaGraph, Operation, Relation, compile_program
from diffmg.core.text import printable

MOST_PATHS = 12
"""The most meta paths that are listed."""
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#999933")
"""Colour-blind-safe colours (Okabe and Ito, then Tol), assigned to relations in order."""
DARK, GREY, DIM, FAINT = "#222222", "#6b6b6b", "#8c8c8c", "#cccccc"


class Use(Enum):
    """What an operation does for the target type at the last state."""

    SENDS = "sends"
    PASSES = "passes"
    DEAD = "dead"


class Mark(NamedTuple):
    """One drawn operation on one link."""

    link: Link
    operation: Operation
    use: Use

    @property
    def name(self) -> str:
        """The name of the operation."""
        return printable(self.operation.name if isinstance(self.operation, Relation) else str(self.operation))

    @property
    def note(self) -> str:
        """The text after the name: the types the relation joins, or that it only passes other types on."""
        if not isinstance(self.operation, Relation):
            return ""
        if self.use is Use.PASSES:
            return "(passes)"
        return printable(f"({self.operation.source} → {self.operation.target})")

    @property
    def label(self) -> str:
        """Such as `publishes (venue → paper)`."""
        return f"{self.name} {self.note}".rstrip()


Look = Callable[[Mark], tuple[str, str, str]]
"""Maps a mark to its line colour, its label colour, and `solid`, `dashed` or `dotted`."""


def marks_of(metagraph: MetaGraph) -> tuple[Mark, ...]:
    """Every operation except `EMPTY`, with its use in the compiled program."""
    steps = compile_program(metagraph).steps
    sends = {term.weight for step in steps for product in step.products for term in product.terms}
    passes = {term.weight for step in steps for term in step.passed}
    return tuple(
        Mark(link, operation, Use.SENDS if j in sends else Use.PASSES if j in passes else Use.DEAD)
        for j, (link, operation) in enumerate(metagraph.choices)
        if operation is not EMPTY
    )


def path_lines(metagraph: MetaGraph) -> list[str]:
    """The longest meta paths, one per line, such as `venue -publishes-> paper -written_by-> author`."""
    found = metagraph.meta_paths
    own = f"{metagraph.target} (own features)"
    paths = metagraph.longest_paths(MOST_PATHS)
    shown = [(p[0].source if p else own) + "".join(f" -{r.name}-> {r.target}" for r in p) for p in paths]
    count = found.count_longest()
    if count is None or count > len(paths):
        shown.append(f"… and {'many' if count is None else count - len(paths)} more")
    return [printable(line) for line in shown] or ["none: nothing reaches the target"]


def title(metagraph: MetaGraph) -> str:
    """The heading of a drawing."""
    states = "1 state" if metagraph.depth == 1 else f"{metagraph.depth} states"
    return printable(f"meta graph for '{metagraph.target}', {states}")


def looks(metagraphs: Sequence[MetaGraph]) -> Look:
    """The style of each operation: one colour per relation, shared by all meta graphs drawn together."""
    sending = (m.operation for metagraph in metagraphs for m in marks_of(metagraph) if m.use is Use.SENDS)
    colours = {relation: PALETTE[n % len(PALETTE)] for n, relation in enumerate(dict.fromkeys(sending))}

    def look(mark: Mark) -> tuple[str, str, str]:
        if mark.use is Use.SENDS:
            return colours[mark.operation], DARK, "solid"
        return (GREY, GREY, "dashed") if mark.use is Use.PASSES else (FAINT, DIM, "dotted")

    return look


def wrap(text: str, columns: int, indent: str) -> list[str]:
    """Wrap a long line, indenting the continuation lines."""
    return textwrap.wrap(
        text, columns, initial_indent="  ", subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
