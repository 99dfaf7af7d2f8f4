from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.foreign import HIDDEN, clean, on_one_line

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


@given(st.text(st.characters(codec=None), max_size=40))
def test_nothing_that_is_shown_controls_a_terminal(text: str) -> None:
    shown = clean(text)
    assert not CONTROL.search(shown)
    assert not HIDDEN & {*shown}
    assert clean(shown) == shown
    shown.encode()
    assert not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in on_one_line(text))


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters=HIDDEN)))
def test_all_other_text_stays_as_it_is(text: str) -> None:
    assert clean(text) == text == on_one_line(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\rb\x07", "a\\rb\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("a\u202eb", "a\\u202eb"),
        ("\ud800", "\\ud800"),
        ("é\n\t", "é\n\t"),
    ],
)
def test_control_characters_become_escapes(text: str, shown: str) -> None:
    assert clean(text) == shown
