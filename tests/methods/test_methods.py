"""Every registered method passes the public kit, on every kind of task it can do."""

from __future__ import annotations

import random
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import MetaGraph
from diffmg.core.method import METHODS, Method, MethodSpec
from diffmg.core.settings import Settings
from diffmg.core.space import SearchSpace
from diffmg.methods.given import Given
from diffmg.nn.fitted import Fitted
from diffmg.tasks.problem import Problem
from diffmg.testing import CHECKS, problems

PROBLEMS = problems()
SHORT = {"depth": 2, "epochs": 2, "trials": 2, "batch": 1, "population": 4, "generations": 2, "elite": 1}
"""Options that make a search short, where it has them."""
SETTINGS = Settings(dim=8, dropout=0.0)
NAMES = [name for name, _ in METHODS.items()]
CASES = [(name, kind) for name in NAMES for kind in PROBLEMS]


def able(name: str, kind: str) -> bool:
    return len(PROBLEMS[kind].task.target_types) in METHODS.get(name).towers


def trained(name: str, kind: str) -> bool:
    """Whether it has a network of its own to train: a race trains others, and an ensemble (no towers) is what it left.

    Both have tests of their own: `test_auto.py`, `test_method_ensemble.py`.
    """
    return able(name, kind) and not METHODS.get(name).races


def short(name: str, problem: Problem) -> Method:
    """With few epochs where it has them; with meta graphs where it must be given them."""
    if name == "given":
        return Given(tuple(drawn(problem, target) for target in problem.task.target_types))
    known = {f.name for f in fields(METHODS.get(name))}
    return MethodSpec(name, {option: value for option, value in SHORT.items() if option in known}).make()


def drawn(problem: Problem, target: str) -> MetaGraph:
    return SearchSpace.dag(problem.graph.schema, target, 2).sample(random.Random(0))


@pytest.mark.parametrize(("name", "kind"), [case for case in CASES if trained(*case)])
def test_the_kit(name: str, kind: str) -> None:
    for check in CHECKS:
        check(short(name, PROBLEMS[kind]), PROBLEMS[kind])


@pytest.mark.parametrize(("name", "kind"), [case for case in CASES if trained(*case)])
def test_every_parameter_learns_and_the_state_is_what_cannot_be_computed_again(name: str, kind: str) -> None:
    """A network's tables follow from the problem and are not stored; embeddings that were trained before are."""
    problem = PROBLEMS[kind]
    method = short(name, problem)
    model = method.network(problem, SETTINGS, 0, method.search(problem, SETTINGS, 0).found())
    if isinstance(model, Fitted):
        assert not model.state_dict(), "building computes nothing"
        return
    problem.task.loss(model(problem.graph), "train").backward()
    idle = [parameter for parameter, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    ranked_alike = ["user_bias"] if (name, kind) == ("matrix_factorisation", "ranking") else []
    assert idle == ranked_alike, "but for what all items of a user have in common, which does not rank them"
    kept = set(model.state_dict()) - {parameter for parameter, _ in model.named_parameters()}
    assert all(buffer.startswith("tower") for buffer in kept) and bool(kept) == (name == "metapath2vec")


@pytest.mark.parametrize(("name", "kind"), [case for case in CASES if METHODS.get(case[0]).towers and not able(*case)])
def test_a_method_that_cannot_do_the_task_says_which_can(name: str, kind: str) -> None:
    method, others = METHODS.get(name)(), [other for other in NAMES if able(other, kind)]
    for refuse in (method.check, lambda *given: method.network(*given, 0)):
        with pytest.raises(DiffmgError, match=f"{name!r} serves .*: {', '.join(others)}$"):
            refuse(PROBLEMS[kind], SETTINGS)


def test_some_methods_serve_one_kind_of_task_only() -> None:
    assert {name for name in NAMES if METHODS.get(name).towers == (2,)} >= {"popularity", "lightgcn"}


@pytest.mark.parametrize("name", NAMES)
def test_a_method_is_frozen_options_with_defaults_and_a_description(name: str) -> None:
    kind = METHODS.get(name)
    method = kind()
    assert method == kind()
    assert method.spec() == MethodSpec(name)
    assert method.spec().make() == method
    assert kind.summary.strip() == kind.summary != ""
    assert "\n" not in kind.summary
    assert kind.__doc__
    assert kind.family in ("search", "baseline", "given")
    options = [f.name for f in fields(kind)]
    for option, values in kind.tunable.items():
        assert values
        assert option in options
        assert all(getattr(MethodSpec(name, {option: value}).make(), option) == value for value in values)
    with pytest.raises(FrozenInstanceError):
        setattr(method, (options or ["colour"])[0], 1)
    with pytest.raises(DiffmgError, match=f"{name!r}: 'colour'"):
        MethodSpec(name, {"colour": "red"}).make()


def test_every_method_has_a_test_file_of_its_name() -> None:
    """`baseline_` or `method_` stands before a name that another test has too."""
    files = {path.stem for path in Path(__file__).parent.rglob("test_*.py")}
    assert all({f"test_{name}", f"test_baseline_{name}", f"test_method_{name}"} & files for name in NAMES)
