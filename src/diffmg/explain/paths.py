"""The meta paths of a meta graph, shortest first, as long as there are not too many."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from diffmg.core import EMPTY, MetaGraph, MetaPath, Relation


def paths_by_length(metagraph: MetaGraph, read: Collection[int]) -> Iterator[list[MetaPath]]:
    """All meta paths that reach the target in one of the states that are `read`: of length 0, of length 1, ..."""
    live = _live(metagraph)
    level: dict[MetaPath, set[int]] = {(): _reachable(metagraph, live & {*read}, live)}
    while level:
        yield sorted(path for path, states in level.items() if 0 in states)
        longer: dict[MetaPath, set[int]] = {}
        for path, states in level.items():
            node_type = path[0].source if path else metagraph.target
            for relation, i in _arrivals(metagraph, states, node_type):
                if i in live:
                    longer.setdefault((relation, *path), set()).add(i)
        level = {path: _reachable(metagraph, states, live) for path, states in longer.items()}


def _live(metagraph: MetaGraph) -> set[int]:
    """States that something of state 0 reaches."""
    live = {0}
    for k in range(1, metagraph.depth + 1):
        if any(operation is not EMPTY for i in live for operation in metagraph[k, i]):
            live.add(k)
    return live


def _reachable(metagraph: MetaGraph, states: set[int], live: set[int]) -> set[int]:
    """Going back from these states along links on which rows pass or are kept."""
    found = set(states)
    for k in range(metagraph.depth, 0, -1):
        if k in found:
            found |= {i for i in range(k) if i in live and set(metagraph[k, i]) != {EMPTY}}
    return found


def _arrivals(metagraph: MetaGraph, states: set[int], node_type: str) -> Iterator[tuple[Relation, int]]:
    """Relations into a type in these states, with the state that their messages come from."""
    for k in sorted(states):
        for i in range(k):
            for operation in metagraph[k, i]:
                if isinstance(operation, Relation) and operation.target == node_type:
                    yield operation, i
