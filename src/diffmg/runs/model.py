"""A trained model with everything needed to use it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from diffmg.core import TASKS, DiffmgError, MetaGraph, MethodSpec, Part, Settings, Source, Task, read_run
from diffmg.core.codec import check_format, from_plain, to_plain
from diffmg.core.files import check_unchanged, digest_of
from diffmg.core.importance import Explanation
from diffmg.core.parse import parse_json
from diffmg.core.pictured import Pictured
from diffmg.core.run import Data
from diffmg.core.trust import named_by_file, named_by_user
from diffmg.runs.provenance import data_of, differences
from diffmg.runs.reasons import with_reasons
from diffmg.runs.sources import open_problem
from diffmg.runs.tensors import read_tensors, write_tensors
from diffmg.runs.vectors import Vectors, similar_to, target_type, vectors_of
from diffmg.tasks.answer_files import check_ending, write_answers
from diffmg.tasks.answers import Answers
from diffmg.tasks.problem import Problem
from diffmg.training.training import outputs_of

FORMAT = 1
MODEL = "model.safetensors"
SHOWN = 8
"""The most differences an error lists."""


@dataclass(frozen=True)
class Recipe:
    """How to rebuild a model's network, and the data it was fitted on; stored with the weights."""

    method: MethodSpec
    settings: Settings
    seed: int
    """Seed of the kept training."""
    metagraphs: tuple[MetaGraph, ...]
    data: Data
    source: Source
    encoders: Mapping[str, Any] = field(default_factory=dict)
    """Per node type read from tables, the fitted encoders of its feature columns."""
    description: Mapping[str, Any] | None = None
    """Of a timed task, how its network is built from tables."""


