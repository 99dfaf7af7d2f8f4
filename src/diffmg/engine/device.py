"""Device selection. Device-specific code lives here and in `replay`; everything else asks `Backend`."""

from pathlib import Path

import torch

from diffmg.core import DiffmgError, unknown

CHOICES = ("auto", "cpu", "cuda")


def resolve_device(choice: str | torch.device) -> torch.device:
    """The device of a choice; `auto` takes a GPU if there is one."""
    if isinstance(choice, torch.device):
        return choice
    if choice not in CHOICES:
        raise unknown("device", choice, CHOICES)
    available = torch.cuda.is_available()
    if choice == "cuda" and not available:
        raise DiffmgError(
            f"device {choice!r} needs a GPU that torch {torch.__version__} can use, but got none; use 'cpu'"
        )
    return torch.device("cuda" if available and choice != "cpu" else "cpu")


def describe_device(device: torch.device) -> str:
    """A readable name of the device."""
    if on_host(device):
        return f"cpu, {torch.get_num_threads()} threads"
    return torch.cuda.get_device_name(device)


def on_host(device: torch.device) -> bool:
    """Whether tensors on this device are in host memory."""
    return device.type == "cpu"


def free_bytes(device: torch.device) -> int | None:
    """Free memory of a device; None if unknown."""
    if not on_host(device):
        return int(torch.cuda.mem_get_info(device)[0])
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")), None)
