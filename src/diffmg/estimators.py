"""scikit-learn style front doors: hyper-parameters in the constructor, a network and a task in `fit`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import MetaGraph
from diffmg.core.plan import Plan, settings_from
from diffmg.core.settings import Settings
from diffmg.graph.network import HeteroGraph
from diffmg.runs.folder import RunFolder
from diffmg.runs.runner import Experiment, Outcome, load_outcome, save_outcome, score_on_test
from diffmg.tasks import NodeClassification, Recommendation, Task
from diffmg.tasks.problem import Problem
from diffmg.viz.page import write_report


class _MetaGraphEstimator(BaseEstimator):  # type: ignore[misc]
    """Searches meta graphs, trains along them, keeps the best by validation."""

    _role: ClassVar[str]
    _kind: ClassVar[type[Task]]

    def __init__(
        self,
        *,
        strategy: str = "diffmg",
        strategy_options: Mapping[str, Any] | None = None,
        metagraphs: tuple[MetaGraph, ...] | None = None,
        depth: int = 4,
        search_seeds: int = 3,
        settings: Mapping[str, Any] | None = None,
        seed: int = 0,
        device: str = "auto",
    ) -> None:
        """`settings` changes fields of `Settings`; given `metagraphs` are trained without a search."""
        self.strategy = strategy
        self.strategy_options = strategy_options
        self.metagraphs = metagraphs
        self.depth = depth
        self.search_seeds = search_seeds
        self.settings = settings
        self.seed = seed
        self.device = device

    def save(self, path: Path | str) -> None:
        """Write a run folder."""
        folder = RunFolder.create(Path(path))
        save_outcome(self._outcome(), folder)
        write_report(folder.path)

    @classmethod
    def _check_task(cls, task: Task) -> None:
        if not isinstance(task, cls._kind):
            raise DiffmgError(f"a {cls._role} needs a {cls._kind.__name__} task, but got {type(task).__name__}")

    def _fit(self, graph: HeteroGraph, task: Task) -> Self:
        self._check_task(task)
        plan = Plan(
            data="",
            metagraphs=tuple(self.metagraphs or ()),
            strategy=self.strategy,
            strategy_options=dict(self.strategy_options or {}),
            depth=self.depth,
            search_seeds=self.search_seeds,
            seed=self.seed,
            train=settings_from(Settings(), self.settings or {}),
            device=self.device,
        )
        return self._adopt(Experiment(plan, Problem(graph, task)).execute())

    def _adopt(self, outcome: Outcome) -> Self:
        self.outcome_ = outcome
        self.run_ = outcome.run
        self.metagraphs_ = outcome.run.metagraphs
        self.validation_score_ = outcome.run.candidates[outcome.run.chosen].val_score
        return self

    @classmethod
    def _load(cls, path: Path | str, graph: HeteroGraph, task: Task) -> Self:
        cls._check_task(task)
        outcome = load_outcome(Path(path), Problem(graph, task))
        plan = Plan.from_dict(outcome.run.plan)
        estimator = cls(
            strategy=plan.strategy,
            strategy_options=plan.strategy_options,
            metagraphs=plan.metagraphs or None,
            depth=plan.depth,
            search_seeds=plan.search_seeds,
            settings=outcome.run.plan["train"],
            seed=plan.seed,
            device=plan.device,
        )
        return estimator._adopt(outcome)

    def _outcome(self) -> Outcome:
        if not hasattr(self, "outcome_"):
            raise NotFittedError(f"{type(self).__name__} must be fitted first; call `fit` or `load`")
        return self.outcome_

    def _test_score(self) -> float:
        outcome = self._outcome()
        scores = score_on_test(outcome.problem, outcome.outputs())
        if not scores:
            raise DiffmgError(
                f"a score needs test labels, but got a task with {outcome.problem.task.size('test')} of them"
            )
        return scores[outcome.problem.task.metric]


class MetaGraphClassifier(_MetaGraphEstimator):
    """Labels the nodes of one type."""

    _role, _kind = "classifier", NodeClassification

    def fit(self, graph: HeteroGraph, task: NodeClassification) -> Self:
        """Search, train and keep the best model by validation."""
        self._fit(graph, task)
        self.classes_ = np.asarray(task.classes)
        return self

    def predict(self, ids: ArrayLike | None = None) -> NDArray[Any]:
        """The class of each node (all nodes of the target type, or those with these ids).

        With several labels a node: zeros and ones, one column per class.
        """
        task = self._task()
        decided = task.decide(self._logits(ids)).numpy(force=True)
        return decided if task.multilabel else np.asarray(task.classes)[decided]

    def predict_proba(self, ids: ArrayLike | None = None) -> NDArray[np.float32]:
        """Probability of each class, one row per node."""
        return np.asarray(self._task().probabilities(self._logits(ids)).numpy(force=True))

    def score(self) -> float:
        """The task's metric on the test part."""
        return self._test_score()

    @classmethod
    def load(cls, path: Path | str, graph: HeteroGraph, task: NodeClassification) -> Self:
        """Take up a saved run, on the network and task it was for."""
        estimator = cls._load(path, graph, task)
        estimator.classes_ = np.asarray(task.classes)
        return estimator

    def _task(self) -> NodeClassification:
        task = self._outcome().problem.task
        assert isinstance(task, NodeClassification)
        return task

    def _logits(self, ids: ArrayLike | None) -> Any:
        outcome, task = self._outcome(), self._task()
        logits = outcome.outputs()[0]
        return logits if ids is None else logits[outcome.problem.graph.index_of(task.target, ids)]


