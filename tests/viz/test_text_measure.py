"""Text that fits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from diffmg.viz.measure import fitted, in_a_line, text_width


@given(st.text(), st.integers(40, 300), st.integers(1, 4))
def test_no_line_is_too_wide_and_there_are_not_too_many(text: str, width: int, lines: int) -> None:
    rows = fitted(text, width, 13, lines)
    assert 1 <= len(rows) <= lines
    assert all(text_width(row, 13) <= width for row in rows)
    if not rows[-1].endswith("…"):
        assert "".join("".join(rows).split()) == "".join(text.split())


def test_wide_signs_are_wide_and_marks_have_no_width() -> None:
    assert text_width("注文") > text_width("ab")
    assert text_width("e\u0301") == text_width("e")
    assert fitted("a long name of a table", 80, 13, 2)[-1].endswith("…")


@given(st.text(), st.integers(60, 300))
def test_a_line_fits_and_keeps_both_ends(text: str, width: int) -> None:
    line = in_a_line(text, width, 13)
    assert text_width(line, 13) <= width
    if line != text:
        start, _, end = line.partition("…") if "…" not in text else ("", "", "")
        assert text.startswith(start)
        assert text.endswith(end)


def test_long_names_that_differ_at_their_ends_stay_different() -> None:
    names = [in_a_line(f"table with a rather long name {letter}", 150, 14) for letter in "abc"]
    assert len(set(names)) == 3
    assert names[0].startswith("table with")
