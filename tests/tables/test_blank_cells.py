"""Numbers of a SQLite column in which some cells hold an empty text."""

from __future__ import annotations

import pyarrow as pa
import pytest

from diffmg.tables.rows import _array


@pytest.mark.parametrize(
    ("cells", "read"),
    [
        ([1, "", 3, None, " "], [1, None, 3, None, None]),
        (["", 1.5, 2], [None, 1.5, 2.0]),
        ([1, "", "x"], ["1", "", "x"]),
        (["", "x"], ["", "x"]),
        (["", ""], ["", ""]),
        ([2**70, ""], [str(2**70), ""]),
    ],
)
def test_blank_texts_among_numbers_are_missing(cells: list[object], read: list[object]) -> None:
    found = _array(cells, "any")
    assert found.to_pylist() == read
    assert pa.types.is_string(found.type) == isinstance(read[-1], str)
