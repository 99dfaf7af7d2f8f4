from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from column_checks import encoded, encoder_of, features, fitted
from diffmg.tables.columns._base import Unused


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([[1], [2, 3]], "list<"),
        ([{"x": 1}, {"x": 2}], "struct<"),
        ([b"x", b"y"], "binary"),
        ([datetime.timedelta(1), datetime.timedelta(2)], "duration"),
        ([datetime.time(1), datetime.time(2)], "time64"),
        ([None, None], "null"),
        (pa.array([(1, 2, 3)] * 2, pa.month_day_nano_interval()), "month_day_nano_interval"),
    ],
)
def test_other_kinds_are_left_out(values, kind):
    assert isinstance(encoder_of(values), Unused)
    matrix, note = encoded(values)
    assert matrix is None
    assert note.startswith(f"left out ({kind}")
    assert features(fitted(values), values) is None
