"""Estimators in the style of scikit-learn: hyper-parameters in the constructor, a problem in `fit`."""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from diffmg.by_id import ClassifierById, RegressorById
from diffmg.core import DiffmgError, Engine, MetaGraph, Method, Plan, Run, Settings, Task, read_run
from diffmg.core.perfect import perfect_scores
from diffmg.core.plan import Refit
from diffmg.graph.network import HeteroGraph
from diffmg.leaks.finding import PREFIX, LeakWarning
from diffmg.runs.folder import RunFolder
from diffmg.runs.guard import guarded
from diffmg.runs.in_memory import InMemory
from diffmg.runs.model import Model
from diffmg.runs.places import cluster_of
from diffmg.runs.replacing import replacing
from diffmg.runs.runner import run
from diffmg.runs.sources import make_plan
from diffmg.runs.vectors import Vectors
from diffmg.tasks.item_ranking import ItemRanking
from diffmg.tasks.node_classification import NodeClassification
from diffmg.tasks.problem import Problem
from diffmg.tasks.ranked_network import rank_along
from diffmg.tasks.recommendation import Recommendation
from diffmg.tasks.regression import NodeRegression
from diffmg.training.job import Epoch, Watch
from diffmg.viz import write_report
from diffmg.watching import Callback, watching


