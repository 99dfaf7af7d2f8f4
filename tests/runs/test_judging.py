from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from diffmg.core.codec import from_plain, to_plain
from diffmg.core.details import Certainty, Details
from diffmg.datasets import load_dataset
from diffmg.race.evidence import chance_of
from diffmg.runs.judging import judged
from diffmg.tasks import ItemRanking, NodeRegression
from diffmg.tasks.problem import Problem
from small_networks import small_recommendation, small_world


def drawn(*shapes: tuple[int, int]) -> tuple[torch.Tensor, ...]:
    draw = torch.Generator().manual_seed(0)
    return tuple(torch.randn(*shape, generator=draw) for shape in shapes)


@pytest.fixture(scope="module")
def academic() -> Problem:
    return load_dataset("academic:120")


def outputs_of(problem: Problem) -> tuple[torch.Tensor, ...]:
    return drawn((problem.graph.num_nodes["author"], problem.task.outputs))


def same(value: Certainty | Details) -> bool:
    return from_plain(type(value), to_plain(value), "it") == value


def test_a_classification_is_judged(academic: Problem) -> None:
    outputs = outputs_of(academic)
    score = float(academic.task.scores(outputs, "test")["macro_f1"])
    found = judged(academic, outputs, score)
    assert found is not None
    assert found.details is not None
    assert found.certainty.units == academic.task.size("test")
    assert found.certainty.error == pytest.approx(found.resampled and found.resampled.error)
    wanted = chance_of(academic.task, academic.task.votes(outputs, "test"), score)
    assert (found.certainty.chance, found.certainty.above_chance) == wanted
    assert sum(c.f1 for c in found.details.classes) / len(found.details.classes) == pytest.approx(score)
    counts = found.details.confusion and found.details.confusion.counts
    right = sum(row[i] for i, row in enumerate(counts or ()))
    assert right / academic.task.size("test") == pytest.approx(float(academic.task.scores(outputs, "test")["accuracy"]))
    assert same(found.details)
    assert same(found.certainty)


def test_without_a_test_part_there_is_nothing_to_judge(academic: Problem) -> None:
    task = academic.task.with_parts(test=torch.empty(0, dtype=torch.int64))  # type: ignore[attr-defined]
    assert judged(replace(academic, task=task), outputs_of(academic), 0.5) is None
    assert judged(academic, outputs_of(academic), None) is None


def test_answers_that_are_no_numbers_have_no_details(academic: Problem) -> None:
    assert academic.task.details((outputs_of(academic)[0] * torch.nan,), "test", academic.graph) is None


def test_a_recommendation_shows_examples_that_are_new_to_the_user() -> None:
    problem = small_recommendation()
    task = problem.task
    outputs = drawn(*((n, 4) for n in task.shape))  # type: ignore[attr-defined]
    found = task.details(outputs, "val", problem.graph)
    assert found is not None
    assert found.examples
    assert {"roc", "precision_recall"} == set(found.curves)
    known = task.known(("train",)).toarray()  # type: ignore[attr-defined]
    for example in found.examples:
        user = int(np.flatnonzero(problem.graph.ids_of(task.target_types[0]).astype(str) == example.user)[0])
        items = problem.graph.ids_of(task.target_types[1]).astype(str)
        before = set(items[known[user] > 0])
        assert not before & set(example.items)
        assert set(example.known) <= before
        assert [item in example.wanted for item in example.items] == list(example.hits)
    assert same(found)


def test_a_ranking_has_the_scores_of_lists_of_any_length() -> None:
    liked = {"train": [[0, 1], [1, 3], [2, 0]], "val": [[0, 3], [1, 0]], "test": [[0, 5], [2, 1], [3, 6], [3, 2]]}
    task = ItemRanking.build("a", "b", (10, 7), liked, k=4)
    outputs = drawn((10, 3), (7, 3))
    found = task.details(outputs, "test", small_world().graph())
    assert found is not None
    scores = task.scores(outputs, "test")
    assert dict(found.curves["ndcg"])[4.0] == pytest.approx(float(scores["ndcg"]))
    assert dict(found.curves["recall"])[4.0] == pytest.approx(float(scores["recall"]))
    values = [y for _, y in found.curves["recall"]]
    assert values == sorted(values)
    assert max(k for k, _ in found.curves["recall"]) <= 7
    assert [e.user for e in found.examples] == ["0", "2", "3"]


def test_a_regression_has_points_in_the_users_units() -> None:
    values = np.arange(10.0) * 100
    task = NodeRegression.build("a", values, train=range(4), val=[4, 5], test=range(6, 10), names=["price"])
    outputs = drawn((10, 1))
    found = task.details(outputs, "test", small_world().graph())
    assert found is not None
    (one,) = found.residuals
    assert one.name == "price"
    assert [t for t, _ in one.points] == [600.0, 700.0, 800.0, 900.0]
    assert [p for _, p in one.points] == pytest.approx(task.predictions(outputs)[6:, 0].tolist())
