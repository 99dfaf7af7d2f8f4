from __future__ import annotations

import pytest

from diffmg.tasks.problem import Problem


@pytest.fixture(params=["classification", "recommendation"])
def problem(request: pytest.FixtureRequest) -> Problem:
    """The paper's two kinds of task, which are those the naive reference knows."""
    return request.getfixturevalue(request.param)
