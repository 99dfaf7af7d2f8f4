"""Boxes and arrows of a picture, before and after they have a place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Node(NamedTuple):
    """A box to place, in a column counted from the right."""

    column: int
    name: str
    text: str
    note: str = ""


class Edge(NamedTuple):
    """An arrow to place, from a column to the one on its right."""

    column: int
    source: str
    target: str
    key: str
    """Tells edges with the same ends apart."""
    text: str
    note: str = ""


class Rect(NamedTuple):
    """A rectangle by its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """The height of its centre."""
        return self.y + self.height / 2

    def overlaps(self, other: Rect) -> bool:
        """Whether the two share an area."""
        across = self.x < other.x + other.width and other.x < self.x + self.width
        return across and self.y < other.y + other.height and other.y < self.y + self.height


@dataclass(frozen=True)
class PlacedNode:
    """A box with its place and the lines of its name."""

    node: Node
    rect: Rect
    lines: tuple[str, ...]


@dataclass(frozen=True)
class PlacedEdge:
    """An arrow: from a point along a curve to its lane, under its label, and along another curve to its end."""

    edge: Edge
    start: tuple[float, float]
    end: tuple[float, float]
    lane: float
    label: Rect
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Layout:
    """Everything placed, from the origin on."""

    width: float
    height: float
    nodes: tuple[PlacedNode, ...]
    edges: tuple[PlacedEdge, ...]
