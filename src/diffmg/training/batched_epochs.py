"""Epochs of a batch: one update and one evaluation of every slot, captured once on a GPU and replayed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from diffmg.core.settings import Aggregate
from diffmg.engine.backend import Backend, fused
from diffmg.engine.batched_device import copying, queued, still_read, to_host
from diffmg.engine.batched_slots import Shape, Slots
from diffmg.engine.batched_tables import stacked_tables
from diffmg.engine.layout import KernelTables
from diffmg.engine.replay import Replay
from diffmg.nn.batched import BatchedModel, Steps, slice_of
from diffmg.nn.batched_plain import PlainBatch
from diffmg.tasks.problem import Problem
from diffmg.training.batched_loading import Prepared, Trial, occupant, prepare, program_values, slot_values
from diffmg.training.batched_scores import objective_of
from diffmg.training.epochs import weak_method

BLOCK = 5
"""Epochs a GPU runs before the host looks which trainings have ended; it looks while the next ones run."""
BETAS = (0.9, 0.999)
EPSILON = 1e-8

Variant = tuple[Aggregate, bool]
"""How messages are aggregated, and whether with self loops."""
Rows = Sequence[Sequence[Sequence[float]]]
"""For each epoch and each slot, validation loss and score."""


@dataclass(frozen=True)
class Taken:
    """Parameters that were copied out of a slot, on the device."""

    parameters: dict[str, Tensor]
    copied: torch.Event | None
    """When they are there."""

    def on_host(self, device: torch.device) -> dict[str, Tensor]:
        """Copy them to the host, while epochs run."""
        with copying(device, self.copied):
            return to_host(self.parameters, device)


class BatchedEpochs:
    """Slots of one shape and the epochs that train all of them."""

    def __init__(self, problem: Problem, shape: Shape, variants: Sequence[Variant]) -> None:
        self.problem, self.shape, self.variants = problem, shape, tuple(variants)
        graph = problem.graph
        self.device, self.fused = graph.device, fused(graph)
        self.slots = Slots.empty(shape, self.device)
        self.tables: KernelTables | None = None
        self.steps = self._steps()
        self.model = BatchedModel(shape, self.slots, self.steps, graph)
        objective = objective_of(problem.task, fused=self.fused)
        assert objective is not None, "only trainings that can be batched are"
        self.objective = objective
        zeros = {name: torch.zeros_like(p) for name, p in self.model.parameters.items()}
        self.first, self.second, self.best = ({n: z.detach().clone() for n, z in zeros.items()} for _ in range(3))
        self.keep = self._masks() if shape.draws else None
        self.best_value = torch.zeros(shape.slots, dtype=torch.float64, device=self.device)
        self.best_epoch = torch.zeros(shape.slots, dtype=torch.int64, device=self.device)
        self.position = torch.zeros(1, dtype=torch.int64, device=self.device)
        captures = Backend.of(graph).captures
        self.block = BLOCK if captures else 1
        self.records = torch.zeros(self.block, shape.slots, 2, dtype=torch.float64, device=self.device)
        self.replay = Replay(weak_method(self.epoch), self.device) if captures else None

    def _steps(self) -> Steps:
        if not self.fused:
            return PlainBatch(self.shape, self.slots)
        from diffmg.engine.batched import Batch

        graph = self.problem.graph
        self.tables = stacked_tables([graph.aggregated(a, self_loops=loops) for a, loops in self.variants])
        return Batch(self.shape, self.slots, self.tables)

    def _masks(self) -> Tensor:
        size = (self.shape.slots, self.shape.towers, self.shape.nodes, self.shape.dim)
        return torch.zeros(size, dtype=torch.uint8 if self.fused else torch.float32, device=self.device)

    def prepare(self, on_host: Problem, trial: Trial) -> Prepared:
        """Make a trial ready to be loaded, on a stream of its own: epochs go on meanwhile."""
        with copying(self.device):
            prepared = prepare(on_host, trial, self.device)
        values = slot_values(prepared, self.shape, self.problem.graph)
        if self.tables is not None:
            values |= program_values(prepared, self.shape, self.problem.graph, self.tables, self.variants)
        return replace(prepared, values=values)

    def load(self, slot: int, prepared: Prepared) -> None:
        """Put a trial into a slot."""
        self.clear(slot)
        self.slots.set(slot, prepared.values)
        with torch.no_grad():
            for name, value in prepared.parameters.items():
                slice_of(self.model.parameters, slot, prepared.places[name]).copy_(value)
                still_read(value)
        if isinstance(self.steps, PlainBatch):
            self.steps.occupants[slot] = occupant(self.problem, prepared)
        self.best_value[slot] = -torch.inf
        self.best_epoch[slot] = 0

    def clear(self, slot: int) -> None:
        """Empty a slot: it computes as little as possible, and nothing that counts."""
        self.slots.set(slot, {})
        for bias in self.model.biases:
            bias.detach()[slot] = 0
        if isinstance(self.steps, PlainBatch):
            self.steps.occupants.pop(slot, None)
            for values in (self.model.parameters, self.first, self.second):
                for value in values.values():
                    value.detach()[slot] = 0

    def taken(self, slot: int, prepared: Prepared) -> Taken:
        """A copy of a slot's best parameters, on the device."""
        parameters = {name: slice_of(self.best, slot, place).clone() for name, place in prepared.places.items()}
        return Taken(parameters, queued(self.device))

    @property
    def lag(self) -> int:
        """How many blocks of epochs may be queued while those of an earlier one are not yet looked at."""
        return 0 if self.replay is None else 1

    def launch(self) -> Callable[[], Rows]:
        """Queue the next epochs; the result waits for them.

        What is loaded, cleared or taken afterwards is so when they are over.
        """
        self.slots.upload()
        self.position.zero_()
        self.slots.host["step"] += self.block
        if self.replay is None:
            self.epoch()
            rows: Rows = self.records.tolist()
            return lambda: rows
        self.replay(self.block)
        records = self.replay.read(self.records)
        return lambda: records().tolist()

    def epoch(self) -> None:
        """One update and one evaluation of every slot."""
        if self.keep is not None:
            self.steps.draw(self.keep)
        gradients = self.gradients()
        with torch.no_grad():
            self._adam(gradients)
            self.slots["step"].add_(1)
            loss, score = (x.double() for x in self.objective.evaluate(self.model, self.model.encode(None)))
            self._keep_best(loss, score)
            self.records.index_copy_(0, self.position, torch.stack([loss, score], dim=1).unsqueeze(0))
            self.position.add_(1)

    def gradients(self) -> dict[str, Tensor]:
        """Gradients of every slot's training loss by its parameters."""
        with torch.enable_grad():
            outputs = self.model.encode(self.keep)
        by_output, found = self.objective.gradients(self.model, outputs)
        behind = {name: p for name, p in self.model.parameters.items() if name not in found}
        return found | dict(zip(behind, torch.autograd.grad(outputs, list(behind.values()), by_output), strict=True))

    def _adam(self, gradients: dict[str, Tensor]) -> None:
        step = (self.slots["step"] + 1).double()
        rates = (self.slots["lr"] / (1 - BETAS[0] ** step)).float()
        roots = (1 - BETAS[1] ** step).sqrt().float()
        for name, p in self.model.parameters.items():
            tensors = (p.detach(), gradients[name].contiguous(), self.first[name], self.second[name])
            if self.fused:
                from diffmg.engine.batched_updates import adam_step

                adam_step(self.slots, name, tensors, rates, roots)
            else:
                there = self.slots[f"there.{name}"]
                moved = _like(there, p) * _like(rates, p)
                _adam_step(tensors, _like(self.slots["decay"], p), moved, _like(roots, p))

    def _keep_best(self, loss: Tensor, score: Tensor) -> None:
        slots = self.slots
        value = torch.where(slots["by_loss"] > 0, -loss, self.problem.task.sign * score)
        better = (value > self.best_value) & (slots["step"] - 1 - self.best_epoch < slots["patience"])
        better &= slots["step"] <= slots["max_epochs"]
        self.best_value.copy_(torch.where(better, value, self.best_value))
        self.best_epoch.copy_(torch.where(better, slots["step"], self.best_epoch))
        for name, p in self.model.parameters.items():
            if self.fused:
                from diffmg.engine.batched_updates import keep_better

                keep_better(slots, name, p.detach(), self.best[name], better.to(torch.uint8))
            else:
                self.best[name].copy_(torch.where(_like(better, p), p, self.best[name]))


def _adam_step(tensors: Sequence[Tensor], decay: Tensor, rate: Tensor, root: Tensor) -> None:
    p, grad, first, second = tensors
    grad = grad + decay * p
    first.mul_(BETAS[0]).add_(grad, alpha=1 - BETAS[0])
    second.mul_(BETAS[1]).addcmul_(grad, grad, value=1 - BETAS[1])
    p.sub_(rate * first / (second.sqrt() / root + EPSILON))


def _like(values: Tensor, parameter: Tensor) -> Tensor:
    """Values per slot, or per slot and tower, shaped to multiply a parameter."""
    return values.view(*values.shape, *[1] * (parameter.ndim - values.ndim))
