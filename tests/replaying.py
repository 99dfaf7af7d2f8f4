"""Epochs that go by in blocks, as on a GPU, where there is none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from diffmg.training import epochs
from diffmg.training.epochs import EpochRunner


class Repeat:
    """Stands for a replay: calls the step so often, and notes what it was asked."""

    def __init__(self, step: Callable[[], None]) -> None:
        self.step = step
        self.asked: list[int] = []
        self.waited = 0

    def __call__(self, times: int) -> None:
        self.asked.append(times)
        for _ in range(times):
            self.step()

    def wait(self) -> None:
        self.waited += 1


def in_blocks(steps: EpochRunner, size: int, monkeypatch: pytest.MonkeyPatch) -> Repeat:
    """Let `size` epochs go by between two looks."""
    monkeypatch.setattr(epochs, "BLOCK", size)
    steps.replay = Repeat(steps._step)
    return steps.replay
