"""Odd names and values: what people, programs and attackers put into tables."""

from __future__ import annotations

import math
from datetime import date, datetime
from random import Random
from typing import Any

ESCAPE = "\x1b]0;owned\x07"
"""Sets the title of a terminal that is sent it."""
NAMES = (
    "", " ", "  padded  ", "é", "日本語", "🙂", "e\u0301", "\u202eright to left", "\u200b", "a\tb", "two\nlines",
    "cr\rcr", ESCAPE, "\x1b[31mred", "\x9b2J", "\x07", "\x00", "[/x]", "[red]", "[bold]x[/bold]", "{name}", "%s",
    "\\", "a/b", "a\\/b", "..", "referred", "row number", "weight", ".id", "a.b", "list[0]", "*", "select", "order",
    "group", "from", "table", '"', "'", "`", '";--', "'; DROP TABLE authors; --", "identity", "empty", "rev_wrote",
    "id", "None", "null", "NaN", "NA", "true", "0", "-5", "=1+1", "@x", "+1", "1e5", "0x1F", "007", "a,b", "a;b",
    "a|b", "#", "x" * 300, "é" * 2000,
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, "", " ", "NaN", math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 2**53 + 1, 2**63 - 1, -(2**63),
    2**64, 10**30, "9" * 5000, "[" * 2000, "1,5", "1e400", "0x1F", "007", "true", True, "yes", b"\xff\x00", "a|b|c",
    '["a", "b"]', date(1, 1, 1), date(9999, 12, 31), datetime(1677, 9, 21), datetime(2262, 4, 12), "0001-01-01",
    "9999-12-31T23:59:59", "2024-02-30", "2024-01-01", "1600-01-01", ESCAPE, "\x00", "two\nlines", "é" * 500,
    "x " * 400,
)  # fmt: skip
NUMBERS = (
    "0", "-1", "1", "1e9", "1e400", "nan", "inf", "-inf", "9" * 400, "null", "true", "[]", "{}", '"x"', "x", "", "0.5",
)  # fmt: skip
DATES = ("0001-01-01", "9999-12-31", "2024-02-30", "2024-01-15", "2024-13-01", "1677-09-21", "2262-04-12", "-5", "0",
         "1e20", "9" * 60, "now", "", "2024-01-15T12:00:00+14:00", "24-1-1", "2024-01-15 24:00")  # fmt: skip
PERIODS = (
    "0d", "-1d", "1d", "30d", "1e9d", "9" * 30 + "d", "5", "d", "", "1.5d", "nan d", "1000000000h", "3 weeks", "10s",
)  # fmt: skip


def name(rng: Random) -> str:
    """An odd name."""
    return rng.choice(NAMES)


def value(rng: Random) -> Any:
    """An odd value of a cell."""
    return rng.choice(VALUES)


def plain(rng: Random) -> Any:
    """An odd value of JSON or TOML."""
    kinds = (None, True, False, 0, -1, 10**18, 1e308, math.nan, "", [], {}, [[]], {"": None}, [None], "x" * 3000)
    return rng.choice([*kinds, name(rng), nested(rng.choice((3, 40)))])


def nested(depth: int) -> Any:
    """Lists in lists."""
    found: Any = []
    for _ in range(depth):
        found = [found]
    return found
