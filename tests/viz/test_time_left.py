from __future__ import annotations

import pytest

from diffmg.viz.time_left import Left, TimeLeft, kind_of

PHASES = ("search-0", "train-0", "search-1", "train-1", "repeat-1")


class Clock:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def go(time: TimeLeft, clock: Clock, phase: str, seconds: float, epochs: int = 10) -> None:
    """A phase from its beginning to its end."""
    time.begin(phase, 0)
    clock.now += seconds
    time.end(epochs)


def test_kinds() -> None:
    assert [kind_of(p) for p in (*PHASES, "race")] == ["search", "train", "search", "train", "train", "race"]


def test_of_an_unknown_kind_only_the_phase_itself_is_known(clock: Clock) -> None:
    time = TimeLeft(PHASES, clock)
    time.begin("search-0", 0)
    clock.now += 4
    assert time.left(2, 10) == Left(16.0, whole=False)


def test_what_comes_takes_as_long_as_what_was(clock: Clock) -> None:
    time = TimeLeft(PHASES, clock)
    go(time, clock, "search-0", 20)
    go(time, clock, "train-0", 6)
    time.begin("search-1", 0)
    clock.now += 5
    assert time.left(5, 10) == Left(5 + 2 * 6.0, whole=True)
    clock.now += 5
    time.end(10)
    time.begin("train-1", 0)
    clock.now += 2
    assert time.left(1, 4) == Left(3 * 2 + 6.0, whole=True)


def test_a_phase_stands_for_those_of_its_kind(clock: Clock) -> None:
    time = TimeLeft(("train-0", "repeat-1", "repeat-2"), clock)
    time.begin("train-0", 0)
    clock.now += 3
    assert time.left(3, 10) == Left(7 + 2 * 10.0, whole=True)


def test_phases_that_are_left_out_are_not_waited_for(clock: Clock) -> None:
    """A method without a search has none in any turn."""
    time = TimeLeft(PHASES, clock)
    time.begin("train-0", 0)
    clock.now += 2
    assert time.left(1, 2) == Left(2 + 2 * 4.0, whole=True)


def test_too_soon_nothing_is_said_but_what_the_job_knows(clock: Clock) -> None:
    time = TimeLeft(("race",), clock)
    time.begin("race", 0)
    clock.now += 0.5
    assert time.left(3, 10) is None
    assert time.left(3, 10, known=41.6) == Left(41.6, whole=True)


def test_a_phase_that_goes_on_from_a_checkpoint_is_measured_by_what_is_new(clock: Clock) -> None:
    time = TimeLeft(("train-0", "repeat-1"), clock)
    time.begin("train-0", 8)
    clock.now += 2
    assert time.left(9, 10) == Left(2 + 4.0, whole=True)
    time.end(10)
    time.begin("repeat-1", 0)
    clock.now += 2
    assert time.left(1, 10) == Left(18.0, whole=True), "the short rest of the first says nothing of the second"
