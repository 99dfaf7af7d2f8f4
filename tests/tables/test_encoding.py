from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from column_checks import encoded, features, fitted
from diffmg.core.codec import from_plain, to_plain
from diffmg.core.errors import DiffmgError
from diffmg.tables.columns import COLUMN_TYPES, ColumnEncoder, fit_column
from diffmg.tables.columns.words import Words
from diffmg.tables.encoding import FeatureEncoder

TABLE = pa.table(
    {
        "x": [1, 2, 3],
        "y": ["a", "b", "a"],
        "z": ["one two three", "two three four", "five six six"],
        "gap": [None, 1.0, 3.0],
    }
)
WORDS = Words().columns


def fit(*names: str, encode: str = "by_type") -> FeatureEncoder:
    return FeatureEncoder.fit(TABLE, names, encode)


@pytest.mark.parametrize("name", [name for name, _ in COLUMN_TYPES.items()])
def test_every_column_type_has_a_test_file_of_its_name(name):
    assert (Path(__file__).parent / f"test_column_{name}.py").is_file()


@pytest.mark.parametrize("kind", [pa.float64(), pa.string(), pa.date32(), pa.bool_()], ids=str)
def test_a_column_without_values_says_nothing(kind):
    matrix, note = encoded([None, None], kind)
    assert matrix is None
    assert note.endswith("that is always the same), 2 missing")


def test_columns_stand_side_by_side():
    dense, sparse = fit("x", "y"), fit("x", "z")
    assert dense.transform(TABLE, "a").shape == (3, 3)
    assert dense.notes(TABLE, "a") == ["a.x: number", "a.y: category, 2 kinds"]
    matrix = sparse.transform(TABLE, "a")
    assert sp.issparse(matrix)
    assert matrix.shape == (3, 1 + WORDS)


def test_no_columns_no_features():
    encoder = fit()
    assert (encoder.transform(TABLE, "a"), encoder.notes(TABLE, "a")) == (None, [])


@pytest.mark.parametrize("names", [("x", "y", "gap"), ("x", "z")])
def test_rows_not_seen_at_fitting_are_encoded_by_what_was_fitted(names):
    """One row alone has the features it has among the others: nothing is fitted again."""
    encoder = from_plain(FeatureEncoder, to_plain(fit(*names)), "it")
    whole = encoder.transform(TABLE, "a")
    for row in range(3):
        alone = encoder.transform(TABLE.slice(row, 1), "a")
        assert (alone != whole[[row]]).sum() == 0
    shuffled = encoder.transform(TABLE.take([2, 0, 1]), "a")
    assert (shuffled != whole[[2, 0, 1]]).sum() == 0


def test_other_rows_have_as_many_features_as_those_at_fitting():
    encoder = fit("x", "y", "gap")
    others = pa.table({"gap": [None, None], "y": ["new", None], "x": [None, 7], "more": [1, 2]})
    assert encoder.transform(others, "a").shape == (2, encoder.transform(TABLE, "a").shape[1])


def test_what_is_missing_is_a_feature_only_where_it_was_at_fitting():
    assert fit("gap").transform(TABLE, "a")[:, 1].tolist() == [1, 0, 0]
    assert fit("x").transform(pa.table({"x": [None, 2]}), "a").tolist() == [[0], [0]]


def test_a_column_that_is_not_there_any_more_is_named():
    for encoder in (fit("x", "y"), fit("x", encode="dense")):
        with pytest.raises(DiffmgError, match=r"column of nodes 'a': 'x'.*Known: xx, y"):
            encoder.transform(pa.table({"xx": [1], "y": ["a"]}), "nodes 'a'")


def test_numbers_as_they_are():
    table = pa.table({"x": [1, 0, 0], "y": [5.5, 5.5, 5.5]})
    dense, sparse = (FeatureEncoder.fit(table, ["x", "y"], kind) for kind in ("dense", "sparse"))
    assert dense.transform(table, "a").tolist() == [[1, 5.5], [0, 5.5], [0, 5.5]]
    assert dense.notes(table, "a") == ["a: 2 columns of numbers as they are"]
    matrix = sparse.transform(table, "a")
    assert matrix.nnz == 4
    assert (matrix.toarray() == dense.transform(table, "a")).all()
    assert from_plain(FeatureEncoder, to_plain(sparse), "it") == sparse


@pytest.mark.parametrize("values", [["x", "y"], [1, None]])
def test_only_numbers_can_be_taken_as_they_are(values):
    table = pa.table({"x": values})
    with pytest.raises(DiffmgError, match=r"a.x must be numbers without gaps"):
        FeatureEncoder.fit(table, ["x"], "dense").transform(table, "a")


def test_a_fitted_column_says_its_type():
    plain = to_plain(fit("x"))
    assert plain["columns"][0]["encoder"]["type"] == "number"
    for wrong in ({"type": "nmber"}, {"type": "number", "men": 0.0}, {"mean": 0.0}, 3):
        plain["columns"][0]["encoder"] = wrong
        with pytest.raises(DiffmgError, match=r"^it, columns"):
            from_plain(FeatureEncoder, plain, "it")


def test_a_column_type_from_outside_takes_part(monkeypatch):
    @dataclass(frozen=True)
    class Sign(ColumnEncoder):
        """Of a number: asked before all others."""

        rank = 1

        @classmethod
        def fit(cls, values):
            return cls() if pa.types.is_floating(values.type) else None

        @property
        def note(self):
            return "sign"

        def transform(self, values):
            return np.sign(values.fill_null(0).to_numpy()).astype(np.float32)[:, None]

    fit_column(TABLE["x"])
    monkeypatch.setattr(COLUMN_TYPES, "_members", {**COLUMN_TYPES._members, "sign": Sign})
    encoder = from_plain(FeatureEncoder, to_plain(fit("gap", "x")), "it")
    assert encoder.notes(TABLE, "a") == ["a.gap: sign, 1 missing (which is a feature too)", "a.x: number"]
    assert encoder.transform(TABLE, "a")[:, :2].tolist() == [[0, 1], [1, 0], [1, 0]]


@pytest.mark.parametrize("values", [["a", "b", "a"], ["one two three", "two three four", "five six six"]])
def test_a_text_column_without_values_in_other_rows_is_text_all_the_same(values):
    encoder = fitted(values)
    assert not features(encoder, [None, None]).any()


def test_codes_that_look_like_numbers_in_other_rows_are_text_all_the_same():
    encoder = fitted(["1", "x", "1"])
    assert features(encoder, [1, 7], pa.int64()).tolist() == [[1, 0], [0, 0]]


@pytest.mark.parametrize(
    ("values", "others"),
    [
        ([1.0, 2.0], ["x", "5"]),
        ([1.0, 2.0], [datetime.date(2020, 1, 1)]),
        ([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)], [5]),
        ([True, False], ["yes"]),
        (["a", "b"], [[1], [2]]),
    ],
)
def test_a_column_that_changed_its_type_is_named(values, others):
    with pytest.raises(DiffmgError, match="column 'it' of a must be what it was"):
        features(fitted(values), others)