class MetaGraphRecommender(_MetaGraphEstimator):
    """Recommends nodes of one type to nodes of another."""

    _role, _kind = "recommender", Recommendation

    def fit(self, graph: HeteroGraph, task: Recommendation) -> Self:
        """Search, train and keep the best model by validation."""
        return self._fit(graph, task)

    def recommend(
        self, ids: ArrayLike | None = None, k: int = 10, *, exclude_seen: bool = True
    ) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """The ids of the k best items (or all, if there are fewer) for each user, best first, and their scores.

        `exclude_seen` leaves out what a user is known to have chosen, in the network or in training; where fewer
        than k items remain, the rest of the row has score -inf.
        """
        if k < 1:
            raise DiffmgError(f"`k >= 1` must hold, but got k={k}")
        outcome, task = self._outcome(), self._task()
        graph = outcome.problem.graph
        users = np.arange(task.shape[0]) if ids is None else graph.index_of(task.user, ids)
        items, scores = task.top(outcome.outputs(), users, k, task.known() if exclude_seen else None)
        return graph.ids_of(task.item)[items], scores

    def predict(self, pairs: ArrayLike) -> NDArray[np.float32]:
        """The score of each (user id, item id): higher is likelier."""
        outcome, task = self._outcome(), self._task()
        rows = np.asarray(pairs)
        if rows.ndim != 2 or rows.shape[1] != 2:
            raise DiffmgError(f"pairs must be rows (user id, item id), but got shape {rows.shape}")
        graph = outcome.problem.graph
        users, items = graph.index_of(task.user, rows[:, 0]), graph.index_of(task.item, rows[:, 1])
        z_user, z_item = outcome.outputs()
        return np.asarray((z_user[users] * z_item[items]).sum(dim=1).numpy(force=True))

    def predict_proba(self, pairs: ArrayLike) -> NDArray[np.float32]:
        """The probability that each (user id, item id) is chosen, by the loss the model was trained with."""
        return np.asarray(expit(self.predict(pairs)))

    def score(self) -> float:
        """The task's metric on the test part."""
        return self._test_score()

    @classmethod
    def load(cls, path: Path | str, graph: HeteroGraph, task: Recommendation) -> Self:
        """Take up a saved run, on the network and task it was for."""
        return cls._load(path, graph, task)

    def _task(self) -> Recommendation:
        task = self._outcome().problem.task
        assert isinstance(task, Recommendation)
        return task
