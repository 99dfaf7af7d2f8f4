"""Shows the times, the windows and the edges of a timed network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.table import Table

from diffmg.cli.common import console, say

if TYPE_CHECKING:
    from diffmg.graph.network import HeteroGraph
    from diffmg.tables import Description
    from diffmg.tables.description import RelationTable
    from diffmg.tables.windows import WindowTable

MOST_LINES = 40


class Line(NamedTuple):
    """Edges between two node types by a key: of one relation, or of windows that differ only in how far they reach."""

    source: str
    target: str
    key: str
    reach: str
    edges: tuple[int, ...]


def times_of(description: Description, node_type: str) -> list[str]:
    """When the rows of a node type are known; nothing in a network without times."""
    if description.moments is None:
        return []
    if node_type == description.moments.target:
        return [description.moments.column]
    node = description.nodes[node_type]
    times = [*([node.time] if node.time else []), *(f"that of {name}" for name in node.time_of)]
    return [", ".join(times) or "always known"]


def show_windows(description: Description) -> None:
    """Print the moments of the predictions, and which earlier rows a row hears from."""
    moments = description.moments
    if moments is None:
        return
    windows = Table("from", "to", "key", "reaches back", title="windows", title_justify="left")
    for (source, target), several in _by_ends(description).items():
        windows.add_row(source[0], target[0], _key(source, target), ", ".join(_reach(w) for _, w in several))
    if description.windows:
        console.print(windows)
    known = "at once" if moments.horizon is None else f"{moments.horizon} later"
    say(f"moments: {moments.target}.{moments.column}; history: {moments.history}; labels known {known}")


def show_edges(description: Description, graph: HeteroGraph) -> None:
    """Print how many edges each relation of a timed network has, those with the most first."""
    if description.moments is None:
        return
    lines = sorted(edge_lines(description, graph), key=lambda line: -max(line.edges))
    shown = Table("from", "to", "key", "reaches back", "edges", title="edges forward in time", title_justify="left")
    for line in lines[:MOST_LINES]:
        shown.add_row(*line[:4], ", ".join(f"{count:,}" for count in line.edges))
    console.print(shown)
    if rest := lines[MOST_LINES:]:
        say(f"and {len(rest)} others with {sum(sum(line.edges) for line in rest):,} edges")


def edge_lines(description: Description, graph: HeteroGraph) -> Iterator[Line]:
    """A line for each relation that has edges, and one for all windows of a key."""
    counts = {(r.source, r.name, r.target): matrix.nnz for r, matrix in graph.adjacency.items()}
    for (source, target), several in _by_ends(description).items():
        found = [(w, counts.pop((source[0], w.name or name, target[0]), 0)) for name, w in several]
        if any(count for _, count in found):
            reach = ", ".join(_reach(w) for w, count in found if count)
            yield Line(source[0], target[0], _key(source, target), reach, tuple(count for _, count in found if count))
    keys = {r.name or name: _foreign(description, r) for name, r in description.relations.items()}
    for (source_type, name, target_type), count in counts.items():
        yield Line(source_type, target_type, keys.get(name.removeprefix("rev_"), name), "-", (count,))


def _by_ends(description: Description) -> dict[tuple[tuple[str, ...], tuple[str, ...]], list[tuple[str, WindowTable]]]:
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], list[tuple[str, WindowTable]]] = {}
    for name, window in description.windows.items():
        found.setdefault((window.source, window.target), []).append((name, window))
    return found


def _foreign(description: Description, relation: RelationTable) -> str:
    """The columns with the id of another row than the one they stand in."""
    own = description.nodes[relation.source[0]].table == relation.table
    return ", ".join((relation.target if own else relation.source)[1:])


def _key(source: Sequence[str], target: Sequence[str]) -> str:
    own, theirs = ", ".join(source[1:]), ", ".join(target[1:])
    return own if own == theirs else f"{own} = {theirs}"


def _reach(window: WindowTable) -> str:
    rows = [] if window.last is None else [f"{window.last} row{'s' * (window.last > 1)}"]
    return " in ".join([*rows, *([] if window.within is None else [window.within])])
