from __future__ import annotations

import pytest

from diffmg.core import TASKS
from diffmg.viz.report.words import METRICS, interval, lower_is_better, metric_name, percent, with_error


def test_every_metric_has_a_name_and_the_right_direction() -> None:
    for kind, task in TASKS.items():
        assert task.kind == kind
        for name, direction in task.metrics.items():
            assert name in METRICS
            assert lower_is_better(name) == (direction == "min")


def test_other_scores_keep_their_names() -> None:
    assert metric_name("f-beta") == "f-beta"


def test_intervals_stay_within_what_a_score_can_be() -> None:
    assert interval(0.99, 0.1, "auc") == pytest.approx((0.794, 1.0))
    assert interval(0.1, 0.1, "mae") == pytest.approx((0.0, 0.296))
    assert interval(-0.5, 0.1, "r2") == pytest.approx((-0.696, -0.304))
    assert interval(0.5, None, "auc") is None


@pytest.mark.parametrize(
    ("value", "error", "wanted"),
    [
        (0.94481, 0.0095, "0.945 ± 0.019"),
        (0.99902, 0.000364, "0.99902 ± 0.00071"),
        (1234.5, 12.0, "1234 ± 24"),
        (0.5, None, "0.5000"),
    ],
)
def test_scores_have_as_many_digits_as_their_margin_allows(value: float, error: float | None, wanted: str) -> None:
    assert with_error(value, error) == wanted


def test_a_share_is_not_rounded_to_all_or_nothing() -> None:
    assert [percent(v) for v in (0, 0.001, 0.5, 0.999, 1)] == ["0 %", "under 1 %", "50 %", "over 99 %", "100 %"]
