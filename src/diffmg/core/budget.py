"""The budget of a search by real training."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Annotated

from diffmg.core.errors import DiffmgError
from diffmg.core.options import Bounds, Checked, Count, Positive

UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600}
_WRITTEN = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)", re.IGNORECASE)


@dataclass(frozen=True)
class Budget(Checked):
    """Seconds, or a number of trainings; what was spent is a number of trainings, so that it can be repeated."""

    seconds: Positive | None = None
    trainings: Count | None = None
    explored: Count | None = None
    """How many of the trainings try new candidates; None leaves it to the search."""
    again: Annotated[int, Bounds(0)] | None = None
    """How many were to train the best again; None leaves it to the search."""
    stopped: Annotated[int, Bounds(0)] | None = None
    """How many of those there was time for; None for all."""
    simplify: bool = True
    """Whether there was time to simplify the best meta graph."""
    more: tuple[int, ...] = ()
    """How many further finalists there was time for, once the first ones were trained, round by round."""
    limits: tuple[int, ...] = ()
    """Epochs after which the trainings that try new candidates were stopped, in order; 0 for those that were not."""

    def rules(self) -> dict[str, bool]:
        """Either seconds or trainings."""
        fits = self.explored is None or (self.trainings is not None and self.explored <= self.trainings)
        return {
            "either seconds or trainings": (self.seconds is None) != (self.trainings is None),
            "seconds < inf": self.seconds is None or math.isfinite(self.seconds),
            "explored <= trainings": fits,
        }

    @classmethod
    def parse(cls, given: str | int | Budget) -> Budget:
        """Read `60s`, `2m`, `1.5h` or `300` (trainings)."""
        if isinstance(given, Budget):
            return given
        written = _WRITTEN.fullmatch(str(given).strip())
        number, unit = written.groups() if written else ("", "?")
        if unit.lower() in UNITS and float(number) > 0:
            return cls(seconds=float(number) * UNITS[unit.lower()])
        if unit == "" and number.isdecimal() and int(number) > 0:
            return cls(trainings=int(number))
        raise DiffmgError(
            f"a budget is a time above zero, such as 60s, 5m or 1h, or a number of trainings, such as 300, "
            f"but got {str(given)!r}"
        )

    def __str__(self) -> str:
        return f"{self.trainings} trainings" if self.seconds is None else f"{self.seconds:g} s"