class Model(Pictured):
    """Predicts or recommends, with the same interface for every method.

    Weights are tied to the ids the model was fitted on: the same data in any row order give the same predictions.
    Different data raise an error that lists the differences.
    """

    _picture = "model"

    def __init__(
        self,
        recipe: Recipe,
        weights: Mapping[str, Tensor],
        ids: Mapping[str, NDArray[Any]],
        problem: Problem | None = None,
        root: Path | None = None,
    ) -> None:
        """`ids`: of types that have any, in the order used in training; `root`: folder of the data sets."""
        self.recipe, self.weights, self.ids = recipe, dict(weights), dict(ids)
        self._problem, self._root = problem, root

    @classmethod
    def of(cls, recipe: Recipe, network: nn.Module, problem: Problem) -> Model:
        """The model of a trained network."""
        weights = {name: t.detach().cpu().clone() for name, t in network.state_dict().items()}
        return cls(recipe, weights, problem.graph.ids, problem)

    @classmethod
    def load(cls, path: Path | str, problem: Problem | None = None, *, root: Path | None = None) -> Model:
        """Load from a run folder or a model file; without a problem, the original data are opened on first use."""
        file = _model_file(Path(path))
        tensors, values = read_tensors(file)
        plain = check_format(values, FORMAT, f"the model {str(file)!r}")
        ids = {name.removeprefix("ids."): t for name, t in tensors.items() if name.startswith("ids.")}
        weights = {name.removeprefix("weights."): t for name, t in tensors.items() if name.startswith("weights.")}
        recipe = from_plain(Recipe, plain, f"the model {str(file)!r}")
        named_by_file(recipe.source.name)
        _check_finite(weights, file)
        model = cls(recipe, weights, {t: _ids_from(rows) for t, rows in ids.items()}, root=root)
        return model if problem is None else model.on(problem)

    def save(self, path: Path | str) -> str:
        """Write to a model file, or to one inside a folder; returns its sha256."""
        path = Path(path)
        file = path / MODEL if path.is_dir() else path
        tensors = {f"weights.{name}": t for name, t in self.weights.items()}
        tensors |= {f"ids.{node_type}": _ids_to(ids) for node_type, ids in self.ids.items()}
        write_tensors(file, tensors, {"format": FORMAT} | to_plain(self.recipe))
        return digest_of(file)

    @property
    def task(self) -> type[Task]:
        """The kind of task it was fitted for."""
        return TASKS.get(self.recipe.data.task)

    @property
    def metagraphs(self) -> tuple[MetaGraph, ...]:
        """One per target type; empty for methods without meta graphs."""
        return self.recipe.metagraphs

    def on(self, data: Problem | Source) -> Model:
        """The model on a problem or a source, which must hold the data it was fitted on, in any row order.

        User tables are encoded with the fitted encoders.
        """
        if isinstance(data, Source):
            named_by_user(data.name)
        problem = data if isinstance(data, Problem) else self._open(data)
        return Model(self.recipe, self.weights, self.ids, self._aligned(problem), self._root)

    def on_newer(
        self, data: str | None = None, *, at: str | None = None, on_unknown: str | None = None
    ) -> tuple[Model, NDArray[Any] | None]:
        """The model of a timed task on newer data, with rows and entities that were not there when it was fitted.

        `at`: a moment to predict every entity at; the ids of these predictions are returned too. `on_unknown`: "error"
        or "drop" for rows that refer to no entity, as it was fitted by default. What is predicted of rows whose history
        is unchanged is unchanged.
        """
        from diffmg.runs.newer import moved_weights, newer_problem

        if data is not None:
            named_by_user(data)
        problem, wanted = newer_problem(self.recipe, data, at, on_unknown)
        recipe = self.recipe
        network = recipe.method.make().network(problem, recipe.settings, recipe.seed, recipe.metagraphs)
        weights = moved_weights(self.weights, network, self.ids, problem)
        return Model(recipe, weights, problem.graph.ids, problem, self._root), wanted

    @cached_property
    def problem(self) -> Problem:
        """The model's data; opened from the original source if none were given."""
        return self._problem if self._problem is not None else self._aligned(self._open(self.recipe.source))

    @cached_property
    def network(self) -> nn.Module:
        """The trained network, on the problem's device."""
        recipe = self.recipe
        network = recipe.method.make().network(self.problem, recipe.settings, recipe.seed, recipe.metagraphs)
        try:
            network.load_state_dict(self.weights)
        except RuntimeError as error:
            raise DiffmgError(
                f"the weights of a model must fit its network, but got: {str(error).splitlines()[-1].strip()}"
            ) from error
        return network

    @cached_property
    def outputs(self) -> tuple[Tensor, ...]:
        """Logits, or the embeddings of the two towers."""
        return outputs_of(self.network, self.problem)

    def answers(self, ids: ArrayLike | None = None, *, why: bool = False, **options: Any) -> Answers:
        """Predictions for these ids (default: all), as a table with the user's ids.

        `why` adds to each recommendation the meta path that adds most to its score.
        """
        found = self.problem.task.answers(self.outputs, self.problem.graph, ids, **options)
        return next(with_reasons(self, [found])) if why else found

    def stream(self, ids: ArrayLike | None = None, *, why: bool = False, **options: Any) -> Iterator[Answers]:
        """`answers` block by block, so that recommendations for millions need not fit into memory."""
        blocks = self.problem.task.stream(self.outputs, self.problem.graph, ids, **options)
        return with_reasons(self, blocks) if why else blocks

    def write_answers(
        self, path: Path | str, ids: ArrayLike | None = None, *, safe_cells: bool = False, **options: Any
    ) -> int:
        """Write `answers` to a CSV, Parquet or JSON lines file by its ending, block by block; returns how many rows."""
        check_ending(path, safe_cells=safe_cells)
        return write_answers(path, self.stream(ids, **options), safe_cells=safe_cells)

    def embed(self, ids: ArrayLike | None = None, *, node_type: str | None = None) -> Vectors:
        """The vectors of these nodes (default: all): what the head reads, or whose dot product is a pair's score.

        `node_type`: one of the target types; by default the items of a recommendation.
        """
        vectors = self._vectors[target_type(self.problem.task, node_type)]
        return vectors if ids is None else vectors.of(self.problem.graph, ids)

    def similar(self, ids: ArrayLike | None = None, k: int = 10, *, node_type: str | None = None) -> Answers:
        """The k nearest other nodes of the same type, by the cosine of their vectors; `node_type` as in `embed`."""
        return similar_to(self.embed(node_type=node_type), self.problem.graph, ids, k)

    @cached_property
    def _vectors(self) -> Mapping[str, Vectors]:
        return vectors_of(self.network, self.outputs, self.problem)

    def explain(self, ids: ArrayLike, k_sources: int = 5) -> list[Explanation]:
        """Where answers come from: the part of each meta path in them, with the nodes that it starts from.

        `ids` are those of `answers`; of a task on pairs, rows (user, item), and each pair has two explanations: of the
        user's tower, then of the item's. Methods without a meta graph refuse.
        """
        from diffmg.runs.explain import explain

        return explain(self, ids, k_sources)

    def scores(self, part: Part = "test") -> dict[str, float]:
        """All scores on a part of the split; not on one that a refit has trained on."""
        joined = {member.get("joined") for member in self.recipe.method.options.get("members", ())}
        if (part == "test" and "all" in joined) or (part == "val" and joined & {"val", "all"}):
            raise DiffmgError(
                f"a score needs labels that the model was not trained on, but got {part!r} after a refit; "
                "the scores of what was chosen are in run.json"
            )
        return scores_on(self.problem, self.outputs, part)

    def _open(self, source: Source) -> Problem:
        """Open data, encoded with the fitted encoders."""
        if not source.name:
            raise DiffmgError(
                f"the data of a model that was fitted in Python must be given, but got none for {self!r}; "
                "use `Model.load(path, problem)`, or --data on the command line"
            )
        problem = open_problem(source, root=self._root, encoders=self.recipe.encoders or None)
        if not problem.graph.timed:
            return problem
        from diffmg.runs.newer import with_relations

        return with_relations(problem, list(self.recipe.data.facts["edges"]))

    def _aligned(self, problem: Problem) -> Problem:
        """The problem with its nodes in the order used in training; raises if the data differ."""
        changes = differences(self.recipe.data, data_of(problem))
        if changes:
            changes = [*self._changed_ids(problem), *changes]
            more = f"; and {len(changes) - SHOWN} more" if len(changes) > SHOWN else ""
            raise DiffmgError(
                f"a model is used on the data it was fitted on, but got others: {'; '.join(changes[:SHOWN])}{more}; "
                "fit again, or give the data it was fitted on"
            )
        orders = {}
        for node_type, number in problem.graph.num_nodes.items():
            ids = self.ids.get(node_type, np.arange(number))
            if not np.array_equal(problem.graph.ids_of(node_type), ids):
                orders[node_type] = problem.graph.index_of(node_type, ids)
        return problem.permuted(orders)

    def _changed_ids(self, problem: Problem) -> list[str]:
        """Messages about ids that are new or missing."""
        messages = []
        for node_type, known in self.ids.items():
            found = problem.graph.ids.get(node_type, known[:0])
            for what, ids in (("new", np.setdiff1d(found, known)), ("gone", np.setdiff1d(known, found))):
                if len(ids):
                    messages.append(f"{len(ids)} ids of {node_type} are {what}, such as {ids[:3].tolist()}")
        return messages

    def __repr__(self) -> str:
        recipe = self.recipe
        task, types = recipe.data.task, " and ".join(recipe.data.target_types)
        parameters = sum(t.numel() for t in self.weights.values())
        on = recipe.source.name or "a network from Python"
        return f"Model({recipe.method.name}, {task} of {types}, {parameters} parameters, fitted on {on})"


