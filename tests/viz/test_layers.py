"""Where boxes and labels are: nothing overlaps, arrows touch their boxes."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.viz.layers import place
from diffmg.viz.placed import Edge, Layout, Node

names = st.text(min_size=1, max_size=60)


@st.composite
def pictures(draw: st.DrawFn) -> tuple[list[Node], list[Edge]]:
    """Columns of boxes; each box but the first leads to some of the column on its right."""
    sizes = [1, *draw(st.lists(st.integers(1, 5), max_size=4))]
    nodes = [
        Node(c, f"{c}.{n}", draw(names), draw(st.sampled_from(["", "9%"])))
        for c, k in enumerate(sizes)
        for n in range(k)
    ]
    edges = []
    for node in nodes:
        right = [other for other in nodes if other.column == node.column - 1]
        ends = draw(st.lists(st.sampled_from(right), min_size=1, max_size=4)) if right else []
        edges += [Edge(node.column, node.name, e.name, f"{n}", draw(names), "1%") for n, e in enumerate(ends)]
    return nodes, edges


def check(layout: Layout) -> None:
    boxes, labels = [n.rect for n in layout.nodes], [e.label for e in layout.edges]
    for one, other in combinations([*boxes, *labels], 2):
        assert not one.overlaps(other)
    for rect in [*boxes, *labels]:
        assert rect.x >= -1e-6
        assert rect.y >= -1e-6
        assert rect.x + rect.width <= layout.width + 1e-6
        assert rect.y + rect.height <= layout.height + 1e-6
    places = {(n.node.column, n.node.name): n.rect for n in layout.nodes}
    for edge in layout.edges:
        source, target = places[edge.edge.column, edge.edge.source], places[edge.edge.column - 1, edge.edge.target]
        assert edge.start[0] == pytest.approx(source.x + source.width)
        assert edge.end[0] == pytest.approx(target.x)
        assert source.y <= edge.start[1] <= source.y + source.height
        assert target.y <= edge.end[1] <= target.y + target.height
        assert edge.start[0] < edge.label.x < edge.label.x + edge.label.width < edge.end[0]
    for one, other in combinations(layout.edges, 2):
        if one.edge.column == other.edge.column:
            assert one.lane != other.lane
            assert not other.label.y < one.lane < other.label.y + other.label.height


@given(pictures())
def test_nothing_overlaps(picture: tuple[list[Node], list[Edge]]) -> None:
    layout = place(*picture)
    assert (len(layout.nodes), len(layout.edges)) == (len(picture[0]), len(set(picture[1])))
    check(layout)


def test_nothing_to_place() -> None:
    assert place([], []) == Layout(0.0, 0.0, (), ())
    (alone,) = place([Node(0, "a", "a")], []).nodes
    assert (alone.rect.x, alone.rect.y) == (0.0, 0.0)
