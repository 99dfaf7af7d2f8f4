"""Every registered baseline passes the public kit, on every kind of task it can do."""

from __future__ import annotations

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.settings import Settings
from diffmg.methods.baselines import BASELINES, Baseline, make_baseline
from diffmg.tasks.problem import Problem
from diffmg.testing import CHECKS, problems

PROBLEMS = problems()
MEMBERS = [name for name, _ in BASELINES.items()]
ABLE = [
    pytest.param(name, PROBLEMS[kind], id=f"{name}-{kind}")
    for name in MEMBERS
    for kind, problem in PROBLEMS.items()
    if isinstance(problem.task, make_baseline(name).tasks)
]
UNABLE = [
    pytest.param(name, problem, id=f"{name}-{kind}")
    for name in MEMBERS
    for kind, problem in PROBLEMS.items()
    if not isinstance(problem.task, make_baseline(name).tasks)
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(("name", "problem"), ABLE)
def test_the_kit(name: str, problem: Problem, check) -> None:
    check(make_baseline(name), problem)


@pytest.mark.parametrize(("name", "problem"), UNABLE)
def test_a_method_that_cannot_do_the_task_says_so(name: str, problem: Problem) -> None:
    with pytest.raises(DiffmgError, match=f"{name!r} can do .*, but got {type(problem.task).__name__}"):
        make_baseline(name).build(problem, Settings(dim=8), 0)


@pytest.mark.parametrize("name", MEMBERS)
def test_members_are_described(name: str) -> None:
    kind: type[Baseline] = BASELINES.get(name)
    assert kind.summary
    assert kind.__doc__
    assert all(values for values in kind.tunable.values())


def test_unknown_options_are_named() -> None:
    with pytest.raises(DiffmgError, match="unknown option of baseline 'mlp': 'layer'; did you mean 'layers'"):
        make_baseline("mlp", {"layer": 3})
