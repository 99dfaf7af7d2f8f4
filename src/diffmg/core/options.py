"""Checks of options: each field has the type it says, and the rules hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from diffmg.core.errors import DiffmgError


def check_types(options: Any) -> None:
    """Raise if a field of a dataclass is not of its type (plain types, `Literal`, `| None`)."""
    for name, hint in get_type_hints(type(options)).items():
        value = getattr(options, name)
        if not fits(value, hint):
            raise DiffmgError(f"`{name}` must be {spelled(hint)}, but got {name}={value!r}")


def check_rules(options: Any, rules: Mapping[str, bool]) -> None:
    """Raise if a rule, written as a formula of the options' names, does not hold."""
    for rule, holds in rules.items():
        if not holds:
            named = [name for name in get_type_hints(type(options)) if re.search(rf"\b{name}\b", rule)]
            got = ", ".join(f"{name}={getattr(options, name)!r}" for name in named) or str(options)
            raise DiffmgError(f"`{rule}` must hold, but got {got}")


def fits(value: object, hint: Any) -> bool:
    """Whether a value is of a type hint; hints that are no plain type, `Literal` or `| None` fit anything."""
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint in (bool, str, type(None)):
        return isinstance(value, hint)
    kinds = get_args(hint)
    return type(None) not in kinds or any(fits(value, kind) for kind in kinds)


def spelled(hint: Any) -> str:
    """A type hint in words."""
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(repr, get_args(hint)))
    return {int: "a whole number", float: "a number", bool: "true or false", str: "text"}.get(hint, str(hint))
