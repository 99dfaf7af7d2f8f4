"""A model: what was trained, with all that is needed to use it."""

from __future__ import annotations

import json
from collections.abc import Mapping
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
from diffmg.core.files import digest_of
from diffmg.core.run import Data
from diffmg.runs.provenance import data_of, differences
from diffmg.runs.sources import open_problem
from diffmg.runs.tensors import read_tensors, write_tensors
from diffmg.tasks.answers import Answers
from diffmg.tasks.problem import Problem
from diffmg.training.training import outputs_of

FORMAT = 1
MODEL = "model.safetensors"
SHOWN = 8
"""Differences that an error names."""


@dataclass(frozen=True)
class Recipe:
    """How the network of a model is built, and what it was fitted on: plain values, kept beside the weights."""

    method: MethodSpec
    settings: Settings
    seed: int
    """Of the training that was kept."""
    metagraphs: tuple[MetaGraph, ...]
    data: Data
    source: Source
    encoders: Mapping[str, Any] = field(default_factory=dict)
    """Per node type read from tables, how its columns became features."""


class Model:
    """Predicts or recommends, for every method alike.

    Weights belong to the ids the model was fitted on: on the same data in any order of rows it gives the same answers.
    Other data are refused with the differences.
    """

    def __init__(
        self,
        recipe: Recipe,
        weights: Mapping[str, Tensor],
        ids: Mapping[str, NDArray[Any]],
        problem: Problem | None = None,
        root: Path | None = None,
    ) -> None:
        """`ids` of the types that have any, in the order the weights were learned in; `root`: where data sets lie."""
        self.recipe, self.weights, self.ids = recipe, dict(weights), dict(ids)
        self._problem, self._root = problem, root

    @classmethod
    def of(cls, recipe: Recipe, network: nn.Module, problem: Problem) -> Model:
        """The model of a trained network."""
        weights = {name: t.detach().cpu().clone() for name, t in network.state_dict().items()}
        return cls(recipe, weights, problem.graph.ids, problem)

    @classmethod
    def load(cls, path: Path | str, problem: Problem | None = None, *, root: Path | None = None) -> Model:
        """Read a model from a run folder or a model file; without a problem its own data are opened when asked."""
        file = _model_file(Path(path))
        tensors, values = read_tensors(file)
        plain = check_format(values, FORMAT, f"the model {str(file)!r}")
        ids = {name.removeprefix("ids."): t for name, t in tensors.items() if name.startswith("ids.")}
        weights = {name.removeprefix("weights."): t for name, t in tensors.items() if name.startswith("weights.")}
        recipe = from_plain(Recipe, plain, f"the model {str(file)!r}")
        model = cls(recipe, weights, {t: _ids_from(rows) for t, rows in ids.items()}, root=root)
        return model if problem is None else model.on(problem)

    def save(self, path: Path | str) -> str:
        """Write a model file, or one into a folder; returns its sha256."""
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
        """One per target type; none for a method without."""
        return self.recipe.metagraphs

    def on(self, data: Problem | Source) -> Model:
        """The model on a problem, or on data to be opened: those it was fitted on, in any order of rows, or it raises.

        Own tables are encoded as when it was fitted.
        """
        problem = data if isinstance(data, Problem) else self._open(data)
        return Model(self.recipe, self.weights, self.ids, self._aligned(problem), self._root)

    @cached_property
    def problem(self) -> Problem:
        """The data it answers about; opened from where they were read if none were given."""
        return self._problem if self._problem is not None else self._aligned(self._open(self.recipe.source))

    @cached_property
    def network(self) -> nn.Module:
        """The trained network, where the problem is."""
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
        """Logits, or the representations of the two towers."""
        return outputs_of(self.network, self.problem)

    def answers(self, ids: ArrayLike | None = None, **options: Any) -> Answers:
        """What the model says about these ids, or about all: a table with the user's ids."""
        return self.problem.task.answers(self.outputs, self.problem.graph, ids, **options)

    def scores(self, part: Part = "test") -> dict[str, float]:
        """All scores on a part of the split."""
        return scores_on(self.problem, self.outputs, part)

    def _open(self, source: Source) -> Problem:
        """Data from where they are, encoded as when the model was fitted."""
        if not source.name:
            raise DiffmgError(
                f"the data of a model that was fitted in Python must be given, but got none for {self!r}; "
                "use `Model.load(path, problem)`, or --data on the command line"
            )
        return open_problem(source, root=self._root, encoders=self.recipe.encoders or None)

    def _aligned(self, problem: Problem) -> Problem:
        """The problem with its nodes in the order the weights were learned in; raises where the data are others."""
        told = differences(self.recipe.data, data_of(problem))
        if told:
            told = [*self._strange_ids(problem), *told]
            more = f"; and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
            raise DiffmgError(
                f"a model is used on the data it was fitted on, but got others: {'; '.join(told[:SHOWN])}{more}; "
                "fit again, or give the data it was fitted on"
            )
        orders = {}
        for node_type, number in problem.graph.num_nodes.items():
            ids = self.ids.get(node_type, np.arange(number))
            if not np.array_equal(problem.graph.ids_of(node_type), ids):
                orders[node_type] = problem.graph.index_of(node_type, ids)
        return problem.permuted(orders)

    def _strange_ids(self, problem: Problem) -> list[str]:
        """Ids that the model does not know, and known ones that are not there, in words."""
        told = []
        for node_type, known in self.ids.items():
            found = problem.graph.ids.get(node_type, known[:0])
            for what, ids in (("new", np.setdiff1d(found, known)), ("gone", np.setdiff1d(known, found))):
                if len(ids):
                    told.append(f"{len(ids)} ids of {node_type} are {what}, such as {ids[:3].tolist()}")
        return told

    def __repr__(self) -> str:
        recipe = self.recipe
        task, types = recipe.data.task, " and ".join(recipe.data.target_types)
        parameters = sum(t.numel() for t in self.weights.values())
        on = recipe.source.name or "a network from Python"
        return f"Model({recipe.method.name}, {task} of {types}, {parameters} parameters, fitted on {on})"


