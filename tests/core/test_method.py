from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.method import METHODS, Method, MethodSpec
from diffmg.core.settings import Settings
from diffmg.datasets import DATASETS
from diffmg.methods.baselines.popularity import Popularity
from diffmg.methods.given import Given
from diffmg.methods.search.diffmg import DiffMG
from diffmg.tasks import Problem

ALL = dict(METHODS.items())
NEEDED: dict[str, dict[str, Any]] = {"given": {"metagraphs": DATASETS.get("shop").planted}}
"""Options without a default."""


def made(name: str) -> Method:
    return ALL[name](**NEEDED.get(name, {}))


def variants(name: str) -> list[Method]:
    """The method as it is, and with each value that tuning may try."""
    method: Any = made(name)
    tried = [(option, value) for option, values in ALL[name].tunable.items() for value in values]
    return [method, *(replace(method, **{option: value}) for option, value in tried)]


@pytest.mark.parametrize("name", ALL)
def test_a_method_comes_back_from_its_spec(name: str) -> None:
    for method in variants(name):
        spec = method.spec()
        assert MethodSpec(method.name, spec.options).make() == method
        assert MethodSpec(spec.name, json.loads(json.dumps(spec.options))).make() == method


@pytest.mark.parametrize("name", ALL)
def test_a_method_says_what_it_is_and_cannot_be_changed(name: str) -> None:
    method: Any = made(name)
    assert method.name == name
    assert set(method.spec().options) == set(NEEDED.get(name, {}))
    assert method.summary.strip() == method.summary != ""
    assert method.family in ("search", "baseline", "given")
    assert set(method.tunable) <= {f.name for f in fields(method)}
    assert (method.depth > 0) <= method.has_metagraph
    for option in fields(method)[:1]:
        with pytest.raises(FrozenInstanceError):
            setattr(method, option.name, None)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (MethodSpec("difmg"), "unknown method 'difmg'; did you mean 'diffmg'"),
        (MethodSpec("diffmg", {"epsilom": 0.1}), "'epsilom'; did you mean 'epsilon'"),
        (MethodSpec("diffmg", {"depth": "4"}), "'diffmg'.*depth.* but got '4'"),
        (MethodSpec("diffmg", {"depth": 0}), "depth=0"),
        (MethodSpec("diffmg", {"search_seeds": 0}), "search_seeds=0"),
        (MethodSpec("diffmg", {"epsilon": True}), "epsilon.* but got True"),
        (MethodSpec("given", {"metagraphs": [{"target": "user"}]}), "metagraphs"),
    ],
    ids=str,
)
def test_what_is_no_method_is_told(spec: MethodSpec, words: str) -> None:
    with pytest.raises(DiffmgError, match=words):
        spec.make()


def test_making_a_spec_imports_nothing_of_the_method() -> None:
    assert MethodSpec("no such method", {"a": 1}).options == {"a": 1}


def test_a_class_that_is_not_registered_has_no_name() -> None:
    class Mine(Given):
        """Forgot to register."""

    with pytest.raises(DiffmgError, match=r"registered.*Mine"):
        _ = Mine(DATASETS.get("shop").planted).name


def test_a_method_for_other_tasks_is_refused_with_those_that_can(classification: Problem) -> None:
    with pytest.raises(DiffmgError, match=r"'popularity' serves 2 target types.*author;") as caught:
        Popularity().check(classification, Settings())
    assert "lightgcn" not in str(caught.value).partition("can do it")[2]
    DiffMG().check(classification, Settings())


def test_a_method_searches_as_often_as_it_says() -> None:
    assert DiffMG(search_seeds=3).searches == 3
    assert Popularity().searches == 1
