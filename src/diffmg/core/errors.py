"""Actionable errors: the rule, the value that broke it, the next step."""

from collections.abc import Iterable
from difflib import get_close_matches


class DiffmgError(ValueError):
    """Bad input. The message states the rule, the value received, and what to do."""


class MissingDataError(DiffmgError):
    """A required data file was not found."""


class WriteError(DiffmgError):
    """A file could not be written: the disk is full, or the place may not be written to."""


def unknown(kind: str, name: object, known: Iterable[object]) -> DiffmgError:
    """The error for an unknown name: suggests the nearest known one and lists all."""
    names = sorted(str(k) for k in known)
    near = get_close_matches(str(name), names, n=1, cutoff=0.5) or [n for n in names if n.lower() == str(name).lower()]
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return DiffmgError(f"unknown {kind} {str(name)!r}{hint} Known: {', '.join(names) or 'none'}.")
