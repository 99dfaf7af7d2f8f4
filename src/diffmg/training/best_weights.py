"""The best epoch's parameters, kept without a GPU synchronisation."""

import torch
from torch import Tensor, nn

ALIGN = 64
"""Parameters start at multiples of this many numbers, so that kernels can read them in wide loads."""


class BestWeights:
    """Moves a model's parameters into one contiguous buffer and keeps a copy of the best epoch's."""

    def __init__(self, model: nn.Module, patience: int | None) -> None:
        self.patience = patience
        self.layout: dict[str, tuple[int, torch.Size]] = {}
        end = 0
        for name, p in model.named_parameters():
            self.layout[name] = (end, p.shape)
            end += -(-p.numel() // ALIGN) * ALIGN
        first = next(model.parameters())
        self.buffer = torch.zeros(end, dtype=first.dtype, device=first.device)
        views = self._views(self.buffer)
        for name, p in model.named_parameters():
            p.data = views[name].copy_(p.data)
        self.best_buffer = torch.zeros_like(self.buffer)
        self.value = torch.full((1,), -torch.inf, dtype=torch.float64, device=first.device)
        self.epoch = torch.zeros(1, dtype=torch.int64, device=first.device)

    def update(self, epoch: Tensor, value: Tensor) -> None:
        """Keep the parameters of a finished epoch if its value is the highest so far and patience has not run out."""
        better = value.double() > self.value
        if self.patience is not None:
            better &= epoch - 1 - self.epoch < self.patience
        if better.is_cpu:
            if better:
                self._keep(self.buffer, value.double().view(1), epoch)
            return
        pairs = ((self.buffer, self.best_buffer), (value, self.value), (epoch, self.epoch))
        self._keep(*(torch.where(better, new, old) for new, old in pairs))

    def _keep(self, parameters: Tensor, value: Tensor, epoch: Tensor) -> None:
        self.best_buffer.copy_(parameters)
        self.value.copy_(value)
        self.epoch.copy_(epoch)

    def best(self) -> dict[str, Tensor]:
        """The parameters of the best epoch by name, as views; empty before there is one."""
        return self._views(self.best_buffer) if self.epoch > 0 else {}

    def restore(self, parameters: dict[str, Tensor], value: float, epoch: int) -> None:
        """Resume from a checkpoint."""
        views = self._views(self.best_buffer)
        for name, p in parameters.items():
            views[name].copy_(p)
        self.value.fill_(value)
        self.epoch.fill_(epoch)

    def _views(self, buffer: Tensor) -> dict[str, Tensor]:
        return {name: buffer[a : a + shape.numel()].view(shape) for name, (a, shape) in self.layout.items()}
