"""The parameters of our models in the naive reference, and what came of them back in our names."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from benchmarks.reference import Tower, Towers
from diffmg.nn import Affine, Encoder, Model

CLOSE = {"rtol": 1e-4, "atol": 1e-6}
"""Two orders of summation in single precision."""


def copy_tower(encoder: Encoder, tower: Tower) -> None:
    """Put an encoder's parameters into a tower; types the encoder does not read keep theirs."""
    places = list(tower.network.num_nodes)
    for node_type, projection in zip(encoder.node_types, encoder.projections, strict=True):
        _copy(projection, tower.projections[places.index(node_type)])
    _copy(encoder.shared, tower.shared)
    tower.norm.load_state_dict(encoder.norm.state_dict())


def copy_model(ours: Model, theirs: Towers) -> None:
    """Put a model's parameters into the reference's."""
    for encoder, tower in zip(ours.towers, theirs.towers, strict=True):
        copy_tower(encoder, tower)
    if isinstance(ours.head, Affine):
        _copy(ours.head, theirs.head)


def tower_values(encoder: Encoder, tower: Tower, what: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
    """A tower's parameters, or their gradients, by the names and in the shapes of the encoder's."""
    places = list(tower.network.num_nodes)
    found = dict(_linear("shared", tower.shared, what))
    for number, node_type in enumerate(encoder.node_types):
        found |= _linear(f"projections.{number}", tower.projections[places.index(node_type)], what)
    return found | {f"readout.norm.{name}": what(p) for name, p in tower.norm.named_parameters()}


def model_values(ours: Model, theirs: Towers, what: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
    """The same of a whole model."""
    found: dict[str, Tensor] = {}
    for number, (encoder, tower) in enumerate(zip(ours.towers, theirs.towers, strict=True)):
        found |= {f"towers.{number}.{name}": x for name, x in tower_values(encoder, tower, what).items()}
    return found | (_linear("head", theirs.head, what) if isinstance(theirs.head, nn.Linear) else {})


def gradient(parameter: Tensor) -> Tensor:
    """The gradient of a parameter; none is zero."""
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad


def value(parameter: Tensor) -> Tensor:
    """The parameter itself."""
    return parameter.detach()


def gradients(module: nn.Module) -> dict[str, Tensor]:
    """Gradients of all parameters of a module by name."""
    return {name: gradient(p) for name, p in module.named_parameters()}


def _copy(affine: Affine, linear: nn.Linear) -> None:
    with torch.no_grad():
        linear.weight.copy_(affine.weight.T)
        linear.bias.copy_(affine.bias)


def _linear(name: str, linear: nn.Linear, what: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
    return {f"{name}.weight": what(linear.weight).T, f"{name}.bias": what(linear.bias)}
