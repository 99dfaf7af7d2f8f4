from __future__ import annotations

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.tables.columns import MOST_CATEGORIES, WORDS, Encoded, as_numbers, encode


def encoded(values, kind: pa.DataType | None = None) -> tuple[np.ndarray | None, str]:
    """Features and the note of one column."""
    column = values if isinstance(values, pa.Array) else pa.array(values, kind)
    found = encode(pa.table({"it": column}), ["it"], "a")
    matrix = found.matrix.toarray() if sp.issparse(found.matrix) else found.matrix
    assert matrix is None or (matrix.dtype == np.float32 and np.isfinite(matrix).all())
    assert len(found.notes) == 1
    return matrix, found.notes[0].removeprefix("a.it: ")


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.int64(), pa.uint16(), pa.float32(), pa.float64(), pa.decimal128(5, 2)], ids=str
)
def test_numbers_are_standardised(kind):
    matrix, note = encoded([decimal.Decimal(v) if "decimal" in str(kind) else v for v in (1, 2, 3, 6)], kind)
    assert note == "number"
    wanted = (np.array([1, 2, 3, 6]) - 3) / np.std([1, 2, 3, 6])
    np.testing.assert_allclose(matrix, wanted[:, None], rtol=1e-6)


def test_missing_and_infinite_numbers_are_the_mean_and_marked():
    matrix, note = encoded([1.0, None, 3.0, float("inf"), float("nan")])
    assert note == "number, 3 missing (which is a feature too)"
    assert matrix.tolist() == [[-1, 0], [0, 1], [1, 0], [0, 1], [0, 1]]


@given(st.lists(st.one_of(st.none(), st.floats()), min_size=1, max_size=20))
def test_any_numbers_become_finite_features(values):
    encoded(values, pa.float64())


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_any_whole_numbers_become_finite_features(values):
    encoded(values, pa.int64())


@pytest.mark.parametrize("values", [[7, 7, 7], [0.0, 0.0], [float("nan"), 2.5, 2.5]])
def test_a_number_that_is_always_the_same_says_nothing(values):
    matrix, note = encoded(values)
    assert note.startswith("left out (a number that is always the same)")
    assert matrix is None or matrix.shape[1] == 1


def test_whether_a_constant_is_there_is_a_feature():
    matrix, note = encoded(["yes", None, None])
    assert matrix.tolist() == [[0], [1], [1]]
    assert note == "left out (a text that is always the same), 2 missing (which is a feature too)"


@pytest.mark.parametrize("kind", [pa.float64(), pa.string(), pa.date32(), pa.bool_()], ids=str)
def test_a_column_without_values_says_nothing(kind):
    matrix, note = encoded([None, None], kind)
    assert matrix is None
    assert note.endswith("that is always the same), 2 missing")


def test_booleans():
    matrix, note = encoded([True, False, None])
    assert matrix.tolist() == [[1, 0], [-1, 0], [0, 1]]
    assert note == "yes or no, 1 missing (which is a feature too)"


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64(), pa.timestamp("ns"), pa.timestamp("us", "UTC")], ids=str)
def test_dates_are_numbers(kind):
    values = pa.array([datetime.datetime(2020, 1, day) for day in (1, 2, 3)]).cast(kind)
    matrix, note = encoded(values)
    assert note == "date"
    np.testing.assert_allclose(matrix.ravel(), np.array([-1, 0, 1]) / np.std([1, 2, 3]), rtol=1e-5)


def test_parts_of_a_second_do_no_harm():
    matrix, _ = encoded([datetime.datetime(2020, 1, 1, 1, 1, 1, 5), datetime.datetime(2021, 1, 1)])
    assert matrix.tolist() == [[-1], [1]]


@pytest.mark.parametrize("kind", ["text", "dictionary", "large", "view"])
def test_categories_are_one_hot_the_commonest_first(kind):
    values = pa.array(["b", "a", "a", None])
    kinds = {"large": pa.large_string(), "view": pa.string_view()}
    values = values.dictionary_encode() if kind == "dictionary" else values.cast(kinds.get(kind, pa.string()))
    matrix, note = encoded(values)
    assert matrix.tolist() == [[0, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1]]
    assert note == "category, 2 kinds, 1 missing (which is a feature too)"


