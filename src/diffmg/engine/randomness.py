"""Torch generators, seeded for a purpose."""

import torch

from diffmg.core import derive_seed


def generator(device: torch.device | str, seed: int, *purpose: object) -> torch.Generator:
    """A torch generator on `device`, seeded for a purpose."""
    return torch.Generator(device=device).manual_seed(derive_seed(seed, *purpose))
