"""How numbers of nodes are read from tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diffmg.core import TASKS
from diffmg.core.task import Reading
from diffmg.tasks.node_label_spec import NodeLabelSpec
from diffmg.tasks.numbers import SCORES, Loss, check_known, side_by_side, strata

if TYPE_CHECKING:
    from diffmg.tables.network import Network


@dataclass(frozen=True)
class RegressionSpec(NodeLabelSpec):
    """Predict numbers of the nodes of a type, in a column of its table or in several."""

    metric: str = "mae"
    loss: Loss = "mae"
    """What training lowers, on standardised numbers: the absolute error, Huber's, or the squared one."""

    @classmethod
    def matches(cls, given: Mapping[str, Any]) -> bool:
        """It has a label, and a metric or a loss that only a regression has."""
        return "label" in given and ("loss" in given or str(given.get("metric")) in SCORES)

    def read(self, tables: Network) -> Reading:
        """Numbers and split, from columns or drawn by id."""
        values = side_by_side([tables.node_column(self.target, name) for name in self.label], self.label)
        check_known(values, self.label)
        parts = self.parts(tables, strata(values))
        build = TASKS.get("regression").build  # type: ignore[attr-defined]  # by name: the task has this spec
        task = build(self.target, values, **parts, names=self.label, metric=self.metric, loss=self.loss)
        return Reading(task.dated(tables.when), {}, task.doubts())
