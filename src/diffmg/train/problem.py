"""A network with a task on it."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from diffmg.graph import HeteroGraph
from diffmg.task import Task


@dataclass(frozen=True)
class Problem:
    """A network and a task that fits it; the task's answers cannot be read off the network."""

    graph: HeteroGraph
    task: Task

    def __post_init__(self) -> None:
        self.task.check(self.graph)

    def to(self, device: torch.device | str) -> Problem:
        """The same problem on another device."""
        return (
            self if self.graph.device == torch.device(device) else Problem(self.graph.to(device), self.task.to(device))
        )
