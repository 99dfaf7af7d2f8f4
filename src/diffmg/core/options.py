"""Checks of options: each field has the type it says, and the rules hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from diffmg.core.errors import DiffmgError


def check_types(options: Any) -> None:
    """Raise if a field of a dataclass is not of its type (plain types, `Literal`, `| None`)."""
    for name, hint in get_type_hints(type(options)).items():
        value = getattr(options, name)
        if not _fits(value, hint):
            raise DiffmgError(f"`{name}` must be {_spelled(hint)}, but got {name}={value!r}")


def check_rules(options: Any, rules: Mapping[str, bool]) -> None:
    """Raise if a rule, written as a formula, does not hold."""
    for rule, holds in rules.items():
        if not holds:
            raise DiffmgError(f"`{rule}` must hold, but got {options}")


def _fits(value: object, hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint in (bool, str, type(None)):
        return isinstance(value, hint)
    kinds = get_args(hint)
    return type(None) not in kinds or any(_fits(value, kind) for kind in kinds)


def _spelled(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(repr, get_args(hint)))
    return {int: "a whole number", float: "a number", bool: "true or false", str: "text"}.get(hint, str(hint))
