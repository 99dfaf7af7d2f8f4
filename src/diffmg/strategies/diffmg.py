"""DiffMG's differentiable search (Algorithm 1 of the paper)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from diffmg.metagraph import MetaGraph
from diffmg.nn import EncoderOptions, Model
from diffmg.options import check_rules, check_types
from diffmg.randomness import generator
from diffmg.space import SearchSpace
from diffmg.strategies._base import STRATEGIES, Search, Strategy, spaces_of
from diffmg.train import Epoch, Problem, TrainSettings
from diffmg.train.state import load_module, load_optimizer, module_state, optimizer_state

Coin = Literal["link", "tower"]
ARCH_SCALE = 1e-3


@STRATEGIES.add("diffmg")
@dataclass(frozen=True)
class DiffMG(Strategy):
    """Options of the search; the defaults are the paper's."""

    epochs: int = 100
    lr: float = 0.005
    weight_decay: float = 0.001
    arch_lr: float = 3e-4
    epsilon: float = 0.3
    """Probability of a uniformly random operation at the start."""
    decay: float = 0.9
    """Factor on epsilon after each epoch."""
    coin: Coin = "link"
    """Toss for exploration once per link, or once per tower as the authors' program does."""
    identity_last: bool = False
    """Also allow identity on the link K <- K-1, as the authors' program does."""
    single_level: bool = False
    """Update weights and architecture on one loss over train and validation together."""

    summary = "the paper's differentiable search, one sampled operation a link"

    def __post_init__(self) -> None:
        check_types(self)
        rules = {
            "epochs >= 1": self.epochs >= 1,
            "lr > 0": self.lr > 0,
            "weight_decay >= 0": self.weight_decay >= 0,
            "arch_lr > 0": self.arch_lr > 0,
            "0 <= epsilon <= 1": 0 <= self.epsilon <= 1,
            "0 <= decay <= 1": 0 <= self.decay <= 1,
        }
        check_rules(self, rules)

    def start(self, problem: Problem, depth: int, settings: TrainSettings, seed: int) -> Search:
        """A search with fresh weights and architecture parameters."""
        return DiffMGSearch(self, problem, depth, settings.dim, seed)


class Architecture:
    """λ of one tower: a row per link, a column per candidate, unused columns masked."""

    def __init__(self, space: SearchSpace, draw: torch.Generator, device: torch.device) -> None:
        self.space = space
        self.counts = torch.tensor([len(c) for c in space.candidates])
        width = int(self.counts.max())
        start = ARCH_SCALE * torch.randn(len(self.counts), width, generator=draw)
        self.parameter = start.to(device).requires_grad_()
        self.mask = (torch.arange(width) >= self.counts.unsqueeze(1)).to(device)

    def alpha(self) -> Tensor:
        """Softmax over the candidates of each link, Eq. (6)."""
        return self.parameter.masked_fill(self.mask, -torch.inf).softmax(dim=1)

    def best(self) -> Tensor:
        """The arg-max candidate of each link, on the host."""
        return self.alpha().argmax(dim=1).cpu()

    def sample(self, epsilon: float, coin: Coin, draw: torch.Generator) -> Tensor:
        """A candidate per link: arg-max, or with probability epsilon a uniformly random one, Eq. (11)."""
        tosses = torch.rand(len(self.counts) if coin == "link" else 1, generator=draw)
        anything = (torch.rand(len(self.counts), generator=draw) * self.counts).long()
        return torch.where(tosses < epsilon, anything, self.best())

    def weights(self, picks: Tensor) -> Tensor:
        """The α of the picked candidates: all others get no gradient (Proposition 1)."""
        return self.alpha().gather(1, picks.to(self.mask.device).unsqueeze(1)).squeeze(1)

    def metagraph(self, picks: Tensor) -> MetaGraph:
        """The meta graph of the picked candidates."""
        return self.space.metagraph(tuple(picks.tolist()))


