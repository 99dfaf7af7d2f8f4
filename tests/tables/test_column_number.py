from __future__ import annotations

import decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from column_checks import encoded, encoder_of, features, fitted
from diffmg.tables.columns.numeric import Number


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.int64(), pa.uint16(), pa.float32(), pa.float64(), pa.decimal128(5, 2)], ids=str
)
def test_numbers_are_standardised(kind):
    values = [decimal.Decimal(v) if "decimal" in str(kind) else v for v in (1, 2, 3, 6)]
    assert isinstance(encoder_of(values, kind), Number)
    matrix, note = encoded(values, kind)
    assert note == "number"
    wanted = (np.array([1, 2, 3, 6]) - 3) / np.std([1, 2, 3, 6])
    np.testing.assert_allclose(matrix, wanted[:, None], rtol=1e-6)


def test_missing_and_infinite_numbers_are_the_mean_and_marked():
    matrix, note = encoded([1.0, None, 3.0, float("inf"), float("nan")])
    assert note == "number, 3 missing (which is a feature too)"
    assert matrix.tolist() == [[-1, 0], [0, 1], [1, 0], [0, 1], [0, 1]]


@given(st.lists(st.one_of(st.none(), st.floats()), min_size=1, max_size=20))
def test_any_numbers_become_finite_features(values):
    matrix, note = encoded(values, pa.float64())
    assert matrix is None or (len(matrix) == len(values) and "number" in note)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_any_whole_numbers_become_finite_features(values):
    matrix, _ = encoded(values, pa.int64())
    assert matrix is None or np.abs(matrix).max() <= np.sqrt(len(values)) * 1.001


@pytest.mark.parametrize(("values", "columns"), [([7, 7, 7], 0), ([0.0, 0.0], 0), ([float("nan"), 2.5, 2.5], 1)])
def test_a_number_that_is_always_the_same_says_nothing(values, columns):
    matrix, note = encoded(values)
    assert note.startswith("left out (a number that is always the same)")
    assert (0 if matrix is None else matrix.shape[1]) == columns


def test_rows_not_seen_at_fitting_are_scaled_as_those_that_were():
    encoder = fitted([0.0, 2.0, 4.0])
    step = np.std([0, 2, 4])
    np.testing.assert_allclose(features(encoder, [2.0, 8.0, None]).ravel(), [0, 6 / step, 0], rtol=1e-6)


def test_whole_numbers_may_come_back_as_others():
    """A table of tomorrow may hold 1.5 where today's has whole numbers alone."""
    encoder = fitted([0, 2, 4], pa.int64())
    np.testing.assert_allclose(features(encoder, [2.5]).ravel(), [0.5 / np.std([0, 2, 4])], rtol=1e-6)