def scores_on(problem: Problem, outputs: tuple[Tensor, ...], part: Part) -> dict[str, float]:
    """Scores on a part. The only function that reads test labels: once a training, after every choice was made."""
    return {name: float(score) for name, score in problem.task.final_scores(outputs, part).items()}


def _model_file(path: Path) -> Path:
    """The file of a model; one in a run folder must be the one that the run wrote."""
    expected = read_run(path).files.get(MODEL) if path.is_dir() else None
    file = path / MODEL if path.is_dir() else path
    if not file.is_file():
        raise DiffmgError(
            f"a model must be a run folder that came as far as one, or a model file, but got nothing at {str(file)!r}; "
            "an unfinished run goes on with `diffmg resume`"
        )
    if expected is not None and digest_of(file) != expected:
        raise DiffmgError(
            f"a model must be as its run wrote it (sha256 {expected[:16]}...), but got {str(file)!r} with "
            f"{digest_of(file)[:16]}...; it was changed or damaged: fit again, or `diffmg repeat` the run"
        )
    return file


def _ids_to(ids: NDArray[Any]) -> Tensor:
    """Ids as a tensor: numbers as they are, all else as JSON text in bytes."""
    if ids.dtype.kind in "iufb":
        return torch.from_numpy(ids.astype(np.int64) if ids.dtype.kind in "iu" else ids)
    kind = ids.dtype.str if ids.dtype.kind == "M" else "U"
    return torch.from_numpy(np.frombuffer(json.dumps([kind, ids.astype(str).tolist()]).encode(), np.uint8).copy())


def _ids_from(rows: Tensor) -> NDArray[Any]:
    if rows.dtype != torch.uint8:
        return np.asarray(rows.numpy())
    kind, values = json.loads(rows.numpy().tobytes().decode())
    return np.asarray(values, dtype=str).astype(kind)
