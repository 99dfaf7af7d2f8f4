"""Drawings of meta graphs, one module per format."""

from collections.abc import Callable, Sequence

from diffmg.core import DiffmgError, MetaGraph, Registry

Drawing = Callable[[Sequence[MetaGraph]], str]
DRAWINGS: Registry[Drawing] = Registry("format", "diffmg.viz", group="diffmg.drawings")


def draw(metagraph: MetaGraph, form: str) -> str:
    """Draw one meta graph in the format `text`, `dot`, `mermaid` or `svg`."""
    return draw_all([metagraph], form)


def draw_all(metagraphs: Sequence[MetaGraph], form: str) -> str:
    """Draw several meta graphs, such as the two towers of a recommendation, as one picture."""
    drawing = DRAWINGS.get(form)
    if not metagraphs:
        raise DiffmgError("one or more meta graphs must be given to draw, but got none")
    return drawing(metagraphs)
