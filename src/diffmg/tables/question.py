"""Questions such as `count(orders where amount > 10) > 0`, as values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

OF_NUMBERS = ("sum", "mean", "min", "max")
COMPARISONS = {"==": "==", "=": "==", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


@dataclass(frozen=True)
class Comparison:
    """A comparison of a column with a value."""

    column: str
    sign: str
    value: float | str


@dataclass(frozen=True)
class Junction:
    """Conditions that hold all (`and`), or one of them at least (`or`)."""

    word: str
    parts: tuple[Condition, ...]


Condition = Comparison | Junction


@dataclass(frozen=True)
class Aggregate:
    """What is counted or added up: rows of a table, or one of their columns."""

    function: str
    table: str
    column: str | None = None
    key: str | None = None
    """The column that refers to the entity, where there are several."""
    where: Condition | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it reads, but for key and time."""
        found = [self.column] if self.column is not None else []
        return tuple(dict.fromkeys([*found, *_columns(self.where)]))


@dataclass(frozen=True)
class Formula:
    """Two parts that are combined by + - * / or compared."""

    sign: str
    left: Expression
    right: Expression


Expression = float | Aggregate | Formula


def is_yes_no(question: Expression) -> bool:
    """Whether the answer is 0 or 1, not a number."""
    if isinstance(question, Formula):
        return question.sign in COMPARISONS
    return isinstance(question, Aggregate) and question.function == "exists"


def aggregates(question: Expression) -> Iterator[Aggregate]:
    """All that a question counts or adds up, from left to right."""
    if isinstance(question, Aggregate):
        yield question
    elif isinstance(question, Formula):
        yield from aggregates(question.left)
        yield from aggregates(question.right)


def _columns(condition: Condition | None) -> Iterator[str]:
    if isinstance(condition, Comparison):
        yield condition.column
    for part in condition.parts if isinstance(condition, Junction) else ():
        yield from _columns(part)
