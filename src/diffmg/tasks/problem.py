"""A network with a task on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from diffmg.core import DiffmgError, Engine, MetaGraph, Settings, Source, Task, compile_program
from diffmg.core.space import check_fits
from diffmg.graph.network import CONVERTERS, HeteroGraph


@dataclass(frozen=True)
class Problem:
    """A network and a task that fits it; the task's answers cannot be read off the network."""

    graph: HeteroGraph
    task: Task
    source: Source = field(default_factory=Source)
    """Where it was read from; without a name if it was built in Python."""
    description: Mapping[str, Any] | None = None
    """Of a timed network, how it is built from tables, as plain values: a model needs it for newer data."""

    def __post_init__(self) -> None:
        self.task.check(self.graph)

    @classmethod
    def from_ratings(cls, ratings: Any, **options: Any) -> Problem:
        """A ranking of items for users from a frame of pandas, polars or Arrow (or columns by name), a row a choice.

        `user`, `item` and `rating` name the columns, where they are not called as usual; without a rating every row was
        liked. The columns' names are the node types. `users` and `items`, if given, are frames with an id first and
        columns that become features. Other options are those of a ranking in `[task]`: liked, time, metric, k ...
        """
        made: Problem = CONVERTERS.get("from_ratings")(ratings, **options)
        return made

    def to(self, device: torch.device | str, engine: Engine | None = None) -> Problem:
        """The same problem on another device, or with other switches of the engine."""
        moved = self
        if self.graph.device.type != torch.device(device).type:
            moved = replace(self, graph=self.graph.to(device), task=self.task.to(device))
        if engine is None or engine == moved.graph.engine:
            return moved
        return replace(moved, graph=replace(moved.graph, engine=engine))

    def evened(self, settings: Settings) -> Problem:
        """The same problem as a training with these settings sees it: with classes evened out in the loss."""
        return replace(self, task=self.task.evened(settings.balance)) if settings.balance else self

    def permuted(self, orders: Mapping[str, NDArray[np.int64]]) -> Problem:
        """The same problem with its nodes in another order: node j of a type was node `orders[type][j]`."""
        return replace(self, graph=self.graph.permuted(orders), task=self.task.permuted(orders)) if orders else self

    def __repr__(self) -> str:
        return f"Problem({self.task.describe()}\n  on {self.graph!r})"

    def arranged(self, metagraphs: Sequence[MetaGraph]) -> tuple[MetaGraph, ...]:
        """The meta graphs in the order of the task's target types, one for each, checked against the network."""
        by_target = {m.target: check_fits(m, self.graph.schema) for m in metagraphs}
        targets = self.task.target_types
        if len(metagraphs) != len(targets) or set(by_target) != set(targets):
            raise DiffmgError(
                f"the task needs one meta graph for each of {list(targets)}, but got {[m.target for m in metagraphs]}"
            )
        for metagraph in metagraphs:
            if not compile_program(metagraph).steps:
                raise DiffmgError(
                    f"something must reach the target of a meta graph, but got only empty links: {metagraph}"
                )
        return tuple(by_target[t] for t in targets)
