from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from column_checks import encoded, encoder_of, features, fitted, table_of
from diffmg.core.errors import DiffmgError
from diffmg.tables.columns.category import Category
from diffmg.tables.columns.several import Several

GENRES = ["action|comedy", "comedy|drama", None, "drama", "action | drama|", "comedy|action"] * 3
WANTED = [[1, 1, 0], [0, 1, 1], [0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 1, 0]] * 3


def by_name(encoder: Several) -> list[int]:
    """Where each of the three genres stands among the features."""
    return [encoder.kinds.index(name) for name in ("action", "comedy", "drama")]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (GENRES, "separated by '|'"),
        ([g and g.replace("|", "; ") for g in GENRES], "separated by ';'"),
        ([g and g.replace("|", ",") for g in GENRES], "separated by ','"),
        ([g and json.dumps([v.strip() for v in g.split("|") if v]) for g in GENRES], "in JSON lists"),
        ([g and str([v.strip() for v in g.split("|") if v]) for g in GENRES], "in JSON lists"),
        ([g and [v.strip() for v in g.split("|")] for g in GENRES], "in lists"),
        (pa.array([g and g.split("|") for g in GENRES], pa.large_list(pa.large_string())), "in lists"),
    ],
)
def test_a_feature_for_each_value(values, said):
    encoder = encoder_of(values)
    assert isinstance(encoder, Several)
    matrix, note = encoded(values)
    assert matrix[:, by_name(encoder)].tolist() == WANTED
    assert matrix[:, 3].tolist() == [float(g is None) for g in GENRES], "a missing cell is a feature too"
    assert note == f"several values a cell, {said}, 3 kinds, 3 missing (which is a feature too)"


@given(st.lists(st.sets(st.sampled_from("abcdef"), max_size=4), min_size=2, max_size=40))
def test_zeros_and_ones_are_those_of_a_slow_count(cells):
    encoder = encoder_of(pa.array([sorted(cell) for cell in cells], pa.list_(pa.string())))
    if sum(map(len, cells)) < 3 * len(set().union(*cells)) or len(set().union(*cells)) < 2:
        assert not isinstance(encoder, Several)
        return
    block = encoder.transform(pa.chunked_array([pa.array([sorted(cell) for cell in cells], pa.list_(pa.string()))]))
    assert block.tolist() == [[float(kind in cell) for kind in encoder.kinds] for cell in cells]


def test_rare_and_unseen_values_are_pooled():
    common = [f"v{i % 50:02}|v{(i * 7 + i // 50) % 50:02}" for i in range(500)]
    encoder = fitted([*common, "once|v00"])
    matrix = features(encoder, ["once", "v00|never", "v00", None])
    assert matrix.shape == (4, 51)
    assert matrix[:, -1].tolist() == [1, 1, 0, 0]
    assert matrix.sum(axis=1).tolist() == [1, 2, 1, 0]


@pytest.mark.parametrize(
    "values",
    [
        [f"we went there, and it was {i} good, honestly, as far as anybody knows" for i in range(60)],
        ["it was good, but late", "it was bad, but early", "it was good, but late"] * 20,
        [f"name{i}, first{i}" for i in range(60)],
        ["1,5", "2,5", "1,0", "2,0"] * 20,
        ["a|b"] + ["a", "b", "c"] * 20,
        ["a|b"] * 20,
        [f"[{i}" for i in range(40)],
        pa.array([[0.1, 0.2], [0.1, 0.3]] * 10),
        pa.array([[i, i + 1] for i in range(20)]),
    ],
)
def test_other_columns_are_not_split(values):
    assert not isinstance(encoder_of(values), Several)


def test_categories_with_a_rare_separator_stay_categories():
    assert isinstance(encoder_of(["a", "b", "c|d"] * 20), Category)


def test_whole_numbers_in_lists():
    matrix, note = encoded([[1, 2], [2], [1], []] * 3)
    assert note == "several values a cell, in lists, 2 kinds"
    assert np.unique(matrix, axis=0).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]


def test_texts_where_lists_were_are_refused():
    encoder = fitted([["a", "b"], ["b"], ["a"]] * 4)
    with pytest.raises(DiffmgError, match="must be what it was when its features were fitted"):
        encoder.transform(table_of(["a", "b"]), "films")
    split = fitted(GENRES)
    with pytest.raises(DiffmgError, match="texts or lists to be split, but got double"):
        split.transform(table_of([0.5, 1.5]), "films")