class Estimator(BaseEstimator):  # type: ignore[misc]
    """Fits a method to a problem and keeps the best model on validation, like `diffmg fit`."""

    _kind: ClassVar[str]
    run_: Run
    model_: Model
    metagraphs_: tuple[MetaGraph, ...]
    validation_score_: float
    single_: Model | None
    """The best single model of a race."""
    tried_: tuple[Mapping[str, Any], ...]
    """The candidates of a race, as in `tried.jsonl`."""
    notes_: tuple[str, ...]
    """How the data were read, what in them may know the answer, and whether a score is perfect."""
    history_: tuple[tuple[str, Epoch], ...]
    """The epochs of each phase, as in `history.jsonl`."""

    def __init__(
        self,
        *,
        method: Method | str | None = None,
        options: Mapping[str, Any] | None = None,
        settings: Settings | Mapping[str, Any] | None = None,
        budget: str | int | None = None,
        single: bool = False,
        refit: Refit = "no",
        repeats: int = 1,
        beside: Sequence[str] | str = (),
        seed: int = 0,
        device: str = "auto",
        engine: Engine | Mapping[str, Any] | None = None,
        batch: int | None = None,
        cluster: str | None = None,
        verbose: bool = False,
        callbacks: Sequence[Callback] = (),
    ) -> None:
        """`method` by name, with its `options`, or as an object, such as `DiffMG(epsilon=0.3)`.

        `settings` are complete, or override defaults by name. `budget`: seconds ("60s") or trainings (300) of a race;
        two minutes for the default method, `auto`. `engine`, `batch`: those of the command line. `cluster`: "ray", or
        the address of a Ray cluster, to train a race there. `verbose` shows progress on stderr; `callbacks` are
        watches, or functions that are called after every epoch with the name of the phase and the `Epoch`. `beside`:
        methods to train once for comparison, or "usual" for two cheap ones; none here, since an estimator is often
        fitted many times over.
        """
        self.method = method
        self.options = options
        self.settings = settings
        self.budget = budget
        self.single = single
        self.refit = refit
        self.repeats = repeats
        self.beside = beside
        self.seed = seed
        self.device = device
        self.engine = engine
        self.batch = batch
        self.cluster = cluster
        self.verbose = verbose
        self.callbacks = callbacks

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `options__NAME` and `settings__NAME` set one option or setting and keep the others."""
        for name in [name for name in params if name.startswith(("options__", "settings__"))]:
            own, _, part = name.partition("__")
            known = params.get(own, getattr(self, own)) or {}
            params[own] = _with_part(known, part, params.pop(name))
        super().set_params(**params)
        return self

    def fit(self, data: Problem | HeteroGraph, task: Task | None = None, *, watch: Watch | None = None) -> Self:
        """Fit and keep the best by validation; takes a problem, or a network and a task."""
        problem = guarded(self._problem(data, task))
        for note in problem.graph.notes:
            if note.startswith(PREFIX):
                warnings.warn(note, LeakWarning, stacklevel=2)
        plan, kept = self._plan(problem), InMemory()
        watches = watching(self.callbacks, problem.task, plan, verbose=self.verbose, more=watch)
        with cluster_of(plan, self.cluster) as executor, watches as both:
            return self._set_results(*run(plan, problem, kept, both, executor), kept)

    def _plan(self, problem: Problem) -> Plan:
        names = ("budget", "batch", "single", "refit", "repeats", "beside", "seed", "device")
        engine = self.engine if isinstance(self.engine, Engine) else Engine().changed(self.engine or {})
        given = {name: getattr(self, name) for name in names}
        return make_plan(problem.source, self.method, self.options, self.settings, engine=engine, **given)

    def score(self) -> float:
        """The task's metric on the test part."""
        model = self._model()
        scores = model.scores("test")
        if not scores:
            raise DiffmgError(f"a score needs test labels, but got {model.problem.task.size('test')} of them")
        return scores[model.problem.task.metric]

    def predictions(self, ids: ArrayLike | None = None, **options: Any) -> Any:
        """Predictions with their ids, as a pandas data frame, or else a polars one, or else an Arrow table."""
        return self._model().answers(ids, **options).to_frame()

    def write_predictions(
        self, path: Path | str, ids: ArrayLike | None = None, *, safe_cells: bool = False, **options: Any
    ) -> int:
        """Write predictions to a CSV, Parquet or JSON lines file, block by block; returns the number of rows."""
        return self._model().write_answers(path, ids, safe_cells=safe_cells, **options)

    def embed(self, ids: ArrayLike | None = None, *, node_type: str | None = None) -> Vectors:
        """The vectors of nodes of a target type, as in `Model.embed`."""
        return self._model().embed(ids, node_type=node_type)

    def similar(self, ids: ArrayLike | None = None, k: int = 10, *, node_type: str | None = None) -> Any:
        """The most similar nodes of the same type, as in `Model.similar`, in a data frame like `predictions`."""
        return self._model().similar(ids, k, node_type=node_type).to_frame()

    def save(self, path: Path | str, *, overwrite: bool = False) -> None:
        """Write a run folder, the same as `diffmg fit` writes; `overwrite` replaces an earlier run."""
        model, path = self._model(), Path(path)
        with replacing(path) if overwrite else nullcontext():
            folder = RunFolder.create(path)
            for phase, record in self.history_:
                folder.log(phase, record)
            folder.write(self.run_, self.run_.metagraphs, model, single=self.single_, tried=self.tried_)
            write_report(folder.path)

    @classmethod
    def load(cls, path: Path | str, data: Problem | HeteroGraph | None = None, task: Task | None = None) -> Self:
        """Load a saved run; its data are opened from the original source unless given."""
        path = Path(path)
        saved, problem = read_run(path), None if data is None else cls._problem(data, task)
        model, plan = Model.load(path, problem), saved.plan
        cls._check(model.task)
        names = ("settings", "single", "refit", "repeats", "beside", "seed", "device", "engine", "batch")
        own: dict[str, Any] = {name: getattr(plan, name) for name in names} | {"budget": saved.spent or plan.budget}
        return cls(method=plan.method.make(), **own)._set_results(saved, model, InMemory.read(path, saved, problem))

    @classmethod
    def _problem(cls, data: Problem | HeteroGraph, task: Task | None) -> Problem:
        if isinstance(data, Problem) and task is not None:
            raise DiffmgError(f"a problem has its task, but got another one beside it: {task!r}")
        if not isinstance(data, Problem) and task is None:
            raise DiffmgError(f"a problem, or a network and a task, must be given, but got only {type(data).__name__}")
        if not isinstance(data, Problem) and not (isinstance(data, HeteroGraph) and isinstance(task, Task)):
            raise DiffmgError(
                f"a problem, or a network and a task, must be given, but got {type(data).__name__} and "
                f"{type(task).__name__}; `HeteroGraph.from_tables` and `from_frame` of a task make them of data frames"
            )
        problem = data if isinstance(data, Problem) else Problem(data, task)  # type: ignore[arg-type]
        cls._check(type(problem.task))
        return problem

    @classmethod
    def _check(cls, task: type[Task]) -> None:
        if task.estimator != cls.__name__:
            raise DiffmgError(f"{cls.__name__} serves {cls._kind}, but got a task of {task.kind}; use {task.estimator}")

    def _set_results(self, run: Run, model: Model, kept: InMemory) -> Self:
        self.run_, self.model_, self.metagraphs_ = run, model, run.metagraphs
        self.notes_ = (*run.notes, *perfect_scores(run))
        self.single_, self.tried_, self.history_ = kept.single, kept.tried, tuple(kept.history)
        found = run.candidates[run.chosen].val_score if run.candidates else None
        if run.evidence is not None:
            found = run.scores("val").get(run.metric, found)
        self.validation_score_ = float("nan") if found is None else found
        return self

    def _model(self) -> Model:
        if not hasattr(self, "model_"):
            raise NotFittedError(f"{type(self).__name__} must be fitted first; call `fit` or `load`")
        return self.model_


def _with_part(known: Settings | Mapping[str, Any], name: str, value: Any) -> Settings | dict[str, Any]:
    """Options or settings with one of them changed."""
    return known.changed({name: value}) if isinstance(known, Settings) else {**known, name: value}


