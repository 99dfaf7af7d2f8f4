"""One trial: what happened to a run, and whether it came to the same end as one that nothing happened to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from soak.work import WORKS, Work, straight

TRIES = 12
"""A moment may come too late: the command has ended. Then another one is drawn."""


@dataclass(frozen=True)
class Happened:
    """What one trial came to."""

    fault: str
    work: str
    seed: int
    problems: tuple[str, ...] = ()
    hit: bool = True
    """Whether it really happened: a signal, for one, may come when all is done."""


@dataclass
class Ground:
    """A folder for trials, with runs that nothing happens to; each is made when it is first asked for."""

    place: Path
    _straight: dict[str, tuple[Path, float]] = field(default_factory=dict)

    def straight(self, work: Work) -> tuple[Path, float]:
        """The undisturbed run of some work, and how long it takes."""
        if work.name not in self._straight:
            self.place.mkdir(parents=True, exist_ok=True)
            self._straight[work.name] = straight(work, self.place)
        return self._straight[work.name]

    def folder(self, fault: str, work: Work, seed: int) -> Path:
        """A name for a run folder, alone in a folder of its own."""
        place = self.place / f"{fault}-{work.name}-{seed}".replace(" ", "_")
        place.mkdir(parents=True, exist_ok=True)
        return place / "run"


Trial = Callable[[Ground, Work, int, Random], tuple[bool, Sequence[str]]]


def trials(fault: str, trial: Trial, count: int, ground: Ground, works: Sequence[Work] = WORKS) -> Iterable[Happened]:
    """So many trials that really hit, of all works in turn; those that did not hit are told as well."""
    for number in range(count):
        work = works[number % len(works)]
        for attempt in range(TRIES):
            seed = number * TRIES + attempt
            hit, problems = trial(ground, work, seed, Random(f"{fault} {seed}"))
            yield Happened(fault, work.name, seed, tuple(problems), hit)
            if hit:
                break
