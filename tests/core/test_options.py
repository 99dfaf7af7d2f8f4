"""Types and rules of options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.options import Checked, Count, Fraction, NotNegative, Positive, Share, check_rules, check_types


@dataclass(frozen=True)
class Options:
    count: int = 1
    rate: float = 0.5
    switch: bool = True
    name: str = "x"
    side: Literal["left", "right"] = "left"
    limit: int | None = None
    rest: tuple[int, ...] = ()
    steps: Count = 1
    most: Count | None = None
    speed: Positive = 0.1
    decay: NotNegative = 0.0
    share: Share = 1
    drop: Fraction = 0.0


@pytest.mark.parametrize(
    "good", [{}, {"rate": 1}, {"limit": 3}, {"side": "right"}, {"rest": "anything"}, {"most": 1}, {"share": 0}]
)
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
        ({"limit": "no"}, "`limit` must be a whole number or nothing, but got limit='no'"),
        ({"steps": 1.5}, "`steps` must be a whole number, but got steps=1.5"),
        ({"steps": 0}, "`steps >= 1` must hold, but got steps=0"),
        ({"steps": 1_000_001}, "`steps <= 1000000` must hold, but got steps=1000001"),
        ({"most": 0}, "`most >= 1` must hold, but got most=0"),
        ({"most": "x"}, "`most` must be a whole number or nothing, but got most='x'"),
        ({"speed": 0}, "`speed > 0` must hold, but got speed=0"),
        ({"decay": -0.1}, "`decay >= 0` must hold, but got decay=-0.1"),
        ({"share": 1.1}, "`0 <= share <= 1` must hold, but got share=1.1"),
        ({"drop": 1}, "`0 <= drop < 1` must hold, but got drop=1"),
        ({"drop": float("nan")}, "`0 <= drop < 1` must hold, but got drop=nan"),
    ],
)
def test_other_values_are_named(bad: dict[str, Any], words: str) -> None:
    with pytest.raises(DiffmgError, match=words):
        check_types(Options(**bad))


def test_a_broken_rule_is_shown_with_the_options() -> None:
    check_rules(Options(), {"count >= 1": True})
    with pytest.raises(DiffmgError, match=r"`count >= 2` must hold, but got count=1$"):
        check_rules(Options(), {"count >= 1": True, "count >= 2": False})


def test_a_rule_over_several_options_shows_them_all() -> None:
    with pytest.raises(DiffmgError, match=r"but got count=1, limit=None$"):
        check_rules(Options(), {"count < limit": False})


def test_checked_options_check_themselves() -> None:
    @dataclass(frozen=True)
    class Mine(Checked):
        low: int = 1
        high: int = 2

        def rules(self) -> dict[str, bool]:
            return {"low <= high": self.low <= self.high}

    assert Mine(2, 2).low == 2
    with pytest.raises(DiffmgError, match=r"but got low=3, high=2$"):
        Mine(3)
    with pytest.raises(DiffmgError, match="`low` must be a whole number"):
        Mine("1")  # type: ignore[arg-type]
