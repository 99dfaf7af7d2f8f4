"""Explaining the answers of a model, by the user's ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffmg.core import DiffmgError
from diffmg.core.importance import Explanation, PathImportance
from diffmg.explain import explanations, path_importances

if TYPE_CHECKING:
    from diffmg.runs.model import Model


def explain(model: Model, ids: ArrayLike, k_sources: int = 5) -> list[Explanation]:
    """One explanation per id; of a task on pairs, two per row (user, item): of the user's tower, then of the item's."""
    if k_sources < 0:
        raise DiffmgError(f"`k_sources >= 0` must hold, but got k_sources={k_sources}")
    numbers = _numbers(model, ids)
    return explanations(model.recipe.method.make(), model.network, model.problem, numbers, k_sources)


def importances_of(model: Model) -> tuple[PathImportance, ...]:
    """What each meta path of a model is worth: the drop of its validation score without it, most first."""
    return path_importances(model.recipe.method.make(), model.network, model.problem)


def _numbers(model: Model, ids: ArrayLike) -> list[tuple[int, ...]]:
    """Node numbers of each answer, one per target type."""
    graph, types = model.problem.graph, model.problem.task.target_types
    columns = _pairs(ids) if len(types) == 2 else (np.atleast_1d(np.asarray(ids)),)
    found = [graph.index_of(t, column).tolist() for t, column in zip(types, columns, strict=True)]
    return list(zip(*found, strict=True))


def _pairs(ids: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Users and items of rows (user, item), or of one pair; their ids may be of different kinds."""
    rows = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    if len(rows) == 2 and not any(isinstance(row, list | tuple | np.ndarray) for row in rows):
        rows = [rows]
    bad = next((row for row in rows if isinstance(row, str) or not isinstance(row, Sequence) or len(row) != 2), None)
    if not rows or bad is not None:
        raise DiffmgError(f"a task on pairs explains rows (user, item), but got {bad if rows else 'none'!r}")
    users, items = zip(*rows, strict=True)
    return np.asarray(users), np.asarray(items)
