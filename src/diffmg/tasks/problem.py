"""A network with a task on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from diffmg.core.engine import Engine
from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import MetaGraph
from diffmg.core.program import compile_program
from diffmg.core.space import check_fits
from diffmg.graph.network import HeteroGraph
from diffmg.tasks import Task


@dataclass(frozen=True)
class Problem:
    """A network and a task that fits it; the task's answers cannot be read off the network."""

    graph: HeteroGraph
    task: Task

    def __post_init__(self) -> None:
        self.task.check(self.graph)

    def to(self, device: torch.device | str, engine: Engine | None = None) -> Problem:
        """The same problem on another device, or with other switches of the engine."""
        there = self
        if self.graph.device.type != torch.device(device).type:
            there = Problem(self.graph.to(device), self.task.to(device))
        if engine is None or engine == there.graph.engine:
            return there
        return Problem(replace(there.graph, engine=engine), there.task)

    def arranged(self, metagraphs: Sequence[MetaGraph]) -> tuple[MetaGraph, ...]:
        """The meta graphs in the order of the task's target types, one for each, all of them fitting the network."""
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
