from __future__ import annotations

import datetime
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.tasks import NodeClassification
from diffmg.tasks.labels import PARTS, class_numbers, random_split, split_numbers


def column(values: list) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values)])


@pytest.mark.parametrize(
    ("values", "codes", "classes"),
    [
        (["b", "a", None, "b"], [1, 0, -1, 1], ["a", "b"]),
        ([3, 1, None], [1, 0, -1], [1, 3]),
        ([True, False, None], [1, 0, -1], [False, True]),
        ([1.0, 0.0, float("nan")], [1, 0, -1], [0, 1]),
        ([0.5, 1.5], [0, 1], [0.5, 1.5]),
        ([datetime.date(2021, 1, 1), datetime.date(2020, 1, 1)], [1, 0], None),
    ],
)
def test_classes_are_sorted_and_missing_ones_are_unknown(values, codes, classes):
    found, names = class_numbers(column(values), "labels")
    assert found.tolist() == codes
    assert names == (classes or sorted(values))


def test_classes_may_be_given():
    codes, names = class_numbers(column(["b", "a", "b"]), "labels", ["b", "c", "a"])
    assert (codes.tolist(), names) == ([0, 2, 0], ["b", "c", "a"])


@pytest.mark.parametrize(
    ("values", "classes", "message"),
    [
        (["x", "x", None], None, "labels must have two or more classes, but got ['x'] in 2 rows"),
        ([None, None], None, "labels must have two or more classes, but got [] in 0 rows"),
        (list(range(200)), None, "labels must be classes, but got 200 different values in 200 rows"),
        (["a", "b", "z"], ["a", "b"], "labels must be one of ['a', 'b'], but got ['z']"),
        ([[1], [2]], None, "labels must be names or numbers of classes, but got list<"),
        ([1, 2], ["a", "b"], "labels must be names or numbers of classes, but got int64"),
    ],
)
def test_what_are_no_classes(values, classes, message):
    with pytest.raises(DiffmgError, match=re.escape(message)):
        class_numbers(column(values), "labels", classes)


@pytest.mark.parametrize(
    "values",
    [
        ["train", "val", "test", None],
        ["Training", "valid", "TEST", ""],
        [" train", "dev", "testing", "  "],
        ["train", "validation", "test", None],
    ],
)
def test_parts_by_any_of_their_names(values):
    parts = split_numbers(column(values), "the split")
    assert {part: rows.tolist() for part, rows in parts.items()} == {"train": [0], "val": [1], "test": [2]}


def test_strange_parts_are_named():
    with pytest.raises(DiffmgError, match=r"but got \['holdout', 'x'\]"):
        split_numbers(column(["train", "x", "holdout"]), "the split")


def test_a_split_of_numbers_is_strange():
    with pytest.raises(DiffmgError, match=r"but got \['0', '1'\]"):
        split_numbers(column([0, 1, 1]), "the split")


shares = st.tuples(*[st.integers(1, 20)] * 3).flatmap(
    lambda parts: st.sampled_from([0, 1, 5]).map(lambda rest: tuple(p / (sum(parts) + rest) for p in parts))
)


@given(st.lists(st.integers(-1, 4), max_size=120), shares, st.integers(0, 2**32))
def test_a_random_split_is_stratified(labels, shares, seed):
    labels = np.array(labels, np.int64)
    parts = random_split(labels, shares, seed)
    everything = np.concatenate(list(parts.values()))
    assert len(np.unique(everything)) == len(everything)
    assert (labels[everything] >= 0).all()
    for label in np.unique(labels[labels >= 0]):
        count = int((labels == label).sum())
        sizes = {part: int((labels[rows] == label).sum()) for part, rows in parts.items()}
        for part, share in zip(PARTS, shares, strict=True):
            assert abs(sizes[part] - share * count) <= 2
        assert sum(sizes.values()) <= count
        assert sizes["train"] >= 1
        assert count < 3 or min(sizes.values()) >= 1
        if abs(sum(shares) - 1) < 1e-9:
            assert sum(sizes.values()) == count


def test_a_random_split_is_drawn_by_its_seed():
    labels = np.arange(60) % 3
    one, same, other = (random_split(labels, (0.6, 0.2, 0.2), seed) for seed in (1, 1, 2))
    assert all((one[part] == same[part]).all() for part in PARTS)
    assert any((one[part] != other[part]).any() for part in PARTS)


def test_few_of_a_class_are_for_training():
    parts = random_split(np.array([0, 1, 1, 2, 2, 2]), (0.05, 0.05, 0.9), 0)
    assert [len(parts[part]) for part in PARTS] == [3, 2, 1]


@pytest.mark.parametrize("shares", [(0, 0.5, 0.5), (0.5, 0, 0.5), (0.6, 0.6, 0), (0.5, 0.2, -0.1), (0.5, 0.5)])
def test_shares_that_make_no_split(shares):
    with pytest.raises(DiffmgError, match=rf"shares must be train > 0.* but got {re.escape(str(shares))}"):
        random_split(np.arange(4), shares, 0)


def test_a_seed_is_not_negative():
    with pytest.raises(DiffmgError, match=r"but got seed=-1"):
        random_split(np.arange(4), (0.6, 0.2, 0.2), -1)


def test_a_task_from_a_column():
    task = NodeClassification.from_column("author", ["x", "y", None] * 10, seed=3)
    assert task.classes == ("x", "y")
    assert task.labels.tolist() == [0, 1, -1] * 10
    assert [task.size(part) for part in PARTS] == [12, 4, 4]


def test_a_task_with_a_column_of_parts():
    split = ["train", "train", "val", "test", None]
    task = NodeClassification.from_column("author", [1, 0, 1, 0, None], split=split, metric="accuracy")
    assert {part: index.tolist() for part, index in task.parts.items()} == {"train": [0, 1], "val": [2], "test": [3]}
    assert (task.metric, task.classes) == ("accuracy", (0, 1))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_task_from_series(library):
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    labels, split = frames.Series([1.0, 0.0, 1.0, None]), frames.Series(["train", "train", "val", None])
    task = NodeClassification.from_column("author", labels, split=split)
    assert (task.labels.tolist(), task.classes) == ([1, 0, 1, -1], (0, 1))


def test_labels_that_are_no_column():
    with pytest.raises(DiffmgError, match="the labels must hold one value a row"):
        NodeClassification.from_column("author", 5)


def test_a_node_of_a_part_needs_a_label():
    with pytest.raises(DiffmgError, match=r"but got none for \[2\]"):
        NodeClassification.from_column("author", ["x", "y", None], split=["train", "train", "val"])
