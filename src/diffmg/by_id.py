"""scikit-learn's own tools on one network: ids as X, labels as y.

`cross_val_score`, `GridSearchCV` and their like hand over some ids with their labels and ask for others. The network
stays whole; of the labels, only those handed over are seen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.exceptions import NotFittedError

from diffmg.core import DiffmgError
from diffmg.core.plan import Source
from diffmg.tasks.relabelled import relabelled

if TYPE_CHECKING:
    from diffmg.estimators import MetaGraphClassifier, NodeRegressor
    from diffmg.tasks.problem import Problem


class _ById(BaseEstimator):  # type: ignore[misc]
    """What both have in common."""

    def __init__(self, estimator: Any, problem: Problem) -> None:
        """`estimator` is fitted anew, as a clone, for every fit; clones share the problem."""
        self.estimator = estimator
        self.problem = problem

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit to the labels `y` of the ids `X`; a fifth of them chooses among models."""
        task = relabelled(self.problem.task, self._nodes(X), y, self.estimator.seed)
        own = replace(self.problem, task=task, source=Source())
        self.estimator_ = clone(self.estimator).fit(own)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class or the number of each id."""
        return np.asarray(self._fitted().predict(_ids(X)))

    def _nodes(self, X: ArrayLike) -> NDArray[np.int64]:
        return np.asarray(self.problem.graph.index_of(self.problem.task.target_types[0], _ids(X)))

    def _fitted(self) -> Any:
        if not hasattr(self, "estimator_"):
            raise NotFittedError(f"{type(self).__name__} must be fitted first; call `fit` with ids and labels")
        return self.estimator_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_clone__(self) -> Self:
        return type(self)(clone(self.estimator), self.problem)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = True, False
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def __repr__(self) -> str:
        return f"{self.estimator!r}.on({self.problem.task!r})"


class ClassifierById(ClassifierMixin, _ById):  # type: ignore[misc]
    """A classifier of one network: `MetaGraphClassifier(...).on(problem)`. `score` is accuracy, as in scikit-learn."""

    estimator: MetaGraphClassifier

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes of the labels it was fitted to."""
        return np.asarray(self._fitted().classes_)

    def predict_proba(self, X: ArrayLike) -> NDArray[Any]:
        """Probability of each class, one row per id."""
        return np.asarray(self._fitted().predict_proba(_ids(X)))


class RegressorById(RegressorMixin, _ById):  # type: ignore[misc]
    """A regressor of one network: `NodeRegressor(...).on(problem)`. `score` is R², as in scikit-learn."""

    estimator: NodeRegressor


def _ids(X: ArrayLike) -> NDArray[Any]:
    """Ids as one column, which may be given as a frame or a matrix with one."""
    ids = np.asarray(X)
    if ids.ndim == 2 and ids.shape[1] == 1:
        ids = ids[:, 0]
    if ids.ndim != 1:
        raise DiffmgError(f"X must be ids of nodes, one column, but got shape {ids.shape}")
    return ids.astype(str) if ids.dtype == object else ids
