"""Scores that are too good: a perfect one is never shown without a warning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diffmg.core.run import Run

ERRORS = {"mae", "mse", "rmse", "mape", "error", "loss"}
"""Words in the names of scores that are perfect at 0; all others are at 1."""


def perfect_scores(run: Run) -> list[str]:
    """A warning on the perfect scores of a run; empty if there are none."""
    parts = {"validation": run.scores("val"), "test": run.scores("test")}
    if run.single is not None:
        parts |= {"validation (single model)": run.single.val, "test (single model)": run.single.test}
    return warning_on(parts)


def warning_on(parts: Mapping[str, Mapping[str, float]]) -> list[str]:
    """A warning on perfect scores, by part of the split; empty if there are none."""
    found = [f"{part} {name}" for part, scores in parts.items() for name, v in scores.items() if is_perfect(name, v)]
    if not found:
        return []
    return [
        f"perfect, so doubtful: {', '.join(found)}; look for a column, relation or duplicates that know the answer "
        "(the notes on leaks name suspects) before you trust it"
    ]


def is_perfect(name: str, value: float) -> bool:
    """Whether a score of this name cannot be better; as good as that is what prints as such."""
    if name == "coverage":  # a description of recommendations, not of how right they are
        return False
    error = bool(ERRORS & {*re.split(r"[^a-z]+", name.lower())})
    return round(value, 4) == (0.0 if error else 1.0)
