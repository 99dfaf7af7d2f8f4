"""Where to compute."""

from __future__ import annotations

import torch

from diffmg.core.errors import DiffmgError, unknown

CHOICES = ("auto", "cpu", "cuda")


def resolve_device(choice: str) -> torch.device:
    """`auto` takes a GPU where there is one."""
    if choice not in CHOICES:
        raise unknown("device", choice, CHOICES)
    available = torch.cuda.is_available()
    if choice == "cuda" and not available:
        raise DiffmgError(
            f"device {choice!r} needs a GPU that torch {torch.__version__} can use, but got none; use 'cpu'"
        )
    return torch.device("cuda" if available and choice != "cpu" else "cpu")


def describe_device(device: torch.device) -> str:
    """The device in words."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"cpu, {torch.get_num_threads()} threads"
