"""Validation of options: types, bounds, and rules between fields."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Literal, Self, get_args, get_origin, get_type_hints

from diffmg.core.errors import DiffmgError, unknown
from diffmg.core.limits import MOST_STATES, MOST_TIMES


@dataclass(frozen=True)
class Bounds:
    """The interval of a number, perhaps open at an end; `above` and `below` exclude its ends `low` and `high`."""

    low: float | None = None
    high: float | None = None
    above: bool = False
    below: bool = False

    def hold(self, value: float) -> bool:
        """Whether a number lies within the bounds."""
        above_low = self.low is None or (value > self.low if self.above else value >= self.low)
        return above_low and (self.high is None or (value < self.high if self.below else value <= self.high))

    def spelled(self, name: str) -> str:
        """The rule as a formula."""
        if self.high is None:
            return f"{name} {'>' if self.above else '>='} {self.low:g}"
        if self.low is None:
            return f"{name} {'<' if self.below else '<='} {self.high:.15g}"
        signs = ["<" if strict else "<=" for strict in (self.above, self.below)]
        return f"{self.low:g} {signs[0]} {name} {signs[1]} {self.high:g}"


Count = Annotated[int, Bounds(1), Bounds(high=MOST_TIMES)]
Depth = Annotated[int, Bounds(1, MOST_STATES)]
Positive = Annotated[float, Bounds(0, above=True)]
NotNegative = Annotated[float, Bounds(0)]
Share = Annotated[float, Bounds(0, 1)]
Fraction = Annotated[float, Bounds(0, 1, below=True)]


class Checked:
    """A frozen dataclass of options, validated on construction."""

    def __post_init__(self) -> None:
        check_types(self)
        check_rules(self, self.rules())

    def rules(self) -> dict[str, bool]:
        """Rules beyond types and bounds: formulas of field names, and whether they hold."""
        return {}

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """A copy with some fields changed; errors for unknown names suggest the nearest known one."""
        check_names(changes, type(self), f"option of the {type(self).__name__.lower()}:")
        return replace(self, **changes)  # type: ignore[type-var]


def check_names(given: Iterable[str], kind: type, what: str) -> None:
    """Raise, suggesting the nearest name, if a dataclass lacks a field of a given name."""
    known = [f.name for f in fields(kind) if f.init]
    for name in given:
        if name not in known:
            raise unknown(what, name, known)


def check_types(options: Any) -> None:
    """Raise if a field has the wrong type (plain types, `Literal`, `| None`) or is out of bounds."""
    for name, hint in get_type_hints(type(options), include_extras=True).items():
        value = getattr(options, name)
        for plain, several in _alternatives(hint):
            for bounds in several:
                if fits(value, plain) and not bounds.hold(value):
                    raise DiffmgError(f"`{bounds.spelled(name)}` must hold, but got {name}={value!r}")
        if not any(fits(value, plain) for plain, _ in _alternatives(hint)):
            raise DiffmgError(f"`{name}` must be {spelled(hint)}, but got {name}={value!r}")


def check_rules(options: Any, rules: Mapping[str, bool]) -> None:
    """Raise if a rule, written as a formula of option names, does not hold."""
    for rule, holds in rules.items():
        if not holds:
            named = [name for name in get_type_hints(type(options)) if re.search(rf"\b{name}\b", rule)]
            got = ", ".join(f"{name}={getattr(options, name)!r}" for name in named) or str(options)
            raise DiffmgError(f"`{rule}` must hold, but got {got}")


def fits(value: object, hint: Any) -> bool:
    """Whether a value matches a type hint; hints other than plain types, `Literal` and `| None` match anything."""
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
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text", type(None): "nothing"}
    kinds = [plain for plain, _ in _alternatives(hint)]
    return " or ".join(spelled(kind) if get_origin(kind) is Literal else words.get(kind, str(kind)) for kind in kinds)


def _alternatives(hint: Any) -> list[tuple[Any, list[Bounds]]]:
    """The types a field may have, each with its bounds."""
    if get_origin(hint) is Annotated:
        plain, *metadata = get_args(hint)
        return [(plain, [bounds for bounds in metadata if isinstance(bounds, Bounds)])]
    kinds = get_args(hint) if type(None) in get_args(hint) else (hint,)
    return [pair for kind in kinds for pair in (_alternatives(kind) if kind is not hint else [(kind, [])])]
