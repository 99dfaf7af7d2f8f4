"""What a batch asks of its device: copies beside the epochs, and how torch draws random numbers there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

from diffmg.engine.device import on_host

THREADS = 256
"""Threads of a block of torch's kernel that draws random numbers; each thread draws four at a time."""


@contextmanager
def copying(device: torch.device, after: torch.Event | None = None) -> Iterator[None]:
    """Work on a stream of its own, beside the epochs, once `after` has come; wait for it at the end."""
    if on_host(device):
        yield
        return
    streams = torch.get_device_module(device)
    stream = streams.Stream(device, priority=-1)  # of another pool than those that capture epochs
    if after is not None:
        stream.wait_event(after)
    with streams.stream(stream):
        yield
    stream.synchronize()


def queued(device: torch.device) -> torch.Event | None:
    """An event that comes when all that was queued so far is done; None where nothing is queued."""
    return None if on_host(device) else torch.get_device_module(device).current_stream(device).record_event()


def staged(value: Tensor, device: torch.device) -> Tensor:
    """A tensor of the host where the device can read it by itself: the host need not wait for the copy."""
    return value if on_host(device) else value.pin_memory()


def to_host(tensors: Mapping[str, Tensor], device: torch.device) -> dict[str, Tensor]:
    """Copies on the host, through memory that the device writes by itself; to be called while `copying`."""
    if on_host(device):
        return dict(tensors)
    written = {name: t.to("cpu", non_blocking=True) for name, t in tensors.items()}
    torch.get_device_module(device).current_stream(device).synchronize()
    return {name: t.clone() for name, t in written.items()}


def still_read(value: Tensor) -> None:
    """Keep the memory of a tensor from another stream until what is queued on this one has read it."""
    if not on_host(value.device):
        value.record_stream(torch.get_device_module(value.device).current_stream(value.device))


def drawing_threads(count: int, device: torch.device) -> int:
    """Threads with which torch draws this many numbers."""
    card = torch.get_device_module(device).get_device_properties(device)
    most = card.multi_processor_count * (card.max_threads_per_multi_processor // THREADS)
    return THREADS * int(min(most, -(-count // THREADS)))