def scores_on(problem: Problem, outputs: tuple[Tensor, ...], part: Part) -> dict[str, float]:
    """Scores on a part. With `judging.judged` all that reads test labels: once per training, after all selection."""
    return {name: float(score) for name, score in problem.task.final_scores(outputs, part).items()}


def _model_file(path: Path) -> Path:
    """The file of a model; in a run folder, its checksum must match the run's."""
    expected = read_run(path).files.get(MODEL) if path.is_dir() else None
    file = path / MODEL if path.is_dir() else path
    if not file.is_file():
        raise DiffmgError(
            f"a model must be a run folder that came as far as one, or a model file, but got nothing at {str(file)!r}; "
            "an unfinished run goes on with `diffmg resume`"
        )
    if expected is not None:
        check_unchanged(file, expected)
    return file


def _check_finite(weights: Mapping[str, Tensor], file: Path) -> None:
    bad = [name for name, t in weights.items() if t.is_floating_point() and not torch.isfinite(t).all()]
    if bad:
        raise DiffmgError(f"weights must be finite numbers, but got others in {bad[:3]} of {str(file)!r}; fit again")


def _ids_to(ids: NDArray[Any]) -> Tensor:
    """Ids as a tensor: numbers unchanged, everything else as JSON bytes."""
    if ids.dtype.kind in "iufb":
        return torch.from_numpy(ids.astype(np.int64) if ids.dtype.kind in "iu" else ids)
    kind = ids.dtype.str if ids.dtype.kind == "M" else "U"
    return torch.from_numpy(np.frombuffer(json.dumps([kind, ids.astype(str).tolist()]).encode(), np.uint8).copy())


def _ids_from(rows: Tensor) -> NDArray[Any]:
    if rows.dtype != torch.uint8:
        return np.asarray(rows.numpy())
    text = rows.numpy().tobytes().decode(errors="replace")
    try:
        kind, values = parse_json(text, "the ids of a model")
        return np.asarray(values, dtype=str).astype(kind)
    except (TypeError, ValueError) as error:
        raise DiffmgError(f"the ids of a model must be a type and a list, but got {text[:60]!r}; fit again") from error
