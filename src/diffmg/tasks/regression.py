"""Predict one or several numbers of the nodes of one type."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from diffmg.core import TASKS, DiffmgError, Part, unknown
from diffmg.core.arrow import as_column
from diffmg.core.details import Details
from diffmg.core.task import Examples
from diffmg.graph.fingerprint import fingerprint
from diffmg.graph.network import HeteroGraph
from diffmg.tasks.answers import Answers, free_names
from diffmg.tasks.by_id import column_of, in_node_order, label_names
from diffmg.tasks.details import residuals
from diffmg.tasks.labels import Shares, split_by_id, split_numbers
from diffmg.tasks.node_labels import check_parts, node_numbers
from diffmg.tasks.node_task import LabelTimes, NodeTask, with_keys
from diffmg.tasks.numbers import (
    LOSSES,
    SCORES,
    Floats,
    Loss,
    Scale,
    as_rows,
    check_names,
    check_varies,
    side_by_side,
    strata,
)
from diffmg.tasks.regression_spec import RegressionSpec

if TYPE_CHECKING:
    from diffmg.tables.export import TablesOut

__all__ = ["NodeRegression", "RegressionSpec"]

UNEQUAL = 10.0
"""Ratio of standard deviations from which on a mean error of several columns is that of the largest."""


@TASKS.add("regression")
@dataclass(frozen=True, repr=False)
class NodeRegression(NodeTask):
    """Numbers per node: `values` is (n, T) in the user's units, NaN where unknown.

    A network learns them standardised by `scale`, that of the training part. Folds and refits keep it, so that the
    outputs of their models can be averaged.
    """

    target: str
    values: Tensor
    parts: Mapping[Part, Tensor]
    scale: Scale
    names: tuple[str, ...]
    metric: str = "mae"
    error: Loss = "mae"
    """The training loss."""
    when: LabelTimes | None = None
    """When labels are predicted and known, for folds that go forward in time."""
    scaled: Tensor = field(init=False)
    """The values as a network learns them, (n, T)."""

    kind: ClassVar = "regression"
    summary: ClassVar = "predict numbers of the nodes of one type: one a node, or several"
    metrics: ClassVar = {"mae": "min", "rmse": "min", "r2": "max"}
    verb: ClassVar = "predict"
    rivals: ClassVar = ("boosting", "mlp", "label_propagation")
    estimator: ClassVar = "NodeRegressor"
    spec: ClassVar = RegressionSpec
    missing: ClassVar = "NaN"
    numeric: ClassVar = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "scaled", self.scale.standardised(self.values))

    @classmethod
    def build(
        cls,
        target: str,
        values: ArrayLike,
        *,
        train: ArrayLike,
        val: ArrayLike,
        test: ArrayLike = (),
        names: Sequence[str] | None = None,
        metric: str = "mae",
        loss: Loss = "mae",
    ) -> NodeRegression:
        """Build from numbers, (n,) or (n, T), and node numbers or a mask per part, checking everything."""
        if metric not in cls.metrics:
            raise unknown("metric", metric, cls.metrics)
        if loss not in get_args(Loss):
            raise unknown("loss", loss, get_args(Loss))
        rows = as_rows(values)
        known = names or (["number"] if rows.shape[1] == 1 else [f"number{i}" for i in range(rows.shape[1])])
        check_names(known, rows.shape[1])
        given: dict[Part, ArrayLike] = {"train": train, "val": val, "test": test}
        parts = {part: node_numbers(part, index, len(rows)) for part, index in given.items()}
        check_parts(target, np.asarray(~np.isnan(rows).any(axis=1)), parts)
        scale = Scale.of(rows[parts["train"]], known)
        if metric == "r2":
            check_varies(rows[parts["val"]], known)
        tensors = {part: torch.from_numpy(index) for part, index in parts.items()}
        return cls(target, torch.from_numpy(rows), tensors, scale, tuple(known), metric, loss)

    @classmethod
    def from_column(
        cls,
        target: str,
        *columns: Any,
        split: Any = None,
        shares: Shares = (0.6, 0.2, 0.2),
        seed: int = 0,
        names: Sequence[str] | None = None,
        metric: str = "mae",
        loss: Loss = "mae",
        ids: ArrayLike | None = None,
    ) -> NodeRegression:
        """Build from columns of numbers in the order of the nodes: lists, or of numpy, pandas, polars or Arrow.

        None and NaN are nodes without a number. `split` is a column of train, val, test or nothing; without it nodes
        are divided by `shares`, at random from `seed`. With `ids` the split is drawn by id, so that it is the same for
        any order of the nodes.
        """
        if not columns:
            raise DiffmgError("a regression needs one or more columns of numbers, but got none")
        own = names or [f"number {i}" for i in range(len(columns))]
        values = side_by_side([as_column(column, "the numbers") for column in columns], own)
        if split is not None:
            parts = split_numbers(as_column(split, "the split"), "the split")
        else:
            parts = split_by_id(strata(values), shares, seed, ids)
        return cls.build(target, values, **parts, names=names, metric=metric, loss=loss)

    @classmethod
    def from_frame(
        cls,
        graph: HeteroGraph,
        target: str,
        frame: Any,
        *,
        id_column: str | None = None,
        label: str | Sequence[str] | None = None,
        split: str | None = None,
        **options: Any,
    ) -> NodeRegression:
        """Build from a frame of pandas, polars or Arrow (or columns by name) with ids and numbers, in any order.

        The ids are in `id_column`, or the one called like the type or `id`, or else the first; the numbers are in
        `label`, one or several columns, or the only other column. Nodes without a row have no number; ids that no node
        has, missing and double ones are errors. `split` names a column; a random split is drawn by id. `options` are
        those of `from_column`.
        """
        table, own = in_node_order(graph, target, frame, id_column, "the labels")
        names = label_names(table, label, (own, split))
        given = None if split is None else column_of(table, split, "the labels")
        options = {"names": names, "split": given, "ids": graph.ids_of(target)} | options
        return cls.from_column(target, *(table.column(name) for name in names), **options)

    @property
    def nodes(self) -> int:
        """As many as there are rows of numbers, known or not."""
        return len(self.values)

    @property
    def outputs(self) -> int:
        """One column per number."""
        return len(self.names)

    def to(self, device: torch.device | str) -> NodeRegression:
        """The same task with its tensors on another device."""
        parts = {part: index.to(device) for part, index in self.parts.items()}
        return replace(self, values=self.values.to(device), parts=parts, scale=self.scale.to(device))

    def loss(self, outputs: tuple[Tensor, ...], part: Part) -> Tensor:
        """The mean loss of the standardised numbers."""
        index = self.parts[part]
        return LOSSES[self.error](outputs[0][index], self.scaled[index])

    def scores(self, outputs: tuple[Tensor, ...], part: Part) -> dict[str, Tensor]:
        """Mean absolute error, root mean squared error, and R²; of several numbers, the means of theirs."""
        index = self.parts[part]
        if not len(index):
            return {}
        predicted, true = self.scale.restored(outputs[0][index]), self.values[index]
        return {name: score(predicted, true) for name, score in SCORES.items()}

    def evaluate(self, outputs: tuple[Tensor, ...], part: Part) -> tuple[Tensor, Tensor]:
        """The loss and the selection metric."""
        return self.loss(outputs, part), self.score_votes(outputs[0][self.parts[part]].detach(), part)

    def final_scores(self, outputs: tuple[Tensor, ...], part: Part) -> dict[str, Tensor]:
        """Of several numbers, also the scores of each."""
        found, index = self.scores(outputs, part), self.parts[part]
        if not found or self.outputs == 1:
            return found
        predicted, true = self.scale.restored(outputs[0][index]), self.values[index]
        for i, name in enumerate(self.names):
            found |= {f"{m} of {name}": score(predicted[:, [i]], true[:, [i]]) for m, score in SCORES.items()}
        return found

    def details(self, outputs: tuple[Tensor, ...], part: Part, graph: HeteroGraph) -> Details | None:  # noqa: ARG002
        """Predictions beside the truth."""
        index = self.parts[part]
        predicted, true = (x.numpy(force=True) for x in (self.scale.restored(outputs[0][index]), self.values[index]))
        if not len(index) or not np.isfinite(predicted).all():
            return None
        columns = zip(self.names, true.T, predicted.T, strict=True)
        return Details(residuals=tuple(residuals(name, t, p) for name, t, p in columns))

    def votes(self, outputs: tuple[Tensor, ...], part: Part) -> Tensor:
        """Predictions, standardised."""
        return outputs[0][self.parts[part]]

    def score_votes(self, votes: Tensor, part: Part) -> Tensor:
        """The selection metric of averaged predictions, also of a task with scores of its own."""
        if type(self).scores is NodeRegression.scores:
            return SCORES[self.metric](self.scale.restored(votes), self.values[self.parts[part]])
        return self.scores((self.placed(votes, part),), part)[self.metric]

    def blend(self, outputs: Sequence[tuple[Tensor, ...]], weights: Sequence[float]) -> tuple[Tensor, ...]:
        """The weighted mean of the predictions."""
        several = zip(weights, outputs, strict=True)
        return (torch.stack([w * z[0] for w, z in several]).sum(dim=0) / sum(weights),)

    def standard_error(self, score: float) -> float:
        """Of the validation score, as if errors were normally distributed; 0 for a score of another kind."""
        factor = {"mae": math.sqrt(math.pi / 2 - 1), "rmse": math.sqrt(0.5), "r2": math.sqrt(2)}.get(self.metric, 0.0)
        base = 1 - score if self.metric == "r2" else score
        return factor * base / math.sqrt(max(1, self.size("val"))) if math.isfinite(base) else 0.0

    def blind_votes(self, part: Part) -> Tensor:
        """The same numbers for every node: the medians of the training part, or where squares count the means."""
        if self.metric != "mae":
            return torch.zeros_like(self.scaled[self.parts[part]])
        medians = np.median(self.scaled[self.parts["train"]].numpy(force=True), axis=0)
        return torch.from_numpy(medians).to(self.scaled.device).expand(self.size(part), -1)

    @property
    def blind_words(self) -> str:
        """What `blind_votes` are."""
        return f"the training {'median' if self.metric == 'mae' else 'mean'} for every node"

    def known_labels(self) -> Tensor:
        """The standardised numbers of training nodes, and a column that is 1 for them, (n, T + 1)."""
        index, found = self.parts["train"], self.scaled.new_zeros(len(self.scaled), self.outputs + 1)
        found[index] = F.pad(self.scaled[index], (0, 1), value=1.0)
        return found

    def linear_outputs(self, fitted: Tensor) -> tuple[Tensor, ...]:
        """The columns of the numbers, as they are."""
        return (fitted[:, : self.outputs],)

    def predictions(self, outputs: tuple[Tensor, ...]) -> Floats:
        """Numbers in the user's units, (n, T)."""
        return np.asarray(self.scale.restored(outputs[0]).numpy(force=True))

    def answers(self, outputs: tuple[Tensor, ...], graph: HeteroGraph, ids: Any = None, **options: Any) -> Answers:
        """The number of each node as `prediction`; of several, a column for each by its name."""
        if options:
            raise unknown("option of a regression's answers:", next(iter(options)), ())
        predicted, known = self.predictions(outputs), graph.ids_of(self.target)
        if ids is not None:
            index = graph.index_of(self.target, ids)
            predicted, known = predicted[index], known[index]
        names = ["prediction"] if self.outputs == 1 else list(self.names)
        columns = dict(zip(free_names(names, (self.target,)), predicted.T, strict=True))
        return with_keys(Answers({self.target: known} | columns, exact=frozenset(columns)), graph, self.target)

    def answer_of(self, outputs: tuple[Tensor, ...], nodes: tuple[int, ...]) -> tuple[Tensor, str]:  # noqa: ARG002
        """The number in the user's units; of several, the first."""
        numbers = self.scale.restored(outputs[0][:1])[0]
        several = zip(self.names, numbers.tolist(), strict=True)
        words = [f"{v:.6g}" if self.outputs == 1 else f"{name} {v:.6g}" for name, v in several]
        return numbers[0], ", ".join(words)

    def counts(self) -> dict[str, dict[str, float]]:
        """By part, the number of nodes, and mean and standard deviation of each number."""
        found: dict[str, dict[str, float]] = {}
        for part, index in self.parts.items():
            found[str(part)] = {"nodes": len(index)}
            for name, column in zip(self.names, self.values[index].T, strict=True) if len(index) else ():
                moments = {"mean": float(column.mean()), "std": float(column.std(correction=0))}
                of = "" if self.outputs == 1 else f" of {name}"
                found[str(part)] |= {f"{what}{of}": value for what, value in moments.items()}
        return found

    def examples(self) -> Examples:
        """The numbers of training and validation nodes."""
        nodes, held = self.known_nodes()
        values = self.values.numpy(force=True)[nodes]
        return Examples("number", (nodes,), values[:, 0] if values.shape[1] == 1 else values, held)

    def digests(self, order: Mapping[str, NDArray[np.int64]]) -> dict[str, str]:
        """Names, numbers, their scale, the loss, and each part of the split."""
        values, perm = self.values.numpy(force=True), order.get(self.target)
        rows = np.where(np.isnan(values), np.nan, values)[slice(None) if perm is None else perm]
        found = {"task": f"regression of {self.target}", "metric": self.metric, "loss": self.error}
        found |= {"numbers": ", ".join(self.names), "scale": self.scale.describe()}
        found["labels"] = f"{int((~np.isnan(values).any(axis=1)).sum())} labels #{fingerprint(rows)}"
        return found | self.split_digests(perm)

    def permuted(self, orders: Mapping[str, NDArray[np.int64]]) -> NodeRegression:
        """The same numbers on nodes in another order."""
        if self.target not in orders:
            return self
        order, device = orders[self.target], self.values.device
        return replace(
            self,
            values=self.values[torch.from_numpy(order).to(device)],
            parts=self.parts_in(order),
            when=self.when_in(order),
        )

    def export(self, tables: TablesOut) -> RegressionSpec:
        """Columns of numbers and split."""
        values = self.values.numpy(force=True)
        taken = {"split", *tables.columns[str(tables.description.nodes[self.target].table)]}
        names = [f"{name} (predicted)" if name in taken else name for name in self.names]
        tables.add_node_columns(self.target, dict(zip(names, values.T, strict=True)) | {"split": self.split_column()})
        return RegressionSpec(self.target, tuple(names), "split", metric=self.metric, loss=self.error)

    def with_other_test_labels(self) -> NodeRegression:
        """The same task with every test number larger by a standard deviation."""
        values = self.values.clone()
        values[self.parts["test"]] += self.scale.std
        return replace(self, values=values)

    def doubts(self) -> tuple[str, ...]:
        """A note where a mean over several numbers would be that of the largest."""
        stds = self.scale.std.tolist()
        if self.metric == "r2" or max(stds) < UNEQUAL * min(stds):
            return ()
        largest = self.names[stds.index(max(stds))]
        return (
            f"{self.metric} is the mean over {', '.join(self.names)}, which differ in scale: {largest} decides; "
            'metric = "r2" weighs them alike',
        )

    def __repr__(self) -> str:
        return f"NodeRegression({self.describe()}; {', '.join(self.names)}: {self.scale.describe()})"
