"""Names from files, as they are shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.text import printable, shortened


@given(st.text(), st.integers(1, 50))
def test_text_is_printable_and_short(text: str, most: int) -> None:
    assert printable(text).isprintable()
    assert len(printable(text)) == len(text)
    assert len(shortened(text, most)) == min(len(text), most)
    assert shortened(text, most)[: most - 1] == printable(text)[: most - 1]
