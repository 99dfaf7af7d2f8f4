"""Adding the results of another folder, such as one that another machine wrote."""

from __future__ import annotations

from pathlib import Path

from diffmg.core.errors import DiffmgError
from experiments.results import RUNS, Key, Results
from experiments.votes import add_votes, read_votes


def merge_results(folder: Path, into: Path) -> list[Key]:
    """Add runs and votes, in place of those with the same key; returns the keys of the runs that changed."""
    if not (folder / RUNS).is_file():
        raise DiffmgError(f"a folder of results must have a {RUNS}, but got {str(folder)!r} without one")
    votes, changed = read_votes(folder), Results(into).merge(Results(folder))
    add_votes(into, {key: votes[key] for key in changed if key in votes})
    return changed
