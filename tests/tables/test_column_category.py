from __future__ import annotations

import pyarrow as pa
import pytest

from column_checks import encoded, encoder_of, features, fitted
from diffmg.tables.columns.category import Category
from diffmg.tables.columns.words import MOST_CATEGORIES


@pytest.mark.parametrize("kind", ["text", "dictionary", "large", "view"])
def test_categories_are_one_hot_the_commonest_first(kind):
    values = pa.array(["b", "a", "a", None])
    kinds = {"large": pa.large_string(), "view": pa.string_view()}
    values = values.dictionary_encode() if kind == "dictionary" else values.cast(kinds.get(kind, pa.string()))
    assert isinstance(encoder_of(values), Category)
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
    matrix, note = encoded([f"k{i}" for i in range(60)] * 3)
    assert note == "category, 50 kinds and 10 rare ones pooled"
    assert matrix.shape == (180, MOST_CATEGORIES + 1)
    assert (matrix.sum(axis=1) == 1).all()


def test_names_are_left_out():
    assert encoded([f"name{i}" for i in range(99)]) == (None, "left out (a name: 99 different values in 99 rows)")


def test_a_column_of_rare_ones_alone_is_left_out():
    matrix, note = encoded([f"k{i}" for i in range(600)] * 2)
    assert matrix is None
    assert note == "left out (a name: 600 different values in 1200 rows, all of them rare)"


def test_whether_a_constant_is_there_is_a_feature():
    matrix, note = encoded(["yes", None, None])
    assert matrix.tolist() == [[0], [1], [1]]
    assert note == "left out (a text that is always the same), 2 missing (which is a feature too)"


def test_a_long_name_that_returns_is_a_category():
    matrix, note = encoded(["not at all good", "very good so far"] * 5)
    assert note == "category, 2 kinds"
    assert matrix.shape == (10, 2)


def test_kinds_not_seen_at_fitting_are_pooled_or_nothing():
    plain, pooled = fitted(["a", "b", "a"]), fitted(["a"] * 600 + ["b"] * 600 + ["x"])
    assert features(plain, ["b", "new", None]).tolist() == [[0, 1], [0, 0], [0, 0]]
    assert features(pooled, ["b", "new", None]).tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]


def test_a_name_stays_left_out_whatever_comes():
    assert features(fitted([f"name{i}" for i in range(99)]), ["a", "a"]) is None


@pytest.mark.parametrize("different", [5, 400])
def test_a_few_cells_that_make_numbers_text_are_named(different):
    """As a category, and left out as a name."""
    texts = [f"{n % different}.5" for n in range(400)]
    encoder = Category.fit(pa.chunked_array([[*texts[:-3], "1,400", "1,400", "unknown"]]))
    assert encoder is not None
    assert encoder.note.endswith("; nearly all are numbers, but not '1,400': empty such cells to read it as numbers")
    assert bool(encoder.left_out) is (different == 400)


@pytest.mark.parametrize("others", [["007"] * 40, ["x"] * 100, []])
def test_codes_and_mixed_texts_are_no_numbers(others):
    """Zeros in front belong to a code; a tenth of other texts is more than a slip."""
    encoder = Category.fit(pa.chunked_array([["1", "-2.5", "3e4"] * 100 + others]))
    assert encoder is not None
    assert encoder.stray == ""
