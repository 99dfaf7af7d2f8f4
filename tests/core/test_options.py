"""Types and rules of options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.options import check_rules, check_types


@dataclass(frozen=True)
class Options:
    count: int = 1
    rate: float = 0.5
    switch: bool = True
    name: str = "x"
    side: Literal["left", "right"] = "left"
    limit: int | None = None
    rest: tuple[int, ...] = ()


@pytest.mark.parametrize("good", [{}, {"rate": 1}, {"limit": 3}, {"side": "right"}, {"rest": "anything"}])
def test_values_of_their_type_pass(good: dict[str, Any]) -> None:
    check_types(Options(**good))


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"count": 1.5}, "`count` must be a whole number, but got count=1.5"),
        ({"count": True}, "`count` must be a whole number, but got count=True"),
        ({"rate": "fast"}, "`rate` must be a number, but got rate='fast'"),
        ({"rate": None}, "`rate` must be a number, but got rate=None"),
        ({"switch": 1}, "`switch` must be true or false, but got switch=1"),
        ({"name": 7}, "`name` must be text, but got name=7"),
        ({"side": "up"}, "`side` must be one of 'left', 'right', but got side='up'"),
        ({"limit": "no"}, r"`limit` must be int \| None, but got limit='no'"),
    ],
)
def test_other_values_are_named(bad: dict[str, Any], words: str) -> None:
    with pytest.raises(DiffmgError, match=words):
        check_types(Options(**bad))


def test_a_broken_rule_is_shown_with_the_options() -> None:
    check_rules(Options(), {"count >= 1": True})
    with pytest.raises(DiffmgError, match=r"`count >= 2` must hold, but got Options\(count=1"):
        check_rules(Options(), {"count >= 1": True, "count >= 2": False})
