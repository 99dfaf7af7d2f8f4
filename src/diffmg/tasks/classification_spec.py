"""How labels of nodes are read from tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from diffmg.core import TASKS
from diffmg.core.task import Reading
from diffmg.tasks.class_balance import check_weights, note_on_rare, rare_classes, weights_in_words
from diffmg.tasks.labels import are_numbers, class_numbers
from diffmg.tasks.node_label_spec import NodeLabelSpec
from diffmg.tasks.ranking import RANKED
from diffmg.tasks.regression_spec import RegressionSpec

if TYPE_CHECKING:
    from diffmg.tables.network import Network


@dataclass(frozen=True)
class ClassificationSpec(NodeLabelSpec):
    """Label the nodes of a type by a column of its table; several columns of 0 and 1 are several labels a node."""

    metric: str | None = None
    """The metric that chooses; the task's own where none is given."""
    classes: tuple[Any, ...] | None = None
    """Classes in order; those of the column, sorted, where none are given."""
    positive: Any = None
    """The positive one of two classes, for `average_precision`; the rarer in training where none is given."""
    class_weight: Any = None
    """How much classes weigh in the loss: "balanced" for equal totals, or a table of class = weight."""
    kind: str = ""
    """Where it is "classification", a label of numbers is read as classes; without it, as numbers (`regression`)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights(self.class_weight)

    @classmethod
    def matches(cls, given: Mapping[str, Any]) -> bool:
        """It names a target or a label, and nothing that only a regression has."""
        return ("label" in given or "target" in given) and not RegressionSpec.matches(given)

    def read(self, tables: Network) -> Reading:
        """Labels and split, from columns or drawn by id; a regression where labels are numbers, unless told."""
        if self._are_numbers(tables):
            return self._as_regression().read(tables).noting(self._recognised())
        labels, classes = self._labels(tables)
        parts = self.parts(tables, labels if labels.ndim == 1 else np.where((labels >= 0).all(axis=1), 0, -1))
        metric = {} if self.metric is None else {"metric": self.metric}
        options = {"positive": self.positive, "class_weight": self.class_weight}
        build = TASKS.get("classification").build  # type: ignore[attr-defined]  # by name: the task has this spec
        task = build(self.target, labels, **parts, classes=classes, **metric, **options)
        rare = rare_classes(task.labels[task.parts["train"]], classes)
        noted = rare and self.metric not in RANKED and self.class_weight is None
        return Reading(task.dated(tables.when), {}, (note_on_rare(rare),) if noted else ())

    def lines(self) -> list[str]:
        """What is predicted, and how it is split."""
        lines = super().lines()
        if self.metric in RANKED:
            of = "" if self.positive is None else f" of {self.positive}"
            lines.append(f"chosen by {self.metric}{of}")
        if self.class_weight is not None:
            lines.append(f"weights of classes in the loss: {weights_in_words(self.class_weight)}")
        return lines

    def _are_numbers(self, tables: Network) -> bool:
        shared = {f.name for f in fields(NodeLabelSpec)}
        told = any(getattr(self, f.name) != f.default for f in fields(self) if f.name not in shared)
        return not told and any(are_numbers(tables.node_column(self.target, name)) for name in self.label)

    def _recognised(self) -> str:
        return (
            f"label {', '.join(self.label)}: numbers, so it is a regression; "
            'for classes, say kind = "classification" in [task]'
        )

    def _as_regression(self) -> RegressionSpec:
        return RegressionSpec(**{f.name: getattr(self, f.name) for f in fields(NodeLabelSpec)})

    def _labels(self, tables: Network) -> tuple[NDArray[np.int64], list[Any]]:
        columns = [tables.node_column(self.target, name) for name in self.label]
        if len(columns) == 1:
            return class_numbers(columns[0], f"the label column {self.label[0]!r}", self.classes)
        marks = [
            class_numbers(_zeros_and_ones(values), f"the label column {name!r}, one of several,", (0, 1))[0]
            for name, values in zip(self.label, columns, strict=True)
        ]
        return np.stack(marks, axis=1), list(self.label if self.classes is None else self.classes)


def _zeros_and_ones(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return values.cast(pa.int64()) if pa.types.is_boolean(values.type) else values
