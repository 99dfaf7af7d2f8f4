"""What every task offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import torch
from torch import Tensor

from diffmg.graph.network import HeteroGraph

Part = Literal["train", "val", "test"]


class Task(ABC):
    """The only place that knows whether there are one or two target types."""

    metric: str
    """The score that chooses: higher is better."""

    @property
    @abstractmethod
    def target_types(self) -> tuple[str, ...]:
        """One meta graph is searched for each of these."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Columns of the linear head after the encoder; 0 for none."""

    @abstractmethod
    def size(self, part: Part) -> int:
        """How many labelled nodes or pairs a part has."""

    @abstractmethod
    def check(self, graph: HeteroGraph) -> None:
        """Raise if the task does not fit the network or its answers can be read off it."""

    @abstractmethod
    def to(self, device: torch.device | str) -> Task:
        """The same task with its tensors elsewhere."""

    @abstractmethod
    def loss(self, outputs: tuple[Tensor, ...], part: Part) -> Tensor:
        """The training loss on a part of the split."""

    @abstractmethod
    def scores(self, outputs: tuple[Tensor, ...], part: Part) -> dict[str, Tensor]:
        """Scores cheap enough for every epoch; empty where the part is."""

    def evaluate(self, outputs: tuple[Tensor, ...], part: Part) -> tuple[Tensor, Tensor]:
        """The loss and the score that chooses, sharing what they can."""
        return self.loss(outputs, part), self.scores(outputs, part)[self.metric]

    def final_scores(self, outputs: tuple[Tensor, ...], part: Part) -> dict[str, Tensor]:
        """All scores, those that are computed once a run included."""
        return self.scores(outputs, part)

    @abstractmethod
    def fingerprint(self) -> str:
        """A hash of labels and split."""