class DiffMGSearch(Search):
    """Live state of one search."""

    def __init__(self, options: DiffMG, problem: Problem, depth: int, dim: int, seed: int) -> None:
        self.options, self.problem = options, problem
        self.total, self.epsilon = options.epochs, options.epsilon
        graph, device = problem.graph, problem.graph.device
        spaces = spaces_of(problem, depth, options.identity_last)
        types = [graph.schema.node_types] * len(spaces)
        self.model = Model(graph, types, problem.task.outputs, EncoderOptions(dim, "plain"), seed)
        draw = generator("cpu", seed, "architecture")
        self.towers = [Architecture(space, draw, device) for space in spaces]
        self.draw = generator("cpu", seed, "sample")
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=options.lr, weight_decay=options.weight_decay, fused=True
        )
        self.arch_optimizer = torch.optim.Adam([t.parameter for t in self.towers], lr=options.arch_lr, fused=True)

    def found(self) -> tuple[MetaGraph, ...]:
        """The arg-max of every link."""
        return tuple(tower.metagraph(tower.best()) for tower in self.towers)

    def advance(self) -> Epoch:
        """One sample, both updates on it."""
        picks = [t.sample(self.epsilon, self.options.coin, self.draw) for t in self.towers]
        metagraphs = [t.metagraph(p) for t, p in zip(self.towers, picks, strict=True)]
        step = self._single_level if self.options.single_level else self._two_levels
        train_loss, val_loss, val_score = step(metagraphs, picks)
        self.epsilon *= self.options.decay
        self.epoch += 1
        return Epoch(self.epoch, float(train_loss), float(val_loss), float(val_score))

    def _two_levels(self, metagraphs: Sequence[MetaGraph], picks: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        graph, task = self.problem.graph, self.problem.task
        self.optimizer.zero_grad()
        weights = [t.weights(p).detach() for t, p in zip(self.towers, picks, strict=True)]
        train_loss = task.loss(self.model(graph, metagraphs, weights), "train")
        train_loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        with _frozen(self.model):
            outputs = self._weighted(metagraphs, picks)
            val_loss = task.loss(outputs, "val")
            self._update_architecture(val_loss)
        return train_loss.detach(), val_loss.detach(), task.scores(outputs, "val")[task.metric].detach()

    def _single_level(self, metagraphs: Sequence[MetaGraph], picks: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        task = self.problem.task
        self.optimizer.zero_grad()
        outputs = self._weighted(metagraphs, picks)
        train_loss, val_loss = task.loss(outputs, "train"), task.loss(outputs, "val")
        share = task.size("train") / (task.size("train") + task.size("val"))
        union = share * train_loss + (1 - share) * val_loss
        self.arch_optimizer.zero_grad()
        union.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.arch_optimizer.step()
        return train_loss.detach(), val_loss.detach(), task.scores(outputs, "val")[task.metric].detach()

    def _weighted(self, metagraphs: Sequence[MetaGraph], picks: Sequence[Tensor]) -> tuple[Tensor, ...]:
        weights = [t.weights(p) for t, p in zip(self.towers, picks, strict=True)]
        outputs: tuple[Tensor, ...] = self.model(self.problem.graph, metagraphs, weights)
        return outputs

    def _update_architecture(self, loss: Tensor) -> None:
        self.arch_optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.arch_optimizer.step()

    def tensors(self) -> dict[str, Tensor]:
        """Weights, architecture, the moments of both, the sampling stream."""
        state = module_state("model", self.model) | optimizer_state("adam", self.optimizer)
        state |= optimizer_state("arch_adam", self.arch_optimizer) | {"sample": self.draw.get_state()}
        return state | {f"arch.{i}": t.parameter.detach().cpu().clone() for i, t in enumerate(self.towers)}

    def numbers(self) -> dict[str, Any]:
        """The exploration rate."""
        return {"epsilon": self.epsilon}

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:
        """Go on from a saved state."""
        load_module("model", self.model, tensors)
        load_optimizer("adam", self.optimizer, tensors)
        load_optimizer("arch_adam", self.arch_optimizer, tensors)
        self.draw.set_state(tensors["sample"])
        self.epsilon = numbers["epsilon"]
        with torch.no_grad():
            for i, tower in enumerate(self.towers):
                tower.parameter.copy_(tensors[f"arch.{i}"])


@contextmanager
def _frozen(module: torch.nn.Module) -> Iterator[None]:
    """Within it, no gradient for the module's parameters is computed."""
    module.requires_grad_(False)
    try:
        yield
    finally:
        module.requires_grad_(True)
