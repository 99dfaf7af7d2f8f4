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
from diffmg.leaks.labels import FOLDS, Labels, Strength
from diffmg.leaks.paths import Path, paths_to

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
        if len(some.values) < FOLDS:
            continue
        yield [Signal(f"the number of nodes linked by {path}", some.ordered(path.counts), "", "", "", path.relations)]
        if path.source == target:
            yield [_voted(path, labels, graph.num_nodes[target])]
            continue
        yield [_linked(path, some), *_weight(path, some)]
        columns = known.setdefault(path.source, columns_of(graph, path.source))
        yield [_best(f"{c} over {path}", found, c, path) for c in columns if (found := list(_along(c, path, some)))]


def _best(what: str, found: list[tuple[str, Strength]], column: Column, path: Path | None = None) -> Signal:
    how, strength = max(found, key=lambda pair: pair[1].value)
    relations = () if path is None else path.relations
    return Signal(f"{what}{how}", strength, str(column), column.node_type, column.name, relations)


def _own(column: Column, labels: Labels) -> Iterator[tuple[str, Strength]]:
    if column.wide:
        yield _wide(sp.csr_matrix(column.features)[labels.nodes], labels)
        return
    for strength in _values(np.asarray(column.features)[labels.nodes].astype(np.float64), labels):
        yield "", strength


def _values(rows: NDArray[np.float64], labels: Labels) -> Iterator[Strength]:
    """All features of a column together, and each alone."""
    if rows.shape[1] > 1:
        yield labels.coded(_codes(rows))
    for values in rows.T:
        yield labels.ordered(values)


def _along(column: Column, path: Path, labels: Labels) -> Iterator[tuple[str, Strength]]:
    """The values of one linked node, and the largest of all."""
    drawn = path.drawn()
    if column.wide:
        rows = sp.csr_matrix(column.features)[np.maximum(drawn, 0)]
        yield _wide(sp.diags((drawn >= 0).astype(np.float32)) @ rows, labels)
        return
    values = np.asarray(column.features)
    rows = np.where((drawn >= 0)[:, None], values[drawn], np.nan).astype(np.float64)
    for strength in _values(rows, labels):
        yield " (of one linked node)", strength
    for value in path.largest(values[:, :MOST_FEATURES]).T:
        yield " (largest of the linked nodes)", labels.ordered(value)


def _linked(path: Path, labels: Labels) -> Signal:
    codes = np.unique(path.drawn(), return_inverse=True)[1].ravel()
    what = f"which {path.source} is linked by {path}"
    return Signal(what, labels.coded(codes), "", path.source, "", path.relations)


def _weight(path: Path, labels: Labels) -> Iterator[Signal]:
    if path.weights is None:
        return
    links = sp.csr_matrix((path.weights, path.links.indices, path.links.indptr), path.links.shape)
    drawn = path.drawn()
    one = np.asarray(links[np.arange(len(drawn)), np.maximum(drawn, 0)], np.float64).ravel()
    yield Signal(f"the weight of {path}", labels.ordered(np.where(drawn >= 0, one, np.nan)), "", "", "", path.relations)


def _voted(path: Path, labels: Labels, count: int) -> Signal:
    """The label of one neighbour of the same type, where it is known."""
    place = np.full(count, -1, np.int64)
    place[labels.nodes] = np.arange(len(labels.nodes))
    links = path.links.tocoo()
    kept = (place[links.col] >= 0) & (place[links.col] != links.row)
    shape = path.links.shape
    known = Path(path.relations, sp.csr_matrix((links.data[kept], (links.row[kept], links.col[kept])), shape)).drawn()
    answers = np.where((known >= 0)[:, None], labels.marks[place[known]], labels.marks.mean(axis=0))[: shape[0]]
    strength = labels.first(shape[0]).judged(answers)
    return Signal(f"the label of one linked by {path}", strength, "", path.source, "", path.relations)


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
