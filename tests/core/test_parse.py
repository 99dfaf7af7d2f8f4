from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.core.limits import DEPTH, DIGITS
from diffmg.core.parse import checked_fields, parse_json, parse_toml

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=20,
)


@given(PLAIN)
def test_json_is_what_was_written(value: Any) -> None:
    assert parse_json(json.dumps(value), "it") == value


@given(st.text(alphabet='[]{}",:0123456789.eE-+ truefalsnN\\\n', max_size=60))
def test_any_text_is_json_or_refused(text: str) -> None:
    for parse in (parse_json, parse_toml):
        try:
            parse(text, "it")
        except DiffmgError as error:
            assert str(error).startswith("it must ")


HOSTILE = {
    "digits": "9" * 5000,
    "fewer digits": "9" * (DIGITS + 10),
    "open brackets": "[" * 100_000,
    "nested": "[" * 5000 + "]" * 5000,
    "just too deep": "[" * (DEPTH + 1) + "]" * (DEPTH + 1),
    "tables": '{"a":' * 500 + "1" + "}" * 500,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_json_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(DiffmgError, match="it must "):
        parse_json(text, "it")


@pytest.mark.parametrize("text", [t for t in HOSTILE.values() if '"' not in t])
def test_hostile_toml_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(DiffmgError, match="it must "):
        parse_toml(f"a = {text}", "it")


def test_a_key_of_endless_parts_is_refused() -> None:
    with pytest.raises(DiffmgError, match=f"at most {DEPTH} parts"):
        parse_toml(".".join(["a"] * 50_000) + " = 1", "it")


def test_what_is_just_within_the_limits_is_read() -> None:
    deep = "[" * DEPTH + "]" * DEPTH
    assert json.dumps(parse_json(deep, "it")) == deep
    assert parse_json("9" * DIGITS, "it") == 10**DIGITS - 1


@pytest.mark.parametrize("value", [None, [], 3, {}, {"n": "1"}, {"n": True}, {"n": None}, {"n": 1.5}])
def test_a_field_of_another_type_is_named(value: Any) -> None:
    with pytest.raises(DiffmgError, match="it must"):
        checked_fields(value, {"n": int}, "it")


def test_fields_of_the_right_types_come_back() -> None:
    assert checked_fields({"n": 1, "x": None, "more": 2}, {"n": int, "x": (str, type(None))}, "it")["more"] == 2
