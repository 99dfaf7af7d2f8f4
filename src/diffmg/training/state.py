"""State of modules, optimisers and generators as flat dictionaries of named tensors."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn


def module_state(prefix: str, module: nn.Module) -> dict[str, Tensor]:
    """Copies of a module's parameters."""
    return {f"{prefix}.{name}": t.detach().cpu().clone() for name, t in module.state_dict().items()}


def load_module(prefix: str, module: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Load a module's parameters."""
    module.load_state_dict(take(prefix, tensors))


def optimizer_state(prefix: str, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Moments and step counts of every parameter that has been updated."""
    return {
        f"{prefix}.{number}.{name}": value.detach().cpu().clone()
        for number, state in optimizer.state_dict()["state"].items()
        for name, value in state.items()
    }


def load_optimizer(prefix: str, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Load an optimiser's moments and step counts."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in take(prefix, tensors).items():
        number, _, key = name.partition(".")
        state.setdefault(int(number), {})[key] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def take(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose name starts with `prefix.`, without it."""
    return {name.removeprefix(f"{prefix}."): t for name, t in tensors.items() if name.startswith(f"{prefix}.")}
