"""A recommendation task from the rows of a relation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from diffmg.core.errors import DiffmgError
from diffmg.tables.description import RecommendTable
from diffmg.tables.network import Edges, Network, numbers
from diffmg.tables.reading import column
from diffmg.tasks import Recommendation
from diffmg.tasks.labels import PARTS, split_numbers
from diffmg.tasks.ratings import Ratings, fresh_split

Split = Mapping[str, NDArray[Any]]
"""Rows (user, item): `observed`, and `pos_PART` and `neg_PART` for each part."""


def recommendation(task: RecommendTable, network: Network, table: pa.Table) -> tuple[Recommendation, Edges, list[str]]:
    """The task, the edges of its relation that stay in the network, and what was done."""
    if task.relation not in network.edges:
        raise DiffmgError(f"the relation of the task must have edges, but got none in {task.relation!r}")
    edges = network.edges[task.relation]
    stars = _stars(task, table)
    rated = ~np.isnan(stars[edges.rows])
    ratings, notes = edges.only(rated), []
    if not rated.all():
        notes.append(f"relation {task.relation}: {int((~rated).sum())} rows without a rating, left out")
    ends = edges.relation
    shape = (len(network.ids[ends.source]), len(network.ids[ends.target]))
    split = _split(task, ratings, stars, table, shape)
    code = ratings.index[0] * shape[1] + ratings.index[1]
    kept = ratings.only(np.isin(code, split["observed"] @ np.array([shape[1], 1])))
    built = Recommendation.build(
        ends.source,
        ends.target,
        shape,
        {part: split[f"pos_{part}"] for part in PARTS},
        {part: split[f"neg_{part}"] for part in PARTS},
        seen=split["observed"],
        exempt=tuple(name for given in task.exempt for name in (given, f"rev_{given}")),
        metric=task.metric,
        k=task.k,
    )
    return built, kept, notes


def _stars(task: RecommendTable, table: pa.Table) -> NDArray[np.float64]:
    """The rating of each row, NaN where there is none; without a column of them every row is liked."""
    if task.rating is None:
        return np.full(table.num_rows, np.inf)
    what = f"relation {task.relation!r}"
    return numbers(column(table, task.rating, what), f"ratings of {what}")


def _split(
    task: RecommendTable, edges: Edges, stars: NDArray[np.float64], table: pa.Table, shape: tuple[int, int]
) -> Split:
    pairs, liked = edges.index.T, stars[edges.rows] > task.liked
    if task.split is None:
        return fresh_split(Ratings.build(pairs, stars[edges.rows], shape), task.seed, task.liked)
    what = f"relation {task.relation!r}"
    parts = split_numbers(column(table, task.split, what), f"the split column {task.split!r} of {what}")
    rest = np.ones(len(pairs), bool)
    split: dict[str, NDArray[Any]] = {}
    for part, rows in parts.items():
        there = np.isin(edges.rows, rows)
        split |= {f"pos_{part}": pairs[there & liked], f"neg_{part}": pairs[there & ~liked]}
        rest &= ~there
    return split | {"observed": pairs[rest & liked]}
