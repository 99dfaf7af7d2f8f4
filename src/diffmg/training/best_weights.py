"""Keeping the best epoch's parameters, without asking a GPU for a value."""

import torch
from torch import Tensor, nn

ALIGN = 64
"""Parameters start at multiples of this many numbers, so that kernels can read them in wide loads."""


class BestWeights:
    """Lays a model's parameters out in one block of memory, and keeps a copy of it from the best epoch."""

    def __init__(self, model: nn.Module, patience: int | None) -> None:
        self.patience = patience
        self.places: dict[str, tuple[int, torch.Size]] = {}
        end = 0
        for name, p in model.named_parameters():
            self.places[name] = (end, p.shape)
            end += -(-p.numel() // ALIGN) * ALIGN
        first = next(model.parameters())
        self.now = torch.zeros(end, dtype=first.dtype, device=first.device)
        views = self._views(self.now)
        for name, p in model.named_parameters():
            p.data = views[name].copy_(p.data)
        self.kept = torch.zeros_like(self.now)
        self.value = torch.full((1,), -torch.inf, dtype=torch.float64, device=first.device)
        self.epoch = torch.zeros(1, dtype=torch.int64, device=first.device)

    def update(self, epoch: Tensor, value: Tensor) -> None:
        """An epoch is over: keep its parameters if its value is the highest and patience had not run out before."""
        better = value.double() > self.value
        if self.patience is not None:
            better &= epoch - 1 - self.epoch < self.patience
        if better.is_cpu:
            if better:
                self._keep(self.now, value.double().view(1), epoch)
            return
        pick = torch.where
        self._keep(pick(better, self.now, self.kept), pick(better, value, self.value), pick(better, epoch, self.epoch))

    def _keep(self, parameters: Tensor, value: Tensor, epoch: Tensor) -> None:
        self.kept.copy_(parameters)
        self.value.copy_(value)
        self.epoch.copy_(epoch)

    def best(self) -> dict[str, Tensor]:
        """The parameters of the best epoch by name, as views; nothing before there is one."""
        return self._views(self.kept) if self.epoch > 0 else {}

    def restore(self, parameters: dict[str, Tensor], value: float, epoch: int) -> None:
        """Go on from a saved state."""
        views = self._views(self.kept)
        for name, p in parameters.items():
            views[name].copy_(p)
        self.value.fill_(value)
        self.epoch.fill_(epoch)

    def _views(self, block: Tensor) -> dict[str, Tensor]:
        return {name: block[a : a + shape.numel()].view(shape) for name, (a, shape) in self.places.items()}
