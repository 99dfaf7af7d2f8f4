"""Growing boosted trees with scikit-learn or LightGBM."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from diffmg.core import DiffmgError
from diffmg.methods.baselines._labels import TrainingLabels
from diffmg.methods.baselines._trees import Tree, Trees, tree_from_lightgbm, tree_from_sklearn

Library = Literal["sklearn", "lightgbm"]
Table: TypeAlias = NDArray[np.float32]
Grown: TypeAlias = tuple[list[tuple[int, Tree]], NDArray[np.float64], NDArray[np.float64]]
"""Trees with the score each adds to, the scores before any tree, and the library's own scores of the rows."""
SCOUTED = 4096
"""Most rows that scouting trees are grown on."""
SCOUTS = 20
"""Scouting trees per class, or per number."""
LEAVES = 5, 20
"""Fewest rows of a leaf, where there are few rows and where there are many, as the libraries have it."""
LEAF = 0.1
"""Share of all rows that a leaf has at least, between the two: few rows could not be split otherwise."""


@dataclass(frozen=True)
class Growth:
    """How trees are grown."""

    rounds: int
    rate: float
    leaves: int
    penalty: float
    asked: int
    """Columns that trees may ask for; of more, those that scouting trees ask for are taken."""


@dataclass(frozen=True)
class Wanted:
    """What one model is to predict on each row."""

    values: NDArray[Any]
    """Class numbers, or numbers."""
    weights: NDArray[np.float64] | None
    """How much each row counts; None if all count the same."""
    loss: str
    """That of numbers; empty for classes."""


def grow(x: Table, labels: TrainingLabels, library: Library, growth: Growth, seed: int) -> Trees:
    """Trees on the rows of training nodes, checked against the library's own scores of these rows."""
    x = _filled(x)
    trees: list[tuple[int, Tree]] = []
    start = labels.constants()
    expected = np.tile(start, (len(x), 1))
    for values, columns in labels.models():
        wanted = Wanted(values, labels.node_weights(columns), labels.loss)
        asked = asked_for(x, wanted, growth.asked, seed)
        grown, base, scores = _LIBRARIES[library](np.ascontiguousarray(x[:, asked]), wanted, growth, seed)
        named = [(output, tree._replace(feature=asked[tree.feature.astype(int)])) for output, tree in grown]
        trees += [(int(columns[output]), tree) for output, tree in named]
        start[columns], expected[:, columns] = base, scores
    joined = Trees.join(trees, start.tolist())
    worst = float((joined.scores(torch.from_numpy(x)) - torch.from_numpy(expected)).abs().max())
    if not worst < 1e-6:
        raise DiffmgError(
            f"trees must score as the library that grew them does, but got a difference of {worst:.2g} from {library} "
            f"{import_module(library).__version__}; its trees are stored differently: use another version"
        )
    return joined


def asked_for(x: Table, wanted: Wanted, most: int, seed: int) -> NDArray[np.int64]:
    """All columns, if there are no more than `most`; else as many at most, where a few quick trees gain most.

    Windows over dated rows and long paths make thousands of columns, and every tree looks through all of them.
    """
    if x.shape[1] <= most:
        return np.arange(x.shape[1])
    rows = np.random.default_rng(seed).permutation(len(x))[:SCOUTED]
    if len(np.unique(wanted.values[rows])) < 2:  # the rows of a rare class are among the others
        rows = np.arange(len(x))
    weights = None if wanted.weights is None else wanted.weights[rows]
    model = _sklearn_model(wanted.loss, Growth(SCOUTS, 0.3, 8, 0.0, most), len(rows), seed)
    model.fit(_filled(x[rows]), wanted.values[rows], sample_weight=weights)
    gains = np.zeros(x.shape[1])
    for tree in chain.from_iterable(model._predictors):
        splits = tree.nodes[tree.nodes["is_leaf"] == 0]
        np.add.at(gains, splits["feature_idx"], splits["gain"])
    found = np.argsort(-gains, kind="stable")[: min(most, max(1, np.count_nonzero(gains)))]
    return np.sort(found)


def _filled(x: Table) -> Table:
    """With zeros in columns without any value, on which scikit-learn fails."""
    return np.where(np.isnan(x).all(axis=0), np.float32(0), x)


def lightgbm() -> Any:
    """The library, an optional dependency."""
    try:
        return import_module("lightgbm")
    except ImportError as error:
        raise DiffmgError(
            "library='lightgbm' needs LightGBM, but got no such package; "
            "`pip install lightgbm`, or use library='sklearn'"
        ) from error


def smallest_leaf(rows: int) -> int:
    """The fewest rows of a leaf, by the number of all rows."""
    return int(np.clip(LEAF * rows, *LEAVES))


def _with_sklearn(x: Table, wanted: Wanted, growth: Growth, seed: int) -> Grown:
    model = _sklearn_model(wanted.loss, growth, len(x), seed)
    model.fit(x, wanted.values, sample_weight=wanted.weights)
    scores = model.predict(x) if wanted.loss else model.decision_function(x)
    trees = [(n, tree_from_sklearn(one.nodes)) for several in model._predictors for n, one in enumerate(several)]
    return trees, np.ravel(model._baseline_prediction), scores.reshape(len(x), -1)


def _sklearn_model(loss: str, growth: Growth, rows: int, seed: int) -> Any:
    """A regressor with this loss, or a classifier where there is none."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    options: dict[str, Any] = {
        "max_iter": growth.rounds,
        "learning_rate": growth.rate,
        "max_leaf_nodes": growth.leaves,
        "min_samples_leaf": smallest_leaf(rows),
        "l2_regularization": growth.penalty,
        "early_stopping": False,
        "random_state": seed % 2**32,
    }
    if loss:
        error = "absolute_error" if loss == "mae" else "squared_error"  # it has no Huber loss
        return HistGradientBoostingRegressor(loss=error, **options)
    return HistGradientBoostingClassifier(**options)


def _with_lightgbm(x: Table, wanted: Wanted, growth: Growth, seed: int) -> Grown:
    options: dict[str, Any] = {
        "n_estimators": growth.rounds,
        "learning_rate": growth.rate,
        "num_leaves": growth.leaves,
        "min_child_samples": smallest_leaf(len(x)),
        "reg_lambda": growth.penalty,
        "random_state": seed % 2**31,
        "deterministic": True,
        "force_row_wise": True,
        "n_jobs": torch.get_num_threads(),
        "verbose": -1,
    }
    if wanted.loss:
        objective = {"mae": "regression_l1", "huber": "huber", "mse": "regression"}[wanted.loss]
        model = lightgbm().LGBMRegressor(objective=objective, **options)
    else:
        model = lightgbm().LGBMClassifier(**options)
    model.fit(x, wanted.values, sample_weight=wanted.weights)
    outputs = model.booster_.num_model_per_iteration()
    found = model.booster_.dump_model()["tree_info"]
    trees = [(number % outputs, tree_from_lightgbm(one["tree_structure"])) for number, one in enumerate(found)]
    return trees, np.zeros(outputs), np.reshape(model.booster_.predict(x, raw_score=True), (len(x), -1))


_LIBRARIES: dict[Library, Callable[[Table, Wanted, Growth, int], Grown]] = {
    "sklearn": _with_sklearn,
    "lightgbm": _with_lightgbm,
}
