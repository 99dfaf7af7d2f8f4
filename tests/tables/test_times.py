from datetime import date, datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pytest

from diffmg.core import DiffmgError
from diffmg.tables.times import DAY, NEVER, is_time, moment, moments, period, row_times, written_like


def column(*values, kind=None):
    return pa.chunked_array([pa.array(values, kind)])


def micros(text):
    return int(np.datetime64(text, "us").astype(np.int64))


@pytest.mark.parametrize(
    "values", [column("2024-01-31", None), column(date(2024, 1, 31), None), column(datetime(2024, 1, 31), None)]
)
def test_a_bare_date_is_known_at_its_end_and_predicted_from_its_beginning(values):
    assert row_times(values, "x").tolist() == [micros("2024-02-01") - 1, NEVER]
    assert moments(values.slice(0, 1), "x").tolist() == [micros("2024-01-31")]


def test_a_column_with_times_of_day_keeps_its_midnights():
    values = column(datetime(2024, 1, 31), datetime(2024, 1, 31, 12, 30))
    assert row_times(values, "x").tolist() == [micros("2024-01-31"), micros("2024-01-31T12:30")]


def test_no_later_row_decides_whether_midnights_are_bare_dates():
    values = column(datetime(2024, 1, 31), datetime(2024, 3, 1, 12, 30), datetime(2024, 3, 2), None)
    noon = micros("2024-03-01T12:30")
    end = micros("2024-02-01") - 1
    assert row_times(values, "x", micros("2024-03-01")).tolist() == [end, noon, micros("2024-03-03") - 1, NEVER]
    assert row_times(values, "x", noon + 1).tolist() == [micros("2024-01-31"), noon, micros("2024-03-02"), NEVER]


def test_in_text_each_bare_date_is_one():
    values = column("2024-01-31", "2024-01-31 12:30:00", " ", "2024-01-31T12:30")
    noon = micros("2024-01-31T12:30")
    assert row_times(values, "x").tolist() == [micros("2024-02-01") - 1, noon, NEVER, noon]


@pytest.mark.parametrize(
    "values",
    [
        column("31.1.2024", None),
        column("31/01/2024", ""),
        column("1/31/2024", None),
        column("Jan 31, 2024", None),
        column(20240131, None),
        column(20240131.0, None),
    ],
)
def test_days_in_other_common_forms_are_days(values):
    assert is_time(values, "date")
    assert row_times(values, "x").tolist() == [micros("2024-02-01") - 1, NEVER]


@pytest.mark.parametrize("unit", [1, 10**3, 10**6, 10**9])
def test_seconds_and_finer_since_1970_are_moments(unit):
    seconds = int(micros("2024-01-31T12:30") / 1e6)
    values = column(seconds * unit, None, (seconds - 60) * unit)
    assert is_time(values, "timestamp") and not is_time(values, "price")
    assert row_times(values, "x").tolist() == [micros("2024-01-31T12:30"), NEVER, micros("2024-01-31T12:29")]


def test_the_form_of_all_values_decides_between_day_and_month():
    assert row_times(column("3/1/2024", "13/1/2024"), "x").tolist()[0] == micros("2024-01-04") - 1
    assert row_times(column("3/1/2024", "3/13/2024"), "x").tolist()[0] == micros("2024-03-02") - 1


def test_time_zones_are_taken_to_utc():
    east = timezone(timedelta(hours=2))
    assert row_times(column("2024-01-31T12:30+02:00"), "x").tolist() == [micros("2024-01-31T10:30")]
    aware = column(datetime(2024, 1, 31, 12, 30, tzinfo=east), kind=pa.timestamp("ms", "Europe/Paris"))
    assert row_times(aware, "x").tolist() == [micros("2024-01-31T10:30")]


def test_dates_before_the_epoch_and_far_away():
    assert row_times(column("1950-05-13", "9999-12-30"), "x").tolist() == [
        micros("1950-05-14") - 1,
        micros("9999-12-31") - 1,
    ]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (column("2024-01-31T12:30+02:00", "2024-01-31T12:30"), "all have a time zone or none of them, but got both"),
        (column("3.1.2024", "soon"), "must all be written in one known form, but got 'soon'"),
        (column("3/1/2024", "4/2/2024"), "must be clear, but got '3/1/2024', which may be 2024-01-03 or 2024-03-01"),
        (column("2024-02-31"), "dates are written|one known form"),
        (column(20240131, 1_700_000_000), "days such as 20240131, or seconds since 1970, but got 20240131 to 17"),
        (column(20240231), "must all be written in one known form"),
        (column(True), "times must be dates, moments or text such as 2024-01-31, but got bool"),
    ],
)
def test_what_is_no_time_is_refused(values, words):
    with pytest.raises(DiffmgError, match=words):
        row_times(values, "orders.date")
    assert not is_time(values)


def test_a_prediction_needs_a_moment():
    with pytest.raises(DiffmgError, match=r"every prediction needs a moment, but got 1 rows without one in task\.date"):
        moments(column("2024-01-31", None), "task.date")


def test_text_of_dates_is_a_time_and_other_text_is_none():
    assert is_time(column("2024-01-31", None))
    assert not is_time(column("a", "2024-01-31"))
    assert not is_time(column(None, kind=pa.string()))


def test_periods():
    assert period("30d") == 30 * DAY
    assert period("12 h") == DAY // 2
    assert moment("1970-01-02", "x") == DAY
    for text in ("30", "d", "0d", "3 months", "-1d"):
        with pytest.raises(
            DiffmgError, match="a period is a number from 1 on and one of s, min, h, d, w, such as 30d, but got"
        ):
            period(text)


MOMENTS = {
    "dates": pa.array([date(2024, 1, 31)]),
    "moments": pa.array([datetime(2024, 1, 31)], pa.timestamp("ns")),
    "moments with a zone": pa.array([datetime(2024, 1, 31)], pa.timestamp("us", "Europe/Warsaw")),
    "text": pa.array(["2024-01-31"]),
    "text with a zone": pa.array(["2024-01-31T00:00:00Z"]),
    "text in another form": pa.array(["31.01.2024"]),
    "numbers of days": pa.array([20240131]),
    "seconds": pa.array([1706659200]),
    "milliseconds": pa.array([1706659200000.0]),
}


@pytest.mark.parametrize("name", MOMENTS)
@pytest.mark.parametrize("at", ["2024-03-09", "2024-03-09T12:30", "2024-03-09T14:30+02:00"])
def test_a_moment_is_written_like_those_of_the_predictions(name, at):
    known = pa.chunked_array([MOMENTS[name]])
    if name in ("dates", "numbers of days") and len(at) > 10:
        with pytest.raises(DiffmgError, match=r"bare dates.*but got '2024-03-09T"):
            written_like(at, known, "the moments")
        return
    found = pa.chunked_array([pa.array([written_like(at, known, "the moments")], known.type)])
    assert moments(pa.chunked_array([*known.chunks, *found.chunks]), "both")[1] == moment(at, "a moment")
