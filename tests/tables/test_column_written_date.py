from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from column_checks import encoded, encoder_of, features, fitted
from diffmg.tables.columns.category import Category
from diffmg.tables.columns.written_date import WrittenDate


@given(st.lists(st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)), min_size=2, max_size=9, unique=True))
def test_texts_become_what_their_dates_become(days: list[datetime.date]) -> None:
    np.testing.assert_allclose(encoded([day.isoformat() for day in days])[0], encoded(days)[0], atol=1e-5)


@pytest.mark.parametrize(
    "form", ["2020-01-0{}", " 2020-01-0{} ", "2020-01-0{} 10:30:00", "2020-01-0{}T10:30:00.5+01:00"]
)
def test_times_of_day_are_cut_off(form: str) -> None:
    matrix, note = encoded([form.format(day) for day in (1, 2, 3)])
    assert note == "date, written as text"
    np.testing.assert_allclose(matrix.ravel(), np.array([-1, 0, 1]) / np.std([1, 2, 3]), rtol=1e-5)


@pytest.mark.parametrize("odd", ["soon", "2020-13-01", "2020-1-2", "2020-01-02 or later", "20200102"])
def test_a_column_with_other_texts_is_none_of_dates(odd: str) -> None:
    assert isinstance(encoder_of(["2020-01-01", "2020-01-02", odd] * 3), Category)


def test_empty_texts_and_what_is_no_date_later_are_the_mean() -> None:
    encoder = fitted(["2020-01-01", "", "2020-01-03"])
    assert features(encoder, ["", "never", "2020-01-02", "2020-01-03"]).ravel().tolist() == [0, 0, 0, 1]


def test_a_column_that_has_become_one_of_dates_is_taken() -> None:
    encoder = fitted(["2020-01-01", "2020-01-03"])
    assert features(encoder, [datetime.date(2020, 1, 3)]).tolist() == [[1]]
    assert isinstance(encoder_of(["2020-01-01", "2020-01-03"]), WrittenDate)