def test_rare_categories_are_pooled():
    values = ["a"] * 600 + ["b"] * 600 + ["x", "y", None]
    matrix, note = encoded(values)
    assert note == "category, 2 kinds and 2 rare ones pooled, 1 missing (which is a feature too)"
    assert matrix[[0, 600, 1200, 1201, 1202]].tolist() == [
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
    ]


def test_no_more_than_so_many_categories():
    values = [f"k{i}" for i in range(60)] * 3
    matrix, note = encoded(values)
    assert note == "category, 50 kinds and 10 rare ones pooled"
    assert matrix.shape == (180, MOST_CATEGORIES + 1)
    assert (matrix.sum(axis=1) == 1).all()


def test_names_are_left_out():
    assert encoded([f"name{i}" for i in range(99)]) == (None, "left out (a name: 99 different values in 99 rows)")


def test_a_column_of_rare_ones_alone_is_left_out():
    matrix, note = encoded([f"k{i}" for i in range(600)] * 2)
    assert matrix is None
    assert note == "left out (a name: 600 different values in 1200 rows, all of them rare)"


def test_text_is_hashed_words():
    matrix, note = encoded(["the cat sat down", "A cat sat up there", None, "", "no word of these at all"])
    assert note == f"text, words hashed into {WORDS} columns, 1 missing (which is a feature too)"
    assert matrix.shape == (5, WORDS + 1)
    assert matrix[0, :WORDS] @ matrix[1, :WORDS] > matrix[0, :WORDS] @ matrix[4, :WORDS]
    assert not matrix[2:4, :WORDS].any()


def test_a_long_name_that_returns_is_a_category():
    matrix, note = encoded(["not at all good", "very good so far"] * 5)
    assert note == "category, 2 kinds"
    assert matrix.shape == (10, 2)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([[1], [2, 3]], "list<"),
        ([{"x": 1}, {"x": 2}], "struct<"),
        ([b"x", b"y"], "binary"),
        ([datetime.timedelta(1), datetime.timedelta(2)], "duration"),
        ([datetime.time(1), datetime.time(2)], "time64"),
        ([None, None], "null"),
        (pa.array([(1, 2, 3)] * 2, pa.month_day_nano_interval()), "month_day_nano_interval"),
    ],
)
def test_other_kinds_are_left_out(values, kind):
    matrix, note = encoded(values)
    assert matrix is None
    assert note.startswith(f"left out ({kind}")


def test_columns_stand_side_by_side():
    table = pa.table({"x": [1, 2, 3], "y": ["a", "b", "a"], "z": ["one two three", "two three four", "five six six"]})
    dense, sparse = encode(table, ["x", "y"], "a"), encode(table, ["x", "z"], "a")
    assert dense.matrix.shape == (3, 3)
    assert dense.notes == ("a.x: number", "a.y: category, 2 kinds")
    assert sp.issparse(sparse.matrix)
    assert sparse.matrix.shape == (3, 1 + WORDS)


def test_no_columns_no_features():
    assert encode(pa.table({"x": [1, 2]}), [], "a") == Encoded(None, ())


def test_numbers_as_they_are():
    table = pa.table({"x": [1, 0, 0], "y": [5.5, 5.5, 5.5]})
    dense = as_numbers(table, ["x", "y"], "a", "dense")
    assert dense.matrix.tolist() == [[1, 5.5], [0, 5.5], [0, 5.5]]
    assert dense.notes == ("a: 2 columns of numbers as they are",)
    sparse = as_numbers(table, ["x", "y"], "a", "sparse").matrix
    assert sparse.nnz == 4
    assert (sparse.toarray() == dense.matrix).all()


@pytest.mark.parametrize("values", [["x", "y"], [1, None]])
def test_only_numbers_can_be_taken_as_they_are(values):
    with pytest.raises(DiffmgError, match=r"a.x must be numbers without gaps to be taken as they are, but got "):
        as_numbers(pa.table({"x": values}), ["x"], "a", "dense")
