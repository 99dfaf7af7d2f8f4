"""Networks that are computed from the training labels at once, not trained by gradients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from diffmg.core import DiffmgError

if TYPE_CHECKING:
    from diffmg.graph.network import HeteroGraph
    from diffmg.tasks.problem import Problem


class Fitted(nn.Module, ABC):
    """A network without parameters: `fit` registers everything the forward pass needs as buffers.

    Building one does nothing expensive. The buffers are its state: a network that was never fitted takes whatever
    buffers a state dict holds, of any shape, so a saved network predicts without being fitted again.
    """

    _place: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("_place", torch.empty(0), persistent=False)

    @abstractmethod
    def fit(self, problem: Problem, seed: int) -> None:
        """Compute the buffers from training labels and observed edges; nothing else of the task is read."""

    @abstractmethod
    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
        """What the task scores: logits, or the representations of users and of items."""

    @property
    def device(self) -> torch.device:
        """Where the network is, even before it has any buffers."""
        return self._place.device

    @property
    def is_fitted(self) -> bool:
        """Whether `fit` was called or a state was loaded."""
        return bool(self.state_dict())

    def keep(self, **buffers: Tensor) -> None:
        """Register buffers, on the network's device, as part of its state."""
        for name, value in buffers.items():
            self.register_buffer(name, value.detach().to(self.device).contiguous())

    def kept(self, name: str) -> Tensor:
        """A buffer that `fit` registered; raises if there is none yet."""
        if name not in self._buffers:
            raise DiffmgError(
                f"a network of this kind must be fitted before it is used, but got one without {name!r}; "
                "call `fit(problem, seed)`, or load the state of a fitted one"
            )
        return self.get_buffer(name)

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *args: Any) -> None:
        for name, value in state_dict.items():
            own = name.removeprefix(prefix)
            if name.startswith(prefix) and "." not in own:
                self.keep(**{own: torch.empty_like(value, device=self.device)})
        super()._load_from_state_dict(state_dict, prefix, *args)
