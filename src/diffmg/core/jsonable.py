"""Values as JSON has them."""

import math
from collections.abc import Mapping
from typing import Any

from diffmg.core.codec import to_plain


def jsonable(value: object) -> Any:
    """Plain values for JSON: arrays become lists, paths and dates text, numbers that are none (NaN, infinity) null."""
    return _plain(to_plain(value))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(v) for name, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(v) for v in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else _as_word(value)


def _as_word(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
