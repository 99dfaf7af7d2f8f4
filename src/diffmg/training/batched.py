"""Training many candidates as one program: slots of a batch, refilled as trainings end."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from diffmg.core import DiffmgError, Settings
from diffmg.engine.backend import MOST_TYPES, fused
from diffmg.engine.batched_slots import Shape
from diffmg.engine.device import free_bytes
from diffmg.graph.network import HeteroGraph
from diffmg.tasks.problem import Problem
from diffmg.training.batched_epochs import BatchedEpochs, Rows, Taken
from diffmg.training.batched_loading import Prepared, Trial, one_draw, programs_of
from diffmg.training.batched_scores import objective_of

WORKERS = min(8, os.cpu_count() or 1)
"""Threads that draw first parameters and copy results while epochs run."""
MOST_SLOTS = 64
WORK = 8e8
"""Bytes of one state of all slots that keep a GPU busy; more gain nothing."""
GROWING = "depth", "messages", "parts", "draws"
"""Sizes of a shape that may be larger than a trial needs."""
PARTS = 32
"""Room for the parts of a program grows by so many: the next trials seldom need more, and a new capture."""
SPARE = 0.8
"""The share of free memory that a batch may use."""

Kind = tuple[int, float]
"""What the trainings of one program share of their settings: the dimension, and how much classes are evened out."""

__all__ = ["BatchedTrainer", "Trained", "Trial", "batchable", "train_batched"]


@dataclass(frozen=True)
class Trained:
    """What a training came to."""

    best_value: float
    """What was maximised: the score, negated where lower is better, or the negative loss."""
    best_score: float
    best_epoch: int
    epochs: int
    weights: dict[str, Tensor]
    """The best epoch's parameters on the host, named as in the model; empty if no epoch had a number for a score."""
    val_loss: float
    """Validation loss of the best epoch."""


def batchable(problem: Problem, settings: Settings) -> bool:
    """Whether trainings with these settings can share a batch."""
    s, engine = settings, problem.graph.engine
    plain = s.states == "last" and s.select != "last" and not (s.residual or s.counts or s.vectors or s.label_inputs)
    drops = s.input_dropout > 0 or s.message_dropout > 0
    small = len(problem.graph.schema.node_types) <= MOST_TYPES
    known = objective_of(problem.task, fused=False) is not None
    return plain and not drops and small and known and not engine.columns and engine.storage == "float32"


def train_batched(problem: Problem, trials: Sequence[Trial], slots: int | None = None) -> list[Trained]:
    """Train every trial, many in one program; results in the order of the trials.

    Each is what `ModelTraining` would give, within rounding. `slots` is how many are trained at the same time; None
    chooses it from the size of the network and the free memory.
    """
    return BatchedTrainer(problem, slots).train(trials)


