from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.tables.dates import FORMS, form_of, is_before, is_iso, iso_moment, to_iso


@pytest.mark.parametrize(
    "text", ["2024", "2024-02", "2024-02-29", "2024-02-29 10:00", "2024-02-29T10:00:01.5", "2024-02-29T10:00Z"]
)
def test_iso_dates_are_known(text: str) -> None:
    assert is_iso(text)
    assert form_of([text], "a.b") == ""


@pytest.mark.parametrize("text", ["2023-02-29", "2024-13-01", "24-01-01", "in May", "", "12:30", "2024-1-5"])
def test_other_texts_are_not(text: str) -> None:
    assert not is_iso(text)


@pytest.mark.parametrize(
    ("texts", "iso"),
    [
        (["31.01.2024", "01.02.2024"], "2024-01-31"),
        (["31/01/2024", "01/02/2024"], "2024-01-31"),
        (["01/31/2024", "02/01/2024"], "2024-01-31"),
        (["2024/01/31"], "2024-01-31"),
        (["20240131"], "2024-01-31"),
        (["31 Jan 2024", "1 May 2024"], "2024-01-31"),
        (["3 May 2024"], "2024-05-03"),
        (["January 31, 2024"], "2024-01-31"),
        (["31.01.2024 09:30", "01.02.2024"], "2024-01-31 09:30:00"),
        (["2024-1-31"], "2024-01-31"),
    ],
)
def test_common_forms_are_read(texts: list[str], iso: str) -> None:
    assert to_iso(form_of(texts, "a.b"), texts[0]) == iso


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["01/02/2024", "03/03/2024"], r"dates of a.b must be clear, but got '01/02/2024', which may be 2024-0"),
        (["31/01/2024", "01/31/2024"], r"one known form, but got '"),
        (["2024-01-31", "31.01.2024"], r"one known form, but got '"),
        (["2024-01-31", "2024-02-01", "in May"], r"one known form, but got 'in May'; write dates as 2024-01-31"),
    ],
)
def test_unclear_or_mixed_dates_are_refused_with_the_value(texts: list[str], message: str) -> None:
    with pytest.raises(DiffmgError, match=message):
        form_of(texts, "a.b")


DAYS = st.dates(date(1900, 1, 1), date(2099, 12, 31))


@given(st.sampled_from(FORMS), DAYS)
def test_every_form_reads_what_it_writes(form: str, day: date) -> None:
    assert to_iso(form, day.strftime(form)) == day.isoformat()


@given(DAYS, st.datetimes())
def test_a_bare_date_is_before_a_moment_if_its_end_is(day: date, moment) -> None:
    limit = iso_moment(moment.isoformat())
    end = str(day + timedelta(days=1)) + " 00:00:00.000000"
    assert is_before(day.isoformat(), limit) == (end <= limit)


def test_a_moment_is_before_later_ones_only() -> None:
    limit = iso_moment("2024-02-01T10:00")
    assert is_before("2024-02-01 09:59:59", limit)
    assert not is_before("2024-02-01 10:00:00", limit)
    assert is_before("2024-01", limit)
    assert not is_before("2024-02", limit)
