import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core import DiffmgError
from diffmg.tables.history import History, Timed, Window
from diffmg.tables.times import NEVER
from diffmg.tables.totals import running_sums, totals

ROWS = st.lists(st.tuples(st.integers(-1, 3), st.one_of(st.none(), st.integers(-3, 6))), max_size=12)


def timed(rows):
    keys, times = ([row[n] for row in rows] for n in (0, 1))
    return Timed(np.array(keys, np.int64), np.array([NEVER if t is None else t for t in times], np.int64))


def heard_by(heard, key, moment, strict=True):
    """The numbers of the rows that a row may hear, earliest first; rows of one time by number."""
    if key < 0 or moment is None:
        return []
    able = [(t, i) for i, (k, t) in enumerate(heard) if k == key and t is not None]
    return [i for t, i in sorted(able) if t < moment or (t == moment and not strict)]


@given(ROWS, ROWS, st.one_of(st.none(), st.integers(1, 4)), st.one_of(st.none(), st.integers(1, 5)), st.booleans())
def test_edges_are_those_of_a_search_row_by_row(heard, hearing, rows, period, strict):
    rows = 2 if rows is None and period is None else rows
    found = History(timed(heard)).edges(timed(hearing), Window(rows, period), strict=strict)
    expected = set()
    for j, (key, moment) in enumerate(hearing):
        able = heard_by(heard, key, moment, strict)
        able = [i for i in able if period is None or heard[i][1] >= moment - period]
        expected |= {(i, j) for i in (able[-rows:] if rows else able)}
    assert set(map(tuple, found.T.tolist())) == expected


@given(ROWS, ROWS, st.integers(0, 4))
def test_totals_are_those_of_a_sum_row_by_row(heard, hearing, lag):
    values = np.array([np.nan if i % 3 == 0 else i - 4.5 for i in range(len(heard))])
    moments = timed(hearing)
    columns = totals("rows", History(timed(heard)), moments, moments.time + lag, {"x": values})
    for j, (key, moment) in enumerate(hearing):
        able = heard_by(heard, key, moment)
        known = [values[i] for i in able if not np.isnan(values[i])]
        assert columns["rows: count"][j].as_py() == pytest.approx(np.log1p(len(able)))
        days = columns["rows: days since the last"][j].as_py()
        assert (
            days is None if not able else days == pytest.approx(np.log1p((moment + lag - heard[able[-1]][1]) / 864e8))
        )
        mean, total = (columns[f"rows: {word} x"][j].as_py() for word in ("mean", "sum"))
        assert (mean is None, total is None) == (not known, not known)
        if known:
            assert mean == pytest.approx(np.mean(known))
            assert total == pytest.approx(np.sign(sum(known)) * np.log1p(abs(sum(known))))


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6), min_size=1, max_size=5))
def test_running_sums_begin_anew_and_do_not_feel_their_neighbours(groups):
    values = np.array([v for group in groups for v in group])
    starts = np.array([i == 0 for group in groups for i in range(len(group))])
    alone = np.concatenate([np.cumsum(group) for group in groups])
    assert running_sums(values, starts).tolist() == alone.tolist()


@pytest.mark.parametrize("given_", [{}, {"rows": 0}, {"period": -1}])
def test_a_window_reaches_back(given_):
    with pytest.raises(DiffmgError, match="a window has `rows >= 1` or `period >= 1`, but got"):
        Window(**given_)