class MetaGraphClassifier(Estimator):
    """Labels the nodes of one type."""

    _kind = "classification"

    def on(self, problem: Problem) -> ClassifierById:
        """The classifier on one network, for scikit-learn's tools: ids as X and labels as y."""
        return ClassifierById(self, self._problem(problem, None))

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the column order of `predict_proba`."""
        return np.asarray(self._task().classes)

    def predict(self, ids: ArrayLike | None = None) -> NDArray[Any]:
        """The class of each node (all nodes of the target type, or those with these ids).

        For multi-label tasks: zeros and ones, one column per class.
        """
        task = self._task()
        decided = task.decide(self._logits(ids)).numpy(force=True)
        return decided if task.multilabel else np.asarray(task.classes)[decided]

    def predict_proba(self, ids: ArrayLike | None = None) -> NDArray[np.float32]:
        """Probability of each class, one row per node."""
        return np.asarray(self._task().probabilities(self._logits(ids)).numpy(force=True))

    def _task(self) -> NodeClassification:
        task = self._model().problem.task
        assert isinstance(task, NodeClassification)
        return task

    def _logits(self, ids: ArrayLike | None) -> Any:
        model = self._model()
        logits = model.outputs[0]
        return logits if ids is None else logits[model.problem.graph.index_of(self._task().target, ids)]


class NodeRegressor(Estimator):
    """Predicts numbers of the nodes of one type."""

    _kind = "regression"

    def on(self, problem: Problem) -> RegressorById:
        """The regressor on one network, for scikit-learn's tools: ids as X and numbers as y."""
        return RegressorById(self, self._problem(problem, None))

    def predict(self, ids: ArrayLike | None = None) -> NDArray[np.float64]:
        """The number of each node (all nodes of the target type, or those with these ids), in the user's units.

        Where a node has several numbers: one column for each.
        """
        model = self._model()
        task = model.problem.task
        assert isinstance(task, NodeRegression)
        found = task.predictions(model.outputs)
        found = found if ids is None else found[model.problem.graph.index_of(task.target, ids)]
        return found[:, 0] if task.outputs == 1 else found


class MetaGraphRecommender(Estimator):
    """Recommends nodes of one type to nodes of another."""

    _kind = "ranking and recommendation"

    def fit(self, data: Problem | HeteroGraph, task: Task | str | None = None, *, watch: Watch | None = None) -> Self:
        """Fit and keep the best by validation; takes a problem, or a network and a task.

        In place of a task, the name of a relation from users to items: its targets are ranked for its sources, a tenth
        of each user's edges is held out for validation and a tenth for the test.
        """
        if not isinstance(task, str):
            return super().fit(data, task, watch=watch)
        if isinstance(data, Problem):
            raise DiffmgError(f"a problem has its task, but got the relation {task!r} beside it")
        return super().fit(rank_along(data, task, seed=self.seed), watch=watch)

    def recommend(
        self, ids: ArrayLike | None = None, k: int = 10, *, exclude_seen: bool = True, items: ArrayLike | None = None
    ) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """The ids of the k best items (or all, if there are fewer) for each user, best first, and their scores.

        `exclude_seen` leaves out what a user is known to have chosen (in a ranking: in any part; what it disliked is
        always left out); where fewer than k items remain, the rest of the row has score -inf. `items`: the ids of those
        that may be recommended. Equal scores are in the order of the network's items.
        """
        model, task = self._model(), self._task()
        graph = model.problem.graph
        users = np.arange(task.shape[0]) if ids is None else graph.index_of(task.user, ids)
        allowed = None if items is None else graph.index_of(task.item, items)
        found, scores = task.recommend(model.outputs, users, k, exclude_seen=exclude_seen, items=allowed)
        return graph.ids_of(task.item)[found], scores

    def predict(self, pairs: ArrayLike) -> NDArray[np.float32]:
        """The score of each (user id, item id): higher is likelier."""
        model, task = self._model(), self._task()
        rows = np.asarray(pairs)
        if rows.ndim != 2 or rows.shape[1] != 2:
            raise DiffmgError(f"pairs must be rows (user id, item id), but got shape {rows.shape}")
        graph = model.problem.graph
        users, items = graph.index_of(task.user, rows[:, 0]), graph.index_of(task.item, rows[:, 1])
        z_user, z_item = model.outputs
        return np.asarray((z_user[users] * z_item[items]).sum(dim=1).numpy(force=True))

    def predict_proba(self, pairs: ArrayLike) -> NDArray[np.float32]:
        """The probability that each (user id, item id) is chosen, as defined by the training loss."""
        if isinstance(self._task(), ItemRanking):
            raise DiffmgError(
                "probabilities need a loss that defines them, but got a ranking, whose scores only have an order; "
                "use `predict`, or a task of kind 'recommendation'"
            )
        return np.asarray(expit(self.predict(pairs)))

    def _task(self) -> Recommendation | ItemRanking:
        task = self._model().problem.task
        assert isinstance(task, Recommendation | ItemRanking)
        return task
