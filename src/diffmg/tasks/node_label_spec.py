"""The `[task]` of tasks that predict columns of the table of one node type."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from diffmg.core import Bounds, DiffmgError, Part, TaskSpec
from diffmg.tasks.labels import random_split, split_numbers

if TYPE_CHECKING:
    from diffmg.tables.description import Description
    from diffmg.tables.network import Network


@dataclass(frozen=True)
class NodeLabelSpec(TaskSpec):
    """Predict columns of the table of a type."""

    target: str
    label: tuple[str, ...]
    """The column that is predicted, or several columns."""
    split: str | None = None
    """Column of train, val and test; random where there is none, for classes stratified."""
    shares: tuple[float, float, float] = (0.6, 0.2, 0.2)
    seed: Annotated[int, Bounds(0)] = 0
    """Draws a random split, by id: the order of rows does not matter."""
    held_back: tuple[str, ...] = field(default=(), kw_only=True)
    """Other columns that would tell the label, and so are no features."""

    def rules(self) -> dict[str, bool]:
        """There must be a label, and none twice."""
        names = len(self.label)
        return {"label has a name": names >= 1, "label names each column once": len(set(self.label)) == names}

    @property
    def label_names(self) -> tuple[str, ...]:
        """The columns that are predicted."""
        return self.label

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

    def parts(self, tables: Network, strata: NDArray[np.int64]) -> dict[Part, NDArray[np.int64]]:
        """The split, from its column or drawn by id; -1 in `strata` marks rows without a label."""
        if self.split is None and tables.parts is not None:
            return {part: rows[strata[rows] >= 0] for part, rows in tables.parts.items()}
        if self.split is None:
            return random_split(strata, self.shares, self.seed)
        return split_numbers(tables.node_column(self.target, self.split), f"the split column {self.split!r}")

    def lines(self) -> list[str]:
        """What is predicted, and how it is split."""
        shares = " / ".join(f"{share:g}" for share in self.shares)
        split = f"split from column {self.split}" if self.split else f"random split {shares}, seed {self.seed}"
        lines = [f"task: predict {', '.join(self.label)} of {self.target}; {split}"]
        if self.held_back:
            lines.append(f"held back, since they may tell the label: {', '.join(self.held_back)}")
        return lines
