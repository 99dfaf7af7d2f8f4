from __future__ import annotations

from dataclasses import fields

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.methods.search import STRATEGIES, known_options, make_strategy

GIVEN = {"epochs": 7, "epsilon": 0.5, "identity_last": True, "no_such_option": 1}


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("diffmg", {"epochs", "epsilon", "identity_last"}),
        ("darts", {"epochs", "identity_last"}),
        ("random_search", {"identity_last"}),
        ("features", set()),
    ],
)
def test_a_strategy_takes_the_options_it_has(name: str, kept: set[str]) -> None:
    assert known_options(name, GIVEN) == {option: GIVEN[option] for option in kept}


@pytest.mark.parametrize("name", [name for name, _ in STRATEGIES.items()])
def test_what_is_kept_can_be_made(name: str) -> None:
    strategy = make_strategy(name, known_options(name, GIVEN))
    for option in {f.name for f in fields(strategy)} & set(GIVEN):  # type: ignore[arg-type]
        assert getattr(strategy, option) == GIVEN[option]


def test_nothing_given_is_nothing_kept() -> None:
    assert known_options("diffmg", {}) == {}


def test_a_strategy_that_is_not_there_is_named() -> None:
    with pytest.raises(DiffmgError, match="unknown strategy 'dart'; did you mean 'darts'"):
        known_options("dart", GIVEN)
