"""Drawings of meta graphs, one module per format and view."""

from collections.abc import Callable, Sequence

from diffmg.core import DiffmgError, MetaGraph, Registry, unknown
from diffmg.core.importance import PathImportance

Drawing = Callable[[Sequence[MetaGraph], Sequence[PathImportance]], str]
DRAWINGS: Registry[Drawing] = Registry("format", "diffmg.viz", group="diffmg.drawings")
"""What meta graphs mean: which node types are heard along which relations."""
STATES: Registry[Callable[[Sequence[MetaGraph]], str]] = Registry("format", "diffmg.viz", group="diffmg.state_drawings")
"""The technical view: states and links, also those that do nothing."""
VIEWS = ("meaning", "states")


def draw(metagraph: MetaGraph, form: str, view: str = "meaning") -> str:
    """Draw one meta graph in the format `text`, `dot`, `mermaid` or `svg`."""
    return draw_all([metagraph], form, view)


def draw_all(
    metagraphs: Sequence[MetaGraph], form: str, view: str = "meaning", importances: Sequence[PathImportance] = ()
) -> str:
    """Draw several meta graphs, such as the two towers of a recommendation, as one picture.

    `view`: what they mean, or their states. `importances` of their meta paths, where known, are shown in the former.
    """
    if view not in VIEWS:
        raise unknown("view", view, VIEWS)
    if not metagraphs:
        raise DiffmgError("one or more meta graphs must be given to draw, but got none")
    return DRAWINGS.get(form)(metagraphs, importances) if view == "meaning" else STATES.get(form)(metagraphs)
