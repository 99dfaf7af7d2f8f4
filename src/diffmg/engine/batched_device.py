"""What a batch asks of its device: copies beside the epochs, and how torch draws random numbers there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from diffmg.engine.device import on_host

THREADS = 256
"""Threads of a block of torch's kernel that draws random numbers; each thread draws four at a time."""


@contextmanager
def copying(device: torch.device) -> Iterator[None]:
    """Work on a stream of its own, beside the epochs, and wait for it at the end."""
    if on_host(device):
        yield
        return
    streams = torch.get_device_module(device)
    stream = streams.Stream(device, priority=-1)  # of another pool than those that capture epochs
    stream.wait_stream(streams.default_stream(device))
    with streams.stream(stream):
        yield
    stream.synchronize()


def still_read(value: Tensor) -> None:
    """Keep the memory of a tensor from another stream until what is queued on this one has read it."""
    if not on_host(value.device):
        value.record_stream(torch.get_device_module(value.device).current_stream(value.device))


def drawing_threads(count: int, device: torch.device) -> int:
    """Threads with which torch draws this many numbers."""
    card = torch.get_device_module(device).get_device_properties(device)
    most = card.multi_processor_count * (card.max_threads_per_multi_processor // THREADS)
    return THREADS * int(min(most, -(-count // THREADS)))
