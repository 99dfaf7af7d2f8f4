from __future__ import annotations

from column_checks import encoded, encoder_of, features, fitted
from diffmg.tables.columns.numeric import YesNo


def test_booleans():
    assert isinstance(encoder_of([True, False]), YesNo)
    matrix, note = encoded([True, False, None])
    assert matrix.tolist() == [[1, 0], [-1, 0], [0, 1]]
    assert note == "yes or no, 1 missing (which is a feature too)"


def test_one_answer_alone_says_nothing():
    assert encoded([True, True]) == (None, "left out (a yes or no that is always the same)")


def test_rows_not_seen_at_fitting():
    assert features(fitted([True, False]), [False, True, None]).tolist() == [[-1], [1], [0]]
