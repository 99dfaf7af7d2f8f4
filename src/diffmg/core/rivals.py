"""The names of methods that are trained beside a model, for comparison."""

from __future__ import annotations

from collections.abc import Sequence

from diffmg.core.errors import DiffmgError
from diffmg.core.method import METHODS

USUAL, NONE = "usual", "none"
"""In place of names: the task's cheap rivals, or none at all."""


def check_rivals(names: Sequence[str]) -> tuple[str, ...]:
    """The names without doubles; raises for one that is unknown or would have to be searched for."""
    for name in names:
        if name in (USUAL, NONE):
            continue
        kind = METHODS.get(name)
        if kind.has_metagraph or kind.races or kind.family != "baseline":
            raise DiffmgError(
                f"a method beside the model is trained once, without a search, but got {name!r}; "
                "fit it in a run of its own, and compare the two by `diffmg report RUN RUN`"
            )
    if NONE in names and len(names) > 1:
        raise DiffmgError(f"either methods beside the model or 'none' can be asked for, but got {', '.join(names)}")
    return tuple(dict.fromkeys(name for name in names if name != NONE))
