"""Shared by gradient-based searches: options, architecture parameters λ, the two updates of an epoch, and state."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import torch
from torch import Tensor

from diffmg.core import Count, MetaGraph, NotNegative, Positive, SearchSpace, Settings
from diffmg.engine.backend import fused
from diffmg.engine.randomness import generator
from diffmg.engine.sampling import DeviceSpaces
from diffmg.methods.search._base import SearchMethod, spaces_of
from diffmg.nn import Model
from diffmg.tasks.problem import Problem
from diffmg.training import Epoch
from diffmg.training.epochs import EpochRunner, Reports, adam, update
from diffmg.training.job import Search
from diffmg.training.state import load_module, load_optimizer, module_state, optimizer_state

if TYPE_CHECKING:
    from diffmg.engine.fused import KernelMetaGraphs

    Chosen = Sequence[MetaGraph] | KernelMetaGraphs

Job = TypeVar("Job", bound="GradientSearch")
ARCH_SCALE = 1e-3
"""λ is initialised to this times N(0, 1)."""


class Architecture:
    """λ of one tower: one row per link, one column per candidate, unused columns masked."""

    def __init__(self, space: SearchSpace, draw: torch.Generator, device: torch.device) -> None:
        self.space = space
        self.counts = torch.tensor([len(c) for c in space.candidates])
        width = int(self.counts.max())
        start = ARCH_SCALE * torch.randn(len(self.counts), width, generator=draw)
        self.parameter = start.to(device).requires_grad_()
        mask = torch.arange(width) >= self.counts.unsqueeze(1)
        self.mask, self.places = mask.to(device), (~mask).flatten().nonzero().squeeze(1).to(device)

    def alpha(self) -> Tensor:
        """Softmax over the candidates of each link, Eq. (6)."""
        return self.parameter.masked_fill(self.mask, -torch.inf).softmax(dim=1)

    def best(self) -> Tensor:
        """The arg-max candidate of each link."""
        return self.alpha().argmax(dim=1)

    def weights(self, picks: Tensor) -> Tensor:
        """The α of the picked candidates; all others get no gradient (Proposition 1)."""
        return self.alpha().gather(1, picks.unsqueeze(1)).squeeze(1)

    def listed(self, table: Tensor) -> Tensor:
        """A table (links, columns) flattened to the weights of `space.everything()`, in its order."""
        return table.flatten().index_select(0, self.places)

    def metagraph(self, picks: Tensor) -> MetaGraph:
        """The meta graph of the picked candidates."""
        return self.space.metagraph(tuple(picks.tolist()))


class GradientSearch(Search):
    """A running search that updates the weights ω on the training loss and λ on the validation loss.

    Both updates are first order: ω is treated as constant in λ.
    """

    def __init__(self, options: ByGradient, problem: Problem, depth: int, dim: int, seed: int) -> None:
        self.options, self.problem, self.total, self.seed = options, problem, options.epochs, seed
        graph, spaces = problem.graph, spaces_of(problem, depth, options.identity_last)
        types = [graph.schema.node_types] * len(spaces)
        plain = Settings(dim=dim, dropout=0.0)
        self.model = Model(graph, types, problem.task.outputs, plain, seed, learned_norm=False)
        draw = generator("cpu", seed, "architecture")
        self.towers = [Architecture(space, draw, graph.device) for space in spaces]
        self.everything = tuple(space.everything() for space in spaces)
        self.optimizer = adam(list(self.model.parameters()), options.lr, options.weight_decay)
        self.arch_optimizer = adam([t.parameter for t in self.towers], options.arch_lr, 0.0)
        self.on_device = DeviceSpaces.of(spaces, graph) if fused(graph) else None
        self.steps = EpochRunner(self._epoch, graph, self.total, waits=self.on_device is None)

    @abstractmethod
    def _epoch(self, done: Tensor) -> Reports:
        """Both updates of the epoch after `done` others, without synchronising with the device."""

    def found(self) -> tuple[MetaGraph, ...]:
        """The arg-max candidate of every link."""
        return tuple(tower.metagraph(tower.best()) for tower in self.towers)

    def advance(self) -> Sequence[Epoch]:
        """Run some epochs, with both updates in each."""
        records = self.steps.advance(self.epoch)
        self.epoch = records[-1].epoch
        return records

    def _sample(self, picks: Sequence[Tensor]) -> Chosen:
        """The meta graphs of the picked candidates, one per link; on a GPU they are never copied to the host."""
        if self.on_device is not None:
            return self.on_device.metagraphs(picks)
        return [t.metagraph(p) for t, p in zip(self.towers, picks, strict=True)]

    def _update_weights(self, chosen: Chosen, weights: Sequence[Tensor] | None) -> Tensor:
        """One step of ω on the training loss; returns the loss."""
        fixed = None if weights is None else [w.detach() for w in weights]
        outputs = self.model(self.problem.graph, chosen, fixed)
        loss = self.problem.task.training_loss(outputs, self.steps.done, self.seed)
        update(self.optimizer, loss)
        return loss

    def _update_architecture(self, chosen: Chosen, weights: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """One step of λ on the validation loss, through `weights`; returns loss and score before the step."""
        self.model.requires_grad_(False)
        try:
            loss, score = self.problem.task.evaluate(self.model(self.problem.graph, chosen, weights), "val")
            update(self.arch_optimizer, loss)
        finally:
            self.model.requires_grad_(True)
        return loss, score

    def tensors(self) -> dict[str, Tensor]:
        """Weights, architecture and both optimiser states; random draws follow from the seed."""
        state = module_state("model", self.model) | optimizer_state("adam", self.optimizer)
        state |= optimizer_state("arch_adam", self.arch_optimizer)
        return state | {f"arch.{i}": t.parameter.detach().cpu().clone() for i, t in enumerate(self.towers)}

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:  # noqa: ARG002
        """Resume from a saved state."""
        load_module("model", self.model, tensors)
        load_optimizer("adam", self.optimizer, tensors)
        load_optimizer("arch_adam", self.arch_optimizer, tensors)
        with torch.no_grad():
            for i, tower in enumerate(self.towers):
                tower.parameter.copy_(tensors[f"arch.{i}"])


def straight_through(alpha: Tensor) -> Tensor:
    """Ones, with the gradient of `alpha`: messages are not scaled, but α still learns how much each one helps."""
    return 1 + (alpha - alpha.detach())


@dataclass(frozen=True)
class ByGradient(SearchMethod):
    """Options common to gradient-based searches; the defaults are the paper's."""

    epochs: Count = 100
    lr: Positive = 0.005
    weight_decay: NotNegative = 0.001
    arch_lr: Positive = 3e-4
    identity_last: bool = False
    """Also allow identity on the link K <- K-1, as the authors' code does."""

    job_class: ClassVar[type[GradientSearch]] = GradientSearch  # type: ignore[type-abstract]

    @classmethod
    def runs(cls, job: type[Job]) -> type[Job]:
        """Class decorator: sets the class of this method's searches."""
        cls.job_class = job
        return job

    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:
        """A new search with freshly initialised weights and architecture parameters."""
        return self.job_class(self, problem, self.depth, settings.dim, seed)
