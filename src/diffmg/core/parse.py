"""Parsing of JSON and TOML from anyone: bounded in size, depth and digits; wrong input is told in one sentence."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from diffmg.core.errors import DiffmgError
from diffmg.core.limits import DEPTH, DIGITS, TEXT_BYTES

Kinds = type | tuple[type, ...]


def parse_json(text: str, what: str, where: str = "") -> Any:
    """Plain values from JSON; `what` names it in the error, and `where` its file."""
    return _parse(text, "JSON", what, where, json.loads)


def parse_toml(text: str, what: str, where: str = "") -> dict[str, Any]:
    """Plain values from TOML; `what` names it in the error, and `where` its file."""
    if any(line.partition("=")[0].count(".") > DEPTH for line in text.splitlines()):
        raise DiffmgError(f"{what} must have keys of at most {DEPTH} parts, but got a longer one")
    found: dict[str, Any] = _parse(text, "TOML", what, where, tomllib.loads)
    return found


def check_size(size: int, what: str) -> None:
    """Raise if a text is larger than anything that diffmg reads as JSON or TOML."""
    if size > TEXT_BYTES:
        raise DiffmgError(f"{what} must have at most {TEXT_BYTES} bytes, but got {size}")


def checked_fields(value: object, kinds: Mapping[str, Kinds], what: str) -> dict[str, Any]:
    """Return a table of plain values; raise unless it has these names with values of these types."""
    if not isinstance(value, dict):
        raise DiffmgError(f"{what} must be a table of values, but got {_short(value)}")
    for name, kind in kinds.items():
        found, wanted = value.get(name), kind if isinstance(kind, tuple) else (kind,)
        if name not in value or not isinstance(found, wanted) or (isinstance(found, bool) and bool not in wanted):
            words = " or ".join("null" if k is type(None) else k.__name__ for k in wanted)
            raise DiffmgError(f"{what} must have {name!r} of the type {words}, but got {_short(found)}")
    return value


def _parse(text: str, language: str, what: str, where: str, parse: Callable[[str], Any]) -> Any:
    check_size(len(text), what)
    try:
        found = parse(text)
    except RecursionError as error:
        raise _too_deep(what) from error
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        got = f"but got {where!r}, which is not" if where else "but got"
        raise DiffmgError(f"{what} must be {language}, {got}: {error}") from error
    except ValueError as error:  # Python itself refuses to convert thousands of digits
        raise _too_long(what) from error
    _check_shape(found, what)
    return found


def _check_shape(value: Any, what: str) -> None:
    """Raise if lists and tables are too deep or a whole number too long for what works on them."""
    level: list[Any] = [value]
    for _ in range(DEPTH + 1):
        if any(isinstance(v, int) and v.bit_length() > DIGITS * 10 // 3 for v in level):
            raise _too_long(what)
        nested = [v.values() if isinstance(v, dict) else v for v in level if isinstance(v, dict | list)]
        if not nested:
            return
        level = [v for values in nested for v in values]
    raise _too_deep(what)


def _too_long(what: str) -> DiffmgError:
    return DiffmgError(f"{what} must have whole numbers of at most {DIGITS} digits, but got a longer one")


def _too_deep(what: str) -> DiffmgError:
    return DiffmgError(f"{what} must have at most {DEPTH} lists and tables within each other, but got more")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
