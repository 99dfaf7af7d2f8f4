"""Everything that may tell a label alone, with how well it does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from diffmg.core import Relation
from diffmg.graph.network import HeteroGraph
from diffmg.leaks.columns import Column, columns_of
from diffmg.leaks.labels import Labels, Strength
from diffmg.leaks.paths import Path, paths_to

FEWEST, LEAST = 30, 0.1
"""Labels that a signal must be known for, in number and as a share."""
MOST_FEATURES = 8
"""Features of a column whose largest value along a path is looked at; of a category, its commonest values."""


@dataclass(frozen=True)
class Signal:
    """One thing that may tell the label, and what it tells."""

    what: str
    """In words."""
    strength: Strength
    column: str = ""
    """`TYPE.COLUMN`, if it is one."""
    node_type: str = ""
    """The type of the column, or whose nodes tell."""
    name: str = ""
    """The name of the column."""
    relations: tuple[Relation, ...] = ()
    """How it is reached."""


def signals_of(graph: HeteroGraph, target: str, labels: Labels) -> Iterator[list[Signal]]:
    """The signals of the target's own columns, then those of each path, in lists of one origin."""
    for column in columns_of(graph, target):
        yield [_best(f"{column}", list(_own(column, labels)), column)]
    known: dict[str, list[Column]] = {}
    for path in paths_to(graph, target, labels):
        some = labels.first(path.links.shape[0])
        if len(some.values) < FEWEST:
            continue
        yield [Signal(f"the number of nodes linked by {path}", some.ordered(path.counts), "", "", "", path.relations)]
        if path.source == target:
            yield _voted(path, some, graph.num_nodes[target])
            continue
        linked = path.counts > 0
        if not _enough(linked):
            continue
        path, some = path.rows(linked), some.where(linked)
        yield [_linked(path, some), *_weight(path, some)]
        columns = known.setdefault(path.source, columns_of(graph, path.source))
        yield [_best(f"{c} over {path}", list(_along(c, path, some)), c, path) for c in columns]


def _enough(chosen: NDArray[np.bool_]) -> bool:
    """Whether so many labels are worth a look of their own."""
    return int(chosen.sum()) >= max(FEWEST, LEAST * len(chosen))


def _best(what: str, found: list[tuple[str, Strength]], column: Column, path: Path | None = None) -> Signal:
    how, strength = max(found, key=lambda pair: pair[1].value)
    relations = () if path is None else path.relations
    return Signal(f"{what}{how}", strength, str(column), column.node_type, column.name, relations)


def _own(column: Column, labels: Labels) -> Iterator[tuple[str, Strength]]:
    if column.wide:
        yield _wide(sp.csr_matrix(column.features)[labels.nodes], labels)
        return
    yield from _values(column, labels.nodes, labels)


def _values(column: Column, nodes: NDArray[np.int64], labels: Labels) -> Iterator[tuple[str, Strength]]:
    """All features of a column together, each alone, and where they are known."""
    rows = np.asarray(column.features)[nodes].astype(np.float64)
    if rows.shape[1] > 1:
        yield "", labels.coded(_codes(rows))
    for values in rows.T:
        yield "", labels.ordered(values)
    known = rows[:, -1] == 0
    if column.gaps and rows.shape[1] > 1 and _enough(known):
        some = labels.where(known)
        yield " (where it is known)", max(some.coded(_codes(rows[known])), some.ordered(rows[known, 0]))


def _along(column: Column, path: Path, labels: Labels) -> Iterator[tuple[str, Strength]]:
    """The values of one linked node, and the largest of all."""
    drawn = path.drawn()
    if column.wide:
        yield _wide(sp.csr_matrix(column.features)[drawn], labels)
        return
    for how, strength in _values(column, drawn, labels):
        yield f"{how} (of one linked node)", strength
    for value in path.largest(np.asarray(column.features)[:, :MOST_FEATURES]).T:
        yield " (largest of the linked nodes)", labels.ordered(value)


def _linked(path: Path, labels: Labels) -> Signal:
    codes = np.unique(path.drawn(), return_inverse=True)[1].ravel()
    what = f"which {path.source} is linked by {path}"
    return Signal(what, labels.coded(codes), "", path.source, "", path.relations)


def _weight(path: Path, labels: Labels) -> Iterator[Signal]:
    if path.weights is not None:
        one = path.weights[path.places()]
        yield Signal(f"the weight of {path}", labels.ordered(one), "", "", "", path.relations)


def _voted(path: Path, labels: Labels, count: int) -> list[Signal]:
    """The label of one neighbour of the same type, where it is known."""
    place = np.full(count, -1, np.int64)
    place[labels.nodes] = np.arange(len(labels.nodes))
    links = path.links.tocoo()
    kept = (place[links.col] >= 0) & (place[links.col] != links.row)
    shape = path.links.shape
    known = Path(path.relations, sp.csr_matrix((links.data[kept], (links.row[kept], links.col[kept])), shape))
    linked = known.counts > 0
    if not _enough(linked):
        return []
    answers = labels.marks[place[known.rows(linked).drawn()]]
    strength = labels.where(linked).judged(answers)
    return [Signal(f"the label of one linked by {path}", strength, "", path.source, "", path.relations)]


def _wide(rows: sp.csr_matrix, labels: Labels) -> tuple[str, Strength]:
    """The best of many features, by whether each is there: chosen on all rows, then judged as any other."""
    there = sp.csc_matrix(rows)
    there.data[:] = 1
    present, marks = np.diff(there.indptr)[:, None], labels.marks
    sums = np.asarray(there.T @ marks)
    if labels.kind == "class":
        merit = sums.max(axis=1) + (marks.sum(axis=0) - sums).max(axis=1)
    else:
        expected = present * marks.mean()
        merit = ((sums - expected) ** 2 / np.maximum(present * (len(marks) - present), 1)).ravel()
    best = int(merit.argmax())
    return f" (feature {best} of {rows.shape[1]})", labels.coded(there[:, [best]].toarray().ravel().astype(np.int64))


def _codes(rows: NDArray[np.float64]) -> NDArray[np.int64]:
    """A number for each different row; rows with missing values are alike."""
    mixed = rows @ np.random.default_rng(0).standard_normal(rows.shape[1])
    return np.unique(np.round(mixed, 9), return_inverse=True)[1].ravel()
