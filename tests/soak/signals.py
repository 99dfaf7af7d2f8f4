"""Processes that are killed, or interrupted once or twice, at random moments."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Sequence
from random import Random

from soak.child import Ended, Stop, run
from soak.trial import Ground
from soak.work import EVERY, Work, begun, check, state_of

Stops = Callable[[float], list[Stop]]
"""The signals to send to a command that lasts so many seconds."""


def killed(ground: Ground, work: Work, seed: int, rng: Random) -> tuple[bool, Sequence[str]]:
    """SIGKILL."""
    return _stopped("kill", ground, work, seed, lambda seconds: [Stop(rng.uniform(0, seconds))])


def interrupted(ground: Ground, work: Work, seed: int, rng: Random) -> tuple[bool, Sequence[str]]:
    """Ctrl-C."""
    return _stopped("interrupt", ground, work, seed, lambda s: [Stop(rng.uniform(0, s), signal.SIGINT)])


def interrupted_twice(ground: Ground, work: Work, seed: int, rng: Random) -> tuple[bool, Sequence[str]]:
    """Ctrl-C by an impatient person."""

    def stops(seconds: float) -> list[Stop]:
        first = rng.uniform(0, seconds)
        return [Stop(first, signal.SIGINT), Stop(first + rng.uniform(0, 0.1), signal.SIGINT)]

    return _stopped("twice", ground, work, seed, stops)


def _stopped(fault: str, ground: Ground, work: Work, seed: int, stops: Stops) -> tuple[bool, Sequence[str]]:
    expected, seconds = ground.straight(work)
    folder = ground.folder(fault, work, seed)
    command = begun(work, folder, expected)
    ended = run(command, folder.with_suffix(".log"), stops(seconds))
    if work.stopped == "resume" and not ended.fault and state_of(folder) in ("running", "interrupted"):
        ended = run(("resume", folder, *EVERY), folder.with_suffix(".log"), stops(seconds))
    problems = [ended.fault] if ended.fault else [*_refused(ended), *check(work, folder, expected)]
    if not problems:
        shutil.rmtree(folder.parent)
    return ended.code != 0, problems


def _refused(ended: Ended) -> list[str]:
    return [f"refused: {ended.err[-300:]}"] if ended.code in (2, 3) else []
