from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

from column_checks import encoded, encoder_of, features, fitted
from diffmg.tables.columns.numeric import Date

DAYS = [datetime.datetime(2020, 1, day) for day in (1, 2, 3)]


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64(), pa.timestamp("ns"), pa.timestamp("us", "UTC")], ids=str)
def test_dates_are_numbers(kind):
    values = pa.array(DAYS).cast(kind)
    assert isinstance(encoder_of(values), Date)
    matrix, note = encoded(values)
    assert note == "date"
    np.testing.assert_allclose(matrix.ravel(), np.array([-1, 0, 1]) / np.std([1, 2, 3]), rtol=1e-5)


def test_parts_of_a_second_do_no_harm():
    matrix, _ = encoded([datetime.datetime(2020, 1, 1, 1, 1, 1, 5), datetime.datetime(2021, 1, 1)])
    assert matrix.tolist() == [[-1], [1]]


def test_rows_not_seen_at_fitting_may_be_of_another_unit():
    encoder = fitted(pa.array(DAYS).cast(pa.date32()))
    later = pa.array([datetime.datetime(2020, 1, 2), datetime.datetime(2020, 1, 6)]).cast(pa.timestamp("ms"))
    np.testing.assert_allclose(features(encoder, later).ravel(), np.array([0, 4]) / np.std([1, 2, 3]), atol=1e-4)
