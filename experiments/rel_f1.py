"""The tasks of rel-f1, a database with times: entities at moments, with public reference scores."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from diffmg.core.errors import MissingDataError, unknown
from diffmg.core.plan import Predictions, Source
from diffmg.runs.sources import open_problem
from diffmg.tables.windows import Staleness
from diffmg.tasks.problem import Problem

FRESH = ", fresh"
"""Ending of a data set whose validation sees history up to each moment, not up to the boundary."""
LABELS = {"driver-top3": "qualifying", "driver-dnf": "did_not_finish", "driver-position": "position"}
HORIZONS = {"driver-top3": "30d", "driver-dnf": "30d", "driver-position": "60d"}
"""How long after a moment its label is known, as the tasks are defined."""


def rel_f1_problem(data: str, root: Path | None) -> Problem:
    """A task of the database by its name, frozen at the boundary of each part, or fresh."""
    task = data.removesuffix(FRESH)
    if task not in LABELS:
        raise unknown("task of rel-f1:", task, LABELS)
    folder = (root or Path(os.environ.get("DIFFMG_DATA", "data"))) / "rel-f1"
    if not (folder / "rel-f1.db").exists():
        raise MissingDataError(f"rel-f1 needs its database, but got none in {str(folder)!r}; set DIFFMG_DATA")
    history: Staleness = "fresh" if data.endswith(FRESH) else "frozen"
    asked = Predictions(str(folder / f"tasks/{task}.csv"), LABELS[task], horizon=HORIZONS[task], history=history)
    return replace(open_problem(Source(str(folder / "rel-f1.db"), predictions=asked)), source=Source())
