"""Regression read from tables, and when labels are taken as numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from diffmg.core.errors import DiffmgError
from diffmg.tables.description import Description, NodeTable, RelationTable
from diffmg.tables.problem import problem_from_tables
from diffmg.tasks import NodeClassification, NodeRegression, Problem
from diffmg.tasks.labels import MANY, are_numbers
from diffmg.tasks.node_classification import ClassificationSpec
from diffmg.tasks.regression import RegressionSpec

ROWS = 120
NODES = {"house": NodeTable("houses"), "street": NodeTable()}
ON = {"on": RelationTable("houses", ("house", "id"), ("street", "street"))}


def problem_of(spec, seed=0, **columns) -> Problem:
    rng = np.random.default_rng(seed)
    houses = {
        "id": [f"h{n:03}" for n in range(ROWS)],
        "street": rng.integers(0, 9, ROWS),
        "price": rng.normal(300, 50, ROWS),
        "rent": rng.normal(3, 1, ROWS),
        **columns,
    }
    return problem_from_tables(Description(NODES, ON, spec), {"houses": pa.table(houses)})


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([0.5, 1.0, None], True),
        ([1.0, 2.0, float("nan"), 1.0], False),
        ([float("inf"), 1.0], True),
        (list(range(MANY)), False),
        (list(range(MANY + 1)), True),
        ([float(n) for n in range(MANY + 1)], True),
        (["a", "b"], False),
        ([f"{n}.5" for n in range(99)], False),
        ([True, False], False),
        ([None, None], False),
    ],
)
def test_numbers_are_not_whole_or_many(values, wanted):
    assert are_numbers(pa.chunked_array([pa.array(values)])) == wanted


def test_decimals_of_a_database_are_numbers():
    assert are_numbers(pa.chunked_array([pa.array([1, 2]).cast(pa.decimal128(20, 0))])) is False
    assert are_numbers(pa.chunked_array([pa.array([1.5, 2]).cast(pa.decimal128(10, 2))])) is True


def test_labels_that_are_numbers_make_a_regression_and_that_is_said():
    problem = problem_of(ClassificationSpec("house", ("price",), seed=4))
    told = problem_of(RegressionSpec("house", ("price",), seed=4))
    assert isinstance(problem.task, NodeRegression)
    assert problem.task.digests({}) == told.task.digests({})
    notes = [note for note in problem.graph.notes if "regression" in note]
    assert notes == ['label price: numbers, so it is a regression; for classes, say kind = "classification" in [task]']
    assert not [note for note in told.graph.notes if "regression" in note]


def test_several_columns_of_numbers_are_several_numbers_a_node():
    problem = problem_of(ClassificationSpec("house", ("price", "rent")))
    assert problem.task.names == ("price", "rent")
    assert any("differ in scale: price decides" in note for note in problem.graph.notes)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "classification"},
        {"metric": "accuracy"},
        {"metric": "macro_f1"},
        {"class_weight": "balanced"},
        {"classes": tuple(range(60))},
    ],
    ids=str,
)
def test_whoever_says_classification_gets_it(changes):
    rooms = np.repeat(np.arange(60), 2)
    assert isinstance(problem_of(ClassificationSpec("house", ("rooms",)), rooms=rooms).task, NodeRegression)
    found = problem_of(ClassificationSpec("house", ("rooms",), **changes), rooms=rooms, street=np.arange(ROWS) % 9)
    assert isinstance(found.task, NodeClassification)


def test_whoever_says_regression_gets_it_from_few_whole_numbers_too():
    task = problem_of(RegressionSpec("house", ("rooms",)), rooms=np.arange(ROWS) % 3).task
    assert isinstance(task, NodeRegression)
    assert [task.size(part) for part in ("train", "val", "test")] == [72, 24, 24]


def test_rows_without_a_number_are_only_predicted():
    price = [None if n % 4 == 0 else float(n) + 0.5 for n in range(ROWS)]
    task = problem_of(RegressionSpec("house", ("price", "rent")), price=price).task
    used = np.concatenate([index.numpy() for index in task.parts.values()])
    assert sorted(used) == [n for n in range(ROWS) if n % 4]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"price": ["cheap"] * ROWS}, "the label column 'price' must be numbers, but got string"),
        ({"price": [1.5] * ROWS}, "the training values of 'price' must vary"),
        ({"price": [float("inf"), *range(1, ROWS)]}, r"must be finite .* in 1 rows, such as \[0\]"),
        ({"price": [None] * (ROWS - 1) + [1.5]}, "but got none in val"),
        ({"price": [float("nan")] * ROWS}, "the label column 'price' must have numbers, but got none in 120 rows"),
        ({"price": [float("nan"), *range(1, ROWS)], "part": ["train", "val"] * 60}, r"must have a label, .* for \[0\]"),
    ],
)
def test_columns_that_cannot_be_learned_are_refused(columns, message):
    with pytest.raises(DiffmgError, match=message):
        problem_of(RegressionSpec("house", ("price",), "part" if "part" in columns else None), **columns)
