"""DiffMG's differentiable search (Algorithm 1 of the paper)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from diffmg.gpu import fused
from diffmg.gpu.sampled import OnDevice
from diffmg.metagraph import MetaGraph
from diffmg.nn import EncoderOptions, Model
from diffmg.options import check_rules, check_types
from diffmg.randomness import generator
from diffmg.space import SearchSpace
from diffmg.strategies._base import STRATEGIES, Search, Strategy, spaces_of
from diffmg.train import Epoch, Problem, TrainSettings
from diffmg.train.state import load_module, load_optimizer, module_state, optimizer_state
from diffmg.train.stepping import Reports, Steps, adam, update

if TYPE_CHECKING:
    from diffmg.gpu.propagation import Wired

    Chosen = Sequence[MetaGraph] | Wired

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
    all_alpha: bool = False
    """Update every α of a link at once: the update of λ mixes all candidates, that of the weights keeps the sample.

    One reading of "DiffMG (DARTS)" in the paper's ablation, which "optimizes all architecture parameters of a mixed
    operation simultaneously" and does not say what the weights see; the strategy `darts`, which mixes in both
    updates, is the other.
    """

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
            "not (single_level and all_alpha)": not (self.single_level and self.all_alpha),
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
        mask = torch.arange(width) >= self.counts.unsqueeze(1)
        self.mask, self.places = mask.to(device), (~mask).flatten().nonzero().squeeze(1).to(device)

    def alpha(self) -> Tensor:
        """Softmax over the candidates of each link, Eq. (6)."""
        return self.parameter.masked_fill(self.mask, -torch.inf).softmax(dim=1)

    def best(self) -> Tensor:
        """The arg-max candidate of each link."""
        return self.alpha().argmax(dim=1)

    def weights(self, picks: Tensor) -> Tensor:
        """The α of the picked candidates: all others get no gradient (Proposition 1)."""
        return self.alpha().gather(1, picks.unsqueeze(1)).squeeze(1)

    def listed(self, table: Tensor) -> Tensor:
        """A table (links, columns) as weights of `space.everything()`: its entries in the order of the choices."""
        return table.flatten().index_select(0, self.places)

    def metagraph(self, picks: Tensor) -> MetaGraph:
        """The meta graph of the picked candidates."""
        return self.space.metagraph(tuple(picks.tolist()))


@dataclass(frozen=True)
class Exploration:
    """What chance decides in every epoch of a search, drawn before it starts; Eq. (11)."""

    explores: Tensor
    """(epochs, links): whether the link takes a random candidate instead of the arg-max."""
    anything: Tensor
    """(epochs, links): the random candidate."""

    @classmethod
    def draw(cls, options: DiffMG, towers: Sequence[Architecture], seed: int) -> list[Exploration]:
        """One per tower, from one stream."""
        draw = generator("cpu", seed, "sample")
        epsilon = options.epsilon * options.decay ** torch.arange(options.epochs).unsqueeze(1)
        tables = []
        for tower in towers:
            shape = (options.epochs, len(tower.counts))
            tosses = torch.rand(shape if options.coin == "link" else (options.epochs, 1), generator=draw)
            anything = (torch.rand(shape, generator=draw) * tower.counts).long()
            explores = (tosses < epsilon).expand(shape)
            tables.append(cls(explores.to(tower.mask.device), anything.to(tower.mask.device)))
        return tables

    def pick(self, best: Tensor, done: Tensor) -> Tensor:
        """A candidate per link for the epoch after `done` others."""
        explores, anything = self.explores.index_select(0, done), self.anything.index_select(0, done)
        return torch.where(explores[0], anything[0], best)


class DiffMGSearch(Search):
    """Live state of one search."""

    def __init__(self, options: DiffMG, problem: Problem, depth: int, dim: int, seed: int) -> None:
        self.options, self.problem, self.total = options, problem, options.epochs
        graph = problem.graph
        spaces = spaces_of(problem, depth, options.identity_last)
        types = [graph.schema.node_types] * len(spaces)
        self.model = Model(graph, types, problem.task.outputs, EncoderOptions(dim, "plain"), seed)
        draw = generator("cpu", seed, "architecture")
        self.towers = [Architecture(space, draw, graph.device) for space in spaces]
        self.exploration = Exploration.draw(options, self.towers, seed)
        self.optimizer = adam(list(self.model.parameters()), options.lr, options.weight_decay)
        self.arch_optimizer = adam([t.parameter for t in self.towers], options.arch_lr, 0.0)
        self.on_device = OnDevice.of(spaces, graph) if fused(graph) else None
        self.steps = Steps(self._epoch, graph, self.total, waits=self.on_device is None)

    def found(self) -> tuple[MetaGraph, ...]:
        """The arg-max of every link."""
        return tuple(tower.metagraph(tower.best()) for tower in self.towers)

    def advance(self) -> Sequence[Epoch]:
        """Samples, with both updates on each."""
        records = self.steps.advance(self.epoch)
        self.epoch = records[-1].epoch
        return records

    def _epoch(self, done: Tensor) -> Reports:
        with torch.no_grad():
            picks = [e.pick(t.best(), done) for t, e in zip(self.towers, self.exploration, strict=True)]
        chosen = self._metagraphs(picks) if self.on_device is None else self.on_device.wired(picks)
        return (self._single_level if self.options.single_level else self._two_levels)(chosen, picks)

    def _metagraphs(self, picks: Sequence[Tensor]) -> list[MetaGraph]:
        return [t.metagraph(p) for t, p in zip(self.towers, picks, strict=True)]

    def _two_levels(self, chosen: Chosen, picks: Sequence[Tensor]) -> Reports:
        graph, task = self.problem.graph, self.problem.task
        weights = [t.weights(p) for t, p in zip(self.towers, picks, strict=True)]
        train_loss = task.loss(self.model(graph, chosen, [w.detach() for w in weights]), "train")
        update(self.optimizer, train_loss)
        if self.options.all_alpha:
            chosen = [t.space.everything() for t in self.towers]
            weights = [t.listed(t.alpha()) for t in self.towers]
        with frozen(self.model):
            val_loss, score = task.evaluate(self.model(graph, chosen, weights), "val")
            update(self.arch_optimizer, val_loss)
        return train_loss, val_loss, score

    def _single_level(self, chosen: Chosen, picks: Sequence[Tensor]) -> Reports:
        task = self.problem.task
        outputs = self._weighted(chosen, picks)
        train_loss = task.loss(outputs, "train")
        val_loss, score = task.evaluate(outputs, "val")
        share = task.size("train") / (task.size("train") + task.size("val"))
        self.arch_optimizer.zero_grad()
        update(self.optimizer, share * train_loss + (1 - share) * val_loss)
        self.arch_optimizer.step()
        return train_loss, val_loss, score

    def _weighted(self, chosen: Chosen, picks: Sequence[Tensor]) -> tuple[Tensor, ...]:
        weights = [t.weights(p) for t, p in zip(self.towers, picks, strict=True)]
        outputs: tuple[Tensor, ...] = self.model(self.problem.graph, chosen, weights)
        return outputs

    def tensors(self) -> dict[str, Tensor]:
        """Weights, architecture, the moments of both."""
        state = module_state("model", self.model) | optimizer_state("adam", self.optimizer)
        state |= optimizer_state("arch_adam", self.arch_optimizer)
        return state | {f"arch.{i}": t.parameter.detach().cpu().clone() for i, t in enumerate(self.towers)}

    def numbers(self) -> dict[str, Any]:
        """Nothing: what chance decides follows from the seed."""
        return {}

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:  # noqa: ARG002
        """Go on from a saved state."""
        load_module("model", self.model, tensors)
        load_optimizer("adam", self.optimizer, tensors)
        load_optimizer("arch_adam", self.arch_optimizer, tensors)
        with torch.no_grad():
            for i, tower in enumerate(self.towers):
                tower.parameter.copy_(tensors[f"arch.{i}"])


@contextmanager
def frozen(module: torch.nn.Module) -> Iterator[None]:
    """Within it, no gradient for the module's parameters is computed."""
    module.requires_grad_(False)
    try:
        yield
    finally:
        module.requires_grad_(True)
