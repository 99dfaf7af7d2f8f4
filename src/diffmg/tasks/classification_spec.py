"""How labels of nodes are read from tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from diffmg.core import TASKS, Bounds, DiffmgError, TaskSpec
from diffmg.core.task import Reading
from diffmg.tasks.class_balance import note_on_rare, rare_classes, weights_in_words
from diffmg.tasks.labels import class_numbers, random_split, split_numbers
from diffmg.tasks.ranking import RANKED

if TYPE_CHECKING:
    from diffmg.tables.description import Description
    from diffmg.tables.network import Network


@dataclass(frozen=True)
class ClassificationSpec(TaskSpec):
    """Label the nodes of a type by a column of its table."""

    target: str
    label: tuple[str, ...]
    """The column of labels, or several columns of 0 and 1 for several labels a node."""
    split: str | None = None
    """Column of train, val and test; random and stratified where there is none."""
    shares: tuple[float, float, float] = (0.6, 0.2, 0.2)
    seed: Annotated[int, Bounds(0)] = 0
    """Draws a random split, by id: the order of rows does not matter."""
    metric: str = "macro_f1"
    classes: tuple[Any, ...] | None = None
    """Classes in order; those of the column, sorted, where none are given."""
    held_back: tuple[str, ...] = ()
    """Other columns that would tell the label, and so are no features."""
    positive: Any = None
    """The positive one of two classes, for `average_precision`; the rarer in training where none is given."""
    class_weight: Any = None
    """How much classes weigh in the loss: "balanced" for equal totals, or a table of class = weight."""

    def rules(self) -> dict[str, bool]:
        """There must be a label."""
        return {"label has a name": len(self.label) >= 1}

    @property
    def label_names(self) -> tuple[str, ...]:
        """The columns of labels."""
        return self.label

    @classmethod
    def matches(cls, given: Mapping[str, Any]) -> bool:
        """It names a target or a label."""
        return "label" in given or "target" in given

    def check(self, description: Description) -> None:
        """The labels are known, and are neither features nor edges."""
        table = description.table_of(self.target)
        if table is None:
            raise DiffmgError(f"labels come from the table of {self.target!r}, but got a type without one")
        leaks = sorted(description.columns_in_use(table) & set(self.label))
        if leaks:
            raise DiffmgError(
                f"a label must be no feature, id or edge of the network, or the answer leaks, but got {leaks} as both"
            )

    def columns(self, description: Description) -> dict[str, set[str]]:
        """Labels, split, and what would tell the label."""
        columns = {*self.label, *self.held_back, *([self.split] if self.split else [])}
        return {str(description.table_of(self.target)): columns}

    def read(self, tables: Network) -> Reading:
        """Labels and split, from columns or drawn by id."""
        labels, classes = self._labels(tables)
        if self.split is not None:
            parts = split_numbers(tables.node_column(self.target, self.split), f"the split column {self.split!r}")
        else:
            strata = labels if labels.ndim == 1 else np.where((labels >= 0).all(axis=1), 0, -1)
            parts = random_split(strata, self.shares, self.seed)
        options = {"metric": self.metric, "positive": self.positive, "class_weight": self.class_weight}
        build = TASKS.get("classification").build  # type: ignore[attr-defined]  # by name: the task has this spec
        task = build(self.target, labels, **parts, classes=classes, **options)
        rare = rare_classes(task.labels[task.parts["train"]], classes)
        noted = rare and self.metric not in RANKED and self.class_weight is None
        return Reading(task, {}, (note_on_rare(rare),) if noted else ())

    def lines(self) -> list[str]:
        """What is predicted, and how it is split."""
        shares = " / ".join(f"{share:g}" for share in self.shares)
        split = f"split from column {self.split}" if self.split else f"random split {shares}, seed {self.seed}"
        lines = [f"task: predict {', '.join(self.label)} of {self.target}; {split}"]
        if self.held_back:
            lines.append(f"held back, since they may tell the label: {', '.join(self.held_back)}")
        if self.metric in RANKED:
            of = "" if self.positive is None else f" of {self.positive}"
            lines.append(f"chosen by {self.metric}{of}")
        if self.class_weight is not None:
            lines.append(f"weights of classes in the loss: {weights_in_words(self.class_weight)}")
        return lines

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
