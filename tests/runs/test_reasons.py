from __future__ import annotations

import pytest

from diffmg import DiffMG, MetaGraphClassifier, MetaGraphRecommender
from diffmg.core.errors import DiffmgError
from diffmg.core.importance import Contribution, Explanation, PathSource
from diffmg.core.schema import Relation
from diffmg.runs.model import Model
from diffmg.runs.reasons import reason, with_reasons
from diffmg.tasks.answers import Answers
from diffmg.tasks.problem import Problem

BUYS, MADE = Relation("user", "buys", "item"), Relation("brand", "makes", "item")
QUICK = {"dim": 8, "max_epochs": 2}


def tower(target: str, *contributions: Contribution) -> Explanation:
    return Explanation(target, 0, "score", contributions)


def test_the_reason_is_the_path_with_the_largest_effect_of_either_tower() -> None:
    users = tower("user", Contribution((), 0.9, 0.1, ()), Contribution((), 0.0, 9.0, (), "other paths"))
    items = tower(
        "item", Contribution((BUYS,), 0.5, -3.0, ()), Contribution((MADE,), 0.1, 0.2, (PathSource("brand", "\x1b", 1),))
    )
    assert reason([users, items]) == "item <- brand (brand \\x1b)"
    assert reason([users]) == "user itself"
    assert reason([tower("item", Contribution((BUYS,), 1.0, -1.0, ()))]) == ""


@pytest.fixture(scope="module")
def model(recommendation: Problem) -> Model:
    method = DiffMG(depth=2, search_seeds=1, epochs=3)
    return MetaGraphRecommender(method=method, settings=QUICK).fit(recommendation).model_


def test_recommendations_say_why(model: Model) -> None:
    plain, told = model.answers([3, 5], k=3), model.answers([3, 5], k=3, why=True)
    assert list(told.columns) == [*plain.columns, "why"]
    assert all((told[name] == plain[name]).all() for name in plain.columns)
    for user, item, why in zip(told["user"].tolist(), told["item"].tolist(), told["why"], strict=True):
        assert why == reason(model.explain([(user, item)], 1))
    assert any(told["why"])
    (streamed,) = model.stream([3, 5], k=3, why=True)
    assert streamed.to_csv() == told.to_csv()


def test_a_column_that_is_called_why_is_kept(model: Model) -> None:
    plain = model.answers([3], k=2)
    block = Answers({"why": plain["score"], **plain.columns})
    (told,) = with_reasons(model, [block])
    assert list(told.columns) == ["why", *plain.columns, "why_"]
    assert (told["why"] == plain["score"]).all()
    assert told["why_"].tolist() == model.answers([3], k=2, why=True)["why"].tolist()


def test_nobody_has_no_reasons(model: Model) -> None:
    assert model.answers([], k=3, why=True).to_csv() == "user,rank,item,score,why\n"


def test_reasons_are_for_recommendations(classification: Problem) -> None:
    fitted = MetaGraphClassifier(method=DiffMG(depth=2, search_seeds=1, epochs=3), settings=QUICK).fit(classification)
    with pytest.raises(DiffmgError, match="reasons are for recommendations, but got a model of author"):
        fitted.model_.answers([1], why=True)
