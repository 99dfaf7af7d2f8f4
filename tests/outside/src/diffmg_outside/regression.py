"""A task: predict a number of the nodes of one type. Less error is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from diffmg import Answers, DiffmgError, HeteroGraph, Task
from diffmg.core.arrow import numbers
from diffmg.core.task import PARTS, Part, Reading, TaskSpec
from diffmg.estimators import Estimator
from diffmg.graph.fingerprint import fingerprint
from diffmg.tasks.answers import inverse
from diffmg.tasks.labels import split_numbers


@dataclass(frozen=True)
class RegressionSpec(TaskSpec):
    """A column of numbers and a column of train, val and test."""

    target: str
    number: str
    split: str

    @classmethod
    def matches(cls, given: Mapping[str, Any]) -> bool:
        """It names a number."""
        return "number" in given

    def check(self, description: Any) -> None:
        """The type must have a table."""
        if description.table_of(self.target) is None:
            raise DiffmgError(f"numbers come from the table of {self.target!r}, but got a type without one")

    def columns(self, description: Any) -> dict[str, set[str]]:
        """The number and the split are no features."""
        return {description.table_of(self.target): {self.number, self.split}}

    def read(self, tables: Any) -> Reading:
        """The task, from the tables of a network."""
        values = numbers(tables.node_column(self.target, self.number), "the numbers")
        parts = split_numbers(tables.node_column(self.target, self.split), "the split")
        return Reading(NodeRegression.build(self.target, values, parts), {})

    def lines(self) -> list[str]:
        """The task in words."""
        return [f"task: predict the number {self.number} of {self.target}"]


@dataclass(frozen=True, repr=False)
class NodeRegression(Task):
    """One number a node, in units of the training part's standard deviation while it is learned."""

    target: str
    values: Tensor
    parts: Mapping[Part, Tensor]
    metric: str = "mae"

    kind: ClassVar = "numbers"
    summary: ClassVar = "outside: predict a number of the nodes of one type"
    metrics: ClassVar = {"mae": "min"}
    verb: ClassVar = "predict"
    estimator: ClassVar = "NumbersRegressor"
    spec: ClassVar = RegressionSpec

    @classmethod
    def build(cls, target: str, values: ArrayLike, parts: Mapping[Part, ArrayLike]) -> NodeRegression:
        """Build from a number per node, and node numbers per part."""
        index = {part: torch.as_tensor(np.asarray(parts[part], np.int64)) for part in PARTS}
        return cls(target, torch.as_tensor(np.asarray(values, np.float32)), index)

    target_types = property(lambda self: (self.target,))
    outputs = property(lambda self: 1)

    def size(self, part: Part) -> int:
        """Nodes of a part."""
        return len(self.parts[part])

    def check(self, graph: HeteroGraph) -> None:
        """There must be a number for every node."""
        if graph.num_nodes[graph.schema.check_type(self.target)] != len(self.values):
            raise DiffmgError(f"there must be a number per {self.target!r} node, but got {len(self.values)}")

    def to(self, device: Any) -> NodeRegression:
        """Elsewhere."""
        return replace(self, values=self.values.to(device), parts={p: i.to(device) for p, i in self.parts.items()})

    def permuted(self, orders: Any) -> NodeRegression:
        """Nodes in another order."""
        if self.target not in orders:
            return self
        places = torch.from_numpy(inverse(orders[self.target]))
        parts = {part: places[index] for part, index in self.parts.items()}
        return replace(self, values=self.values[torch.from_numpy(orders[self.target])], parts=parts)

    def _predicted(self, outputs: tuple[Tensor, ...]) -> Tensor:
        known = self.values[self.parts["train"]]
        return outputs[0][:, 0] * known.std() + known.mean()

    def loss(self, outputs: tuple[Tensor, ...], part: Part) -> Tensor:
        """Squared error, in units of the training part's variance."""
        index, known = self.parts[part], self.values[self.parts["train"]]
        return ((self._predicted(outputs)[index] - self.values[index]) / known.std()).square().mean()

    def scores(self, outputs: tuple[Tensor, ...], part: Part) -> dict[str, Tensor]:
        """Mean absolute error."""
        index = self.parts[part]
        return {"mae": (self._predicted(outputs)[index] - self.values[index]).abs().mean()} if len(index) else {}

    def answers(self, outputs: tuple[Tensor, ...], graph: HeteroGraph, ids: Any = None, **options: Any) -> Answers:
        """The number of each node."""
        known, values = graph.ids_of(self.target), self._predicted(outputs).numpy(force=True)
        index = slice(None) if ids is None else graph.index_of(self.target, ids)
        return Answers({self.target: known[index], "number": values[index]})

    def counts(self) -> dict[str, dict[str, int]]:
        """Nodes by part."""
        return {part: {"nodes": self.size(part)} for part in PARTS}

    def digests(self, order: Any) -> dict[str, str]:
        """Numbers and split."""
        own = order.get(self.target, np.arange(len(self.values)))
        found = {"task": "numbers", "numbers": fingerprint(self.values.numpy(force=True)[own])}
        parts = {f"split, {p}": fingerprint(np.sort(inverse(own)[i.numpy(force=True)])) for p, i in self.parts.items()}
        return found | parts

    def export(self, tables: Any) -> RegressionSpec:
        """Columns of numbers and split."""
        split = np.full(len(self.values), None, object)
        for part, index in self.parts.items():
            split[index.numpy(force=True)] = part
        tables.add_node_columns(self.target, {"number": self.values.numpy(force=True), "split": split})
        return RegressionSpec(self.target, "number", "split")

    def with_other_test_labels(self) -> NodeRegression:
        """Other numbers in the test part."""
        values = self.values.clone()
        values[self.parts["test"]] += 1
        return replace(self, values=values)


class NumbersRegressor(Estimator):
    """Predicts numbers."""

    _kind = "numbers"
