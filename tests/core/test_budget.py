from __future__ import annotations

import pytest

from diffmg.core import DiffmgError
from diffmg.core.budget import Budget
from diffmg.core.codec import from_plain, to_plain


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("60s", Budget(seconds=60)),
        ("2m", Budget(seconds=120)),
        ("1.5 min", Budget(seconds=90)),
        (".5h", Budget(seconds=1800)),
        ("300", Budget(trainings=300)),
        (300, Budget(trainings=300)),
        (Budget(trainings=3), Budget(trainings=3)),
    ],
)
def test_how_it_is_written(written, wanted):
    assert Budget.parse(written) == wanted


@pytest.mark.parametrize("written", ["0", "0s", "-5", "", "soon", "5 parsecs", "1.5", "nan", "s", "1e3"])
def test_nonsense_is_refused(written):
    with pytest.raises(DiffmgError, match=r"such as 60s.*but got"):
        Budget.parse(written)


@pytest.mark.parametrize("given", [{}, {"seconds": 1.0, "trainings": 2}, {"trainings": 0}, {"seconds": float("inf")}])
def test_either_seconds_or_trainings(given):
    with pytest.raises(DiffmgError, match="must hold"):
        Budget(**given)


def test_no_more_is_explored_than_trained():
    with pytest.raises(DiffmgError, match="explored"):
        Budget(trainings=3, explored=4)


@pytest.mark.parametrize("budget", [Budget(seconds=2.5), Budget(trainings=9, explored=4, again=3, limits=(7, 0))])
def test_through_json(budget):
    assert from_plain(Budget, to_plain(budget), "it") == budget
