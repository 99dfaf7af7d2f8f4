"""Text from data, as it is shown."""

from __future__ import annotations

import re
import unicodedata
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.text import HIDDEN, clean, printable, shortened

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
ANY = st.text(st.characters(codec=None), max_size=40)


@given(ANY)
def test_nothing_that_is_shown_controls_a_terminal(text: str) -> None:
    shown = clean(text)
    assert not CONTROL.search(shown)
    assert not HIDDEN & {*shown}
    assert clean(shown) == shown
    shown.encode()


@given(ANY)
def test_names_are_on_one_line_and_fit_into_xml(text: str) -> None:
    shown = printable(text)
    assert not any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in shown)
    assert len(shown.splitlines()) <= 1
    assert printable(shown) == shown
    element = ElementTree.Element("a", name=shown)
    assert ElementTree.fromstring(ElementTree.tostring(element, "utf-8")).get("name") == shown


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters=HIDDEN)))
def test_all_other_text_stays_as_it_is(text: str) -> None:
    assert clean(text) == text == printable(text)


@given(st.text(), st.integers(1, 50))
def test_long_text_is_cut(text: str, most: int) -> None:
    whole = printable(text)
    assert len(shortened(text, most)) == min(len(whole), most)
    assert shortened(text, most)[: most - 1] == whole[: most - 1]


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
    assert printable(text) == shown.replace("\n", "\\n").replace("\t", "\\t")


def test_any_value_can_be_shown() -> None:
    assert [printable(value) for value in (3, 2.5, None, "a\nb")] == ["3", "2.5", "None", "a\\nb"]
