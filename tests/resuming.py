"""Stopping a job and taking it up again, through what a file can hold."""

from __future__ import annotations

import json
from collections.abc import Callable

import torch
from safetensors.torch import load, save

from diffmg.training import Epoch, Job


def run(job: Job, epochs: int | None = None) -> list[Epoch]:
    """Advance a job by some epochs, or to its end."""
    history: list[Epoch] = []
    while not job.done and (epochs is None or len(history) < epochs):
        history.extend(job.advance())
    return history


def resumed(job: Job, make: Callable[[], Job]) -> Job:
    """A fresh job with the state of `job`, which went through JSON and safetensors."""
    fresh = make()
    fresh.restore(load(save(job.tensors())), json.loads(json.dumps(job.numbers(), allow_nan=False)))
    fresh.epoch = job.epoch
    return fresh


def assert_same_state(one: Job, other: Job) -> None:
    """Equal bit for bit."""
    assert one.numbers() == other.numbers()
    first, second = one.tensors(), other.tensors()
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def assert_resumable(make: Callable[[], Job], epochs: int) -> None:
    """Stopped after any epoch, the job ends as if it had not been."""
    straight = make()
    history = run(straight, epochs)
    for stop in range(1, epochs):
        stopped = make()
        run(stopped, stop)
        again = resumed(stopped, make)
        assert run(again, epochs - stop) == history[stop:]
        assert_same_state(again, straight)