class BatchedTrainer:
    """Keeps its programs, so that the next trials of the same shape need no new capture."""

    def __init__(self, problem: Problem, slots: int | None = None) -> None:
        if slots is not None and slots < 1:
            raise DiffmgError(f"`slots >= 1` must hold, but got slots={slots}")
        self.problem, self.slots = problem, slots
        self.on_host = problem.to("cpu")
        self.programs: dict[Kind, BatchedEpochs] = {}

    def train(self, trials: Sequence[Trial]) -> list[Trained]:
        """Train every trial; results in order."""
        for trial in trials:
            if not batchable(self.problem, trial.settings):
                raise DiffmgError(
                    f"a batch trains only what `batchable` allows, but got {trial.settings}; use `ModelTraining` for it"
                )
            self.problem.arranged(trial.metagraphs)
        groups: dict[Kind, list[int]] = {}
        for number, trial in enumerate(trials):
            groups.setdefault((trial.settings.dim, trial.settings.balance), []).append(number)
        found: dict[int, Trained] = {}
        for kind, numbers in groups.items():
            members = [trials[n] for n in numbers]
            found |= dict(zip(numbers, _Group(self._program(kind, members), self.on_host, members).run(), strict=True))
        return [found[n] for n in range(len(trials))]

    def _program(self, kind: Kind, trials: Sequence[Trial]) -> BatchedEpochs:
        """The program of a group: an earlier one if it fits, or one for these trials and the earlier ones."""
        old = self.programs.get(kind)
        variants = sorted(
            {(t.settings.aggregate, t.settings.self_loops) for t in trials} | set(old.variants if old else ())
        )
        shape = self._shape(trials, old.shape if old else None)
        if old is None or (old.shape, list(old.variants)) != (shape, variants):
            old = None
            self.programs.pop(kind, None)
            self.programs[kind] = BatchedEpochs(self.problem.evened(trials[0].settings), shape, variants)
        return self.programs[kind]

    def _shape(self, trials: Sequence[Trial], old: Shape | None) -> Shape:
        graph, task = self.problem.graph, self.problem.task
        types, targets = graph.schema.node_types, task.target_types
        dropped = [trial for trial in trials if trial.settings.dropout > 0]
        draws = min(1, len(dropped)) if all(map(one_draw, dropped)) else len(targets) * len(types)
        depth = max(m.depth for t in trials for m in t.metagraphs)
        programs = [program for trial in trials for program in programs_of(trial, depth, graph)]
        parts = -(-max(p.most_parts() for p in programs) // PARTS) * PARTS
        shape = Shape(
            1, targets, {t: graph.num_nodes[t] for t in types}, {t: graph.inputs(t) for t in types},
            trials[0].settings.dim, depth, max(len(m.choices) for t in trials for m in t.metagraphs), parts,
            task.outputs, any(t.settings.biases for t in trials), draws,
        )  # fmt: skip
        if old is not None:
            largest = {name: max(getattr(shape, name), getattr(old, name)) for name in GROWING}
            shape = replace(shape, **largest, biased=shape.biased or old.biased)
            if replace(old, slots=1) == shape and old.slots >= self._count(shape, len(trials)):
                return old
        return replace(shape, slots=self._count(shape, len(trials)))

    def _count(self, shape: Shape, trials: int) -> int:
        """Slots of a batch: enough to keep the device busy, no more than fit, and rounds of equal size."""
        most = self.slots or most_slots(shape, self.problem.graph)
        return -(-trials // -(-trials // most))


def most_slots(shape: Shape, graph: HeteroGraph) -> int:
    """How many trainings of a shape are worth training at once, and fit into free memory."""
    state = 4 * shape.towers * shape.nodes * shape.dim
    tables = 4 * shape.towers * shape.dim * sum(shape.inputs.values())
    captured = 2 if fused(graph) else 1
    free = free_bytes(graph.device)
    fits = MOST_SLOTS if free is None else SPARE * free / (6 * tables + captured * (3 * shape.depth + 8) * state)
    addressed = 2**31 / (state / 4 * shape.depth)
    return int(max(1, min(MOST_SLOTS, max(8, WORK / state), fits, addressed)))


@dataclass
class _Progress:
    """A training on its way."""

    number: int
    prepared: Prepared
    epoch: int = 0
    best: tuple[float, float, int, float] = (-float("inf"), -float("inf"), 0, float("nan"))
    """Value, score, epoch and validation loss of the best epoch."""
    launched: int = 0
    """Epochs that were begun."""
    ended: bool = False
    taken: Taken | None = None
    """Its best weights, once it has left its slot."""

    def add(self, loss: float, score: float, sign: int) -> None:
        """Count one epoch; those after its end do not count."""
        if self.ended:
            return
        s = self.prepared.settings
        self.epoch += 1
        value = -loss if s.select == "loss" else sign * score
        if value > self.best[0]:
            self.best = (value, score, self.epoch, loss)
        waited = self.epoch - self.best[2]
        self.ended = self.epoch >= s.max_epochs or (s.patience is not None and waited >= s.patience)

    def result(self, device: torch.device) -> Trained:
        """What came of it, on the host."""
        value, score, epoch, loss = self.best
        weights = self.taken.on_host(device) if epoch and self.taken else {}
        return Trained(value, score, epoch, self.epoch, weights, loss)


@dataclass
class _Group:
    """Trials of one shape on their way through the slots: all begin with full slots, others follow when they are ready.

    A GPU always has the next epochs waiting: what the last ones came to is looked at while they run.
    """

    epochs: BatchedEpochs
    on_host: Problem
    trials: Sequence[Trial]
    submitted: int = 0
    started: int = 0
    ahead: deque[Future[Prepared]] = field(default_factory=deque)
    running: dict[int, _Progress] = field(default_factory=dict)
    """By slot."""
    flying: deque[tuple[Callable[[], Rows], dict[int, _Progress]]] = field(default_factory=deque)
    """Epochs that were begun, and whose they are, by slot."""
    results: dict[int, Future[Trained]] = field(default_factory=dict)

    def run(self) -> list[Trained]:
        """Train all; results in order."""
        with ThreadPoolExecutor(WORKERS) as pool:
            self._look_ahead(pool)
            wait(self.ahead)  # an epoch has a cost of its own, however few it trains
            try:
                while self.ahead or self.running or self.flying:
                    self._fill()
                    self._look_ahead(pool)
                    self._launch()
                    if len(self.flying) > self.epochs.lag or not self.running:
                        self._look(pool)
            finally:
                for slot in self.running:
                    self.epochs.clear(slot)
            return [self.results[n].result() for n in range(len(self.trials))]

    def _look_ahead(self, pool: ThreadPoolExecutor) -> None:
        """Prepare the next trials while epochs run."""
        while self.submitted < len(self.trials) and len(self.ahead) < self.epochs.shape.slots:
            self.ahead.append(pool.submit(self.epochs.prepare, self.on_host, self.trials[self.submitted]))
            self.submitted += 1

    def _fill(self) -> None:
        """Put what is ready into free slots; epochs of the others need not wait for what is not."""
        free = [slot for slot in range(self.epochs.shape.slots) if slot not in self.running]
        while free and self.ahead and (self.ahead[0].done() or not (self.running or self.flying)):
            slot, prepared = free.pop(0), self.ahead.popleft().result()
            self.running[slot] = _Progress(self.started, prepared)
            self.started += 1
            self.epochs.load(slot, prepared)

    def _launch(self) -> None:
        """Begin the next epochs; trainings whose last ones these are leave their slots behind them."""
        if not self.running:
            return
        self.flying.append((self.epochs.launch(), dict(self.running)))
        for slot, progress in list(self.running.items()):
            progress.launched += self.epochs.block
            if progress.launched >= progress.prepared.settings.max_epochs:
                self._take(slot)

    def _look(self, pool: ThreadPoolExecutor) -> None:
        """Look what the earliest epochs came to."""
        rows, trainings = self.flying.popleft()
        for row in rows():
            for slot, progress in trainings.items():
                loss, score = row[slot]
                progress.add(loss, score, self.on_host.task.sign)
        for slot, progress in trainings.items():
            if progress.ended and progress.number not in self.results:
                if progress.taken is None:
                    self._take(slot)
                self.results[progress.number] = pool.submit(progress.result, self.epochs.device)

    def _take(self, slot: int) -> None:
        """Take the best weights out of a slot and free it."""
        progress = self.running.pop(slot)
        progress.taken = self.epochs.taken(slot, progress.prepared)
        self.epochs.clear(slot)
