from __future__ import annotations

import math

import numpy as np
import pytest

from diffmg.core.task import error_of_share


@pytest.mark.parametrize(("score", "count"), [(0.9, 200), (0.3, 50), (0.5, 1)])
def test_it_is_the_spread_of_drawn_shares(score: float, count: int) -> None:
    drawn = np.random.default_rng(0).binomial(count, score, size=20_000) / count
    assert error_of_share(score, count) == pytest.approx(drawn.std(), rel=0.03)


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_a_perfect_score_of_few_examples_is_not_sure(score: float) -> None:
    """As unsure as one error among them."""
    assert error_of_share(score, 27) == pytest.approx(math.sqrt(26 / 27 / 27 / 27))
    assert error_of_share(score, 10**6) < 1e-5


@pytest.mark.parametrize("score", [-3.0, 1.5, math.nan])
def test_what_is_no_share_has_none(score: float) -> None:
    assert error_of_share(score, 10) == 0.0
