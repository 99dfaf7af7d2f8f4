"""Errors a person can act on: the rule, the value that broke it, the next step."""

from collections.abc import Iterable
from difflib import get_close_matches


class DiffmgError(ValueError):
    """Bad input. Its message states the rule, what was got instead, and what to do."""


class MissingDataError(DiffmgError):
    """A file that is needed is not where it was looked for."""


def unknown(kind: str, name: object, known: Iterable[object]) -> DiffmgError:
    """The error for a name that is not known: names the nearest one and lists all."""
    names = sorted(str(k) for k in known)
    near = get_close_matches(str(name), names, n=1, cutoff=0.5) or [n for n in names if n.lower() == str(name).lower()]
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return DiffmgError(f"unknown {kind} {str(name)!r}{hint} Known: {', '.join(names) or 'none'}.")
