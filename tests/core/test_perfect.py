from __future__ import annotations

import pytest

from diffmg.core.perfect import is_perfect, warning_on


@pytest.mark.parametrize(
    ("name", "value", "perfect"),
    [
        ("macro_f1", 1.0, True),
        ("macro_f1", 0.99996, True),
        ("macro_f1", 0.9999, False),
        ("auc", 0.0, False),
        ("mae", 0.0, True),
        ("mae", 1.0, False),
        ("root_mean_squared_error", 0.0, True),
        ("r2", 1.0, True),
        ("recall@20", 1.0, True),
        ("auc", float("nan"), False),
    ],
)
def test_a_score_that_cannot_be_better_is_perfect(name: str, value: float, perfect: bool) -> None:
    assert is_perfect(name, value) == perfect


def test_the_warning_names_every_perfect_score() -> None:
    (line,) = warning_on({"validation": {"auc": 1.0, "f1": 0.5}, "test": {"mae": 0.0}})
    assert line.startswith("perfect, so doubtful: validation auc, test mae;")
    assert warning_on({"test": {"auc": 0.9}}) == []
