"""Drawings of meta graphs for people. One file per form."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from diffmg.core.errors import DiffmgError, unknown
from diffmg.core.metagraph import MetaGraph
from diffmg.viz.dot import to_dot
from diffmg.viz.mermaid import to_mermaid
from diffmg.viz.svg import to_svg
from diffmg.viz.text import to_text

FORMS: dict[str, Callable[[Sequence[MetaGraph]], str]] = {
    "text": to_text,
    "dot": to_dot,
    "mermaid": to_mermaid,
    "svg": to_svg,
}


def draw(metagraph: MetaGraph, form: str) -> str:
    """Draw one meta graph in the form `text`, `dot`, `mermaid` or `svg`."""
    return draw_all([metagraph], form)


def draw_all(metagraphs: Sequence[MetaGraph], form: str) -> str:
    """Draw several meta graphs, such as the two towers of a recommendation, into one picture."""
    if form not in FORMS:
        raise unknown("format", form, FORMS)
    if not metagraphs:
        raise DiffmgError("one or more meta graphs must be given to draw, but got none")
    return FORMS[form](metagraphs)
