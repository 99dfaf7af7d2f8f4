"""Reads questions from text, by a grammar of their own."""

from __future__ import annotations

import re
from typing import NoReturn

from diffmg.core import DiffmgError, unknown
from diffmg.tables.question import (
    COMPARISONS,
    OF_NUMBERS,
    Aggregate,
    Comparison,
    Condition,
    Expression,
    Formula,
    Junction,
    aggregates,
)

FUNCTIONS = {
    "count": "count",
    "exists": "exists",
    "sum": "sum",
    "mean": "mean",
    "avg": "mean",
    "min": "min",
    "max": "max",
}
TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?!\w)|(?P<text>'(?:[^']|'')*')"
    r"|(?P<quoted>\"[^\"]+\"|`[^`]+`)|(?P<name>[^\W\d]\w*)|(?P<sign>==|!=|<>|<=|>=|[-+*/<>=().])|(?P<end>$))"
)
DEEPEST = 30
"""How deep a question may be nested."""
LIKE = 'a question is written like "count(orders where amount > 10) > 0"'


def parse_question(text: str) -> Expression:
    """Read a question; nothing of it is ever run as code."""
    return _Parser(text).question()


class _Parser:
    """Reads a text from left to right; one method per rule of the grammar."""

    def __init__(self, text: str) -> None:
        self.text, self.place, self.depth = text, 0, 0
        self.advance()

    def advance(self) -> str:
        """Step to the next token; the value of the one before."""
        before = getattr(self, "value", "")
        match = TOKEN.match(self.text, self.place)
        if match is None or match.lastgroup is None:
            self.fail("no such sign", self.text[self.place :].strip()[:1])
        self.start, self.place = match.start(match.lastgroup), match.end()
        self.kind, self.value = match.lastgroup, match[match.lastgroup]
        return str(before)

    def fail(self, wanted: str, got: str | None = None) -> NoReturn:
        """Raise with the place."""
        found = self.value if got is None else got
        place = f"{found!r} after {self.text[: self.start if got is None else self.place]!r}" if found else "its end"
        raise DiffmgError(f"{LIKE}, but got {self.text!r}: {wanted} at {place}")

    def takes(self, *words: str) -> bool:
        """Whether the next token is one of these signs or words; then it is taken."""
        found = self.kind in ("sign", "name") and self.value.lower() in words
        if found:
            self.advance()
        return found

    def expect(self, sign: str) -> None:
        """The next token is a sign."""
        if not self.takes(sign):
            self.fail(f"expected {sign!r}")

    def deeper(self) -> None:
        """One level of nesting more."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise DiffmgError(f"a question has at most {DEEPEST} brackets and signs in one another, but got more")

    def question(self) -> Expression:
        """A sum, or a comparison of two."""
        found = self.sum()
        if self.kind == "sign" and self.value in COMPARISONS:
            found = Formula(COMPARISONS[self.advance()], found, self.sum())
        if self.kind != "end":
            self.fail("expected the end")
        if not list(aggregates(found)):
            raise DiffmgError(f"{LIKE}, but got {self.text!r}, which names no table")
        return found

    def sum(self) -> Expression:
        """Products with + and - between them."""
        found = self.product()
        while self.kind == "sign" and self.value in "+-":
            found = Formula(self.advance(), found, self.product())
        return found

    def product(self) -> Expression:
        """Atoms with * and / between them."""
        found = self.atom()
        while self.kind == "sign" and self.value in "*/":
            found = Formula(self.advance(), found, self.atom())
        return found

    def atom(self) -> Expression:
        """A number, an aggregate, or a sum in brackets."""
        if self.kind == "number":
            return float(self.advance())
        if self.kind == "name":
            return self.aggregate()
        self.deeper()
        if self.takes("-"):
            found: Expression = Formula("-", 0.0, self.atom())
        elif self.takes("("):
            found = self.sum()
            self.expect(")")
        else:
            self.fail(f"expected a number or one of {', '.join(FUNCTIONS)}")
        self.depth -= 1
        return found

    def aggregate(self) -> Aggregate:
        """A function of a table or of its column."""
        if self.value.lower() not in FUNCTIONS:
            raise unknown("function of a question:", self.value, FUNCTIONS)
        function = FUNCTIONS[self.advance().lower()]
        distinct = self.takes("distinct")
        self.expect("(")
        distinct = self.takes("distinct") or distinct
        table = self.name("a table")
        column = self.name("a column") if self.takes(".") else None
        key = self.name("a column") if self.takes("by") else None
        where = self.condition() if self.takes("where") else None
        self.expect(")")
        self.check(function, distinct, table, column)
        return Aggregate("distinct" if distinct else function, table, column, key, where)

    def check(self, function: str, distinct: bool, table: str, column: str | None) -> None:
        """A function of numbers has a column, and so have distinct values."""
        if distinct and (function != "count" or column is None):
            raise DiffmgError(f"distinct values are counted by count(distinct TABLE.COLUMN), but got {self.text!r}")
        if function in OF_NUMBERS and column is None:
            raise DiffmgError(f"{function} is of a column, {function}({table}.COLUMN), but got {self.text!r}")
        if function == "exists" and column is not None:
            raise DiffmgError(
                f"exists is of rows, exists({table}), but got {self.text!r}; use count({table}.{column}) > 0"
            )

    def name(self, what: str) -> str:
        """A name, in quotes if it has other signs than letters, digits and underscores."""
        if self.kind == "quoted":
            return self.advance()[1:-1]
        if self.kind != "name":
            self.fail(f"expected {what}")
        return self.advance()

    def condition(self) -> Condition:
        """Conjunctions with `or` between them."""
        parts = [self.conjunction()]
        while self.takes("or"):
            parts.append(self.conjunction())
        return parts[0] if len(parts) == 1 else Junction("or", tuple(parts))

    def conjunction(self) -> Condition:
        """Tests with `and` between them."""
        parts = [self.test()]
        while self.takes("and"):
            parts.append(self.test())
        return parts[0] if len(parts) == 1 else Junction("and", tuple(parts))

    def test(self) -> Condition:
        """A comparison, or a condition in brackets."""
        if self.takes("("):
            self.deeper()
            found = self.condition()
            self.expect(")")
            self.depth -= 1
            return found
        column = self.name("a column")
        if self.kind != "sign" or self.value not in COMPARISONS:
            self.fail(f"expected one of {', '.join(COMPARISONS)}")
        return Comparison(column, COMPARISONS[self.advance()], self.literal())

    def literal(self) -> float | str:
        """A number, or a text in single quotes."""
        if self.kind == "text":
            return self.advance()[1:-1].replace("''", "'")
        sign = -1.0 if self.takes("-") else 1.0
        if self.kind != "number":
            self.fail("expected a number or a 'text'")
        return sign * float(self.advance())
