"""Epochs of a job: the same code on a CPU, epoch by epoch, and on a GPU, captured and replayed in blocks."""

from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any
from weakref import WeakMethod

import torch
from torch import Tensor

from diffmg.engine.backend import Backend
from diffmg.engine.replay import Replay
from diffmg.graph.network import HeteroGraph
from diffmg.training.job import Epoch

Reports = tuple[Tensor, Tensor, Tensor]
"""Training loss, validation loss, validation score."""
BLOCK = 20
"""Epochs a GPU runs before the host reads their results."""


class EpochRunner:
    """Runs a step that trains one epoch and returns losses and score as tensors, without waiting for their values."""

    def __init__(
        self,
        step: Callable[[Tensor], Reports],
        graph: HeteroGraph,
        total: int,
        generators: Sequence[torch.Generator] = (),
        *,
        waits: bool = False,
    ) -> None:
        """`step` gets the number of finished epochs as a one-element tensor; `waits`: it reads values back."""
        self.step, self.total = weak_method(step), total
        self.done = torch.zeros(1, dtype=torch.int64, device=graph.device)
        self.records = torch.zeros(total, 3, dtype=torch.float64, device=graph.device)
        self.replay: Replay | None = None
        if Backend.of(graph).captures and not waits:
            self.replay = Replay(weak_method(self._step), graph.device, generators)
        self.launched = 0

    def launch(self, epoch: int) -> None:
        """Start the epochs after `epoch` if they run without the host; `advance` then waits for them."""
        if self.replay is not None and not self.launched:
            self.launched = min(BLOCK, self.total - epoch)
            self.done.fill_(epoch)
            self.replay(self.launched)

    def advance(self, epoch: int) -> list[Epoch]:
        """Run the next epochs after `epoch`."""
        self.launch(epoch)
        if self.replay is None:
            self.done.fill_(epoch)
            self._step()
        else:
            self.replay.wait()
        count, self.launched = max(1, self.launched), 0
        rows = self.records[epoch : epoch + count].tolist()
        return [Epoch(epoch + n + 1, *row) for n, row in enumerate(rows)]

    def _step(self) -> None:
        reports = self.step(self.done)
        row = torch.stack([report.detach().double() for report in reports])
        self.records.index_copy_(0, self.done, row.unsqueeze(0))
        self.done.add_(1)


def weak_method(method: Callable[..., Any]) -> Callable[..., Any]:
    """A bound method with a weak reference to its object, so that a dropped job frees its memory at once."""
    if not isinstance(method, MethodType):
        return method
    reference = WeakMethod(method)

    def call(*arguments: Any) -> Any:
        alive = reference()
        assert alive is not None, "a step is only called by its own job"
        return alive(*arguments)

    return call


def adam(parameters: Sequence[Tensor], lr: float, weight_decay: float) -> torch.optim.Adam:
    """Adam as one fused kernel, with its moments allocated up front so that a step can be captured."""
    optimizer = torch.optim.Adam(
        parameters, lr=lr, weight_decay=weight_decay, fused=True, capturable=not parameters[0].is_cpu
    )
    for p in parameters:
        moments = {"exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
        optimizer.state[p] = {"step": torch.zeros((), device=p.device, dtype=torch.float32)} | moments
    return optimizer


def update(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """One optimizer step; parameters that the loss does not reach get a zero gradient and still decay."""
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
    optimizer.step()
