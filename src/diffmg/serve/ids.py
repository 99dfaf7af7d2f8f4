"""Ids of requests, which are text or whole numbers, as the ids of a model's data."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffmg.core.text import shortened
from diffmg.serve.refused import RefusedError

SMALL = 1000
"""Of a type with no more nodes, messages and pages may name ids."""
SHOWN = 60


class KnownIds:
    """The ids of one node type; numbers may be written as text, and the other way round."""

    def __init__(self, node_type: str, known: NDArray[Any]) -> None:
        self.node_type, self.known = node_type, known
        self._rows = {str(text): row for row, text in enumerate(known.astype(str).tolist())}

    @property
    def examples(self) -> list[str]:
        """A few ids; none of a type with many nodes."""
        return list(self._rows)[:3] if len(self._rows) <= SMALL else []

    def find(self, given: Sequence[int | str]) -> NDArray[Any]:
        """The ids as the data have them; refuses those that are not there."""
        rows = [self._rows.get(_text(one)) for one in given]
        missing = [one for one, row in zip(given, rows, strict=True) if row is None]
        if missing:
            raise RefusedError(404, self._unknown(missing))
        return self.known[np.asarray(rows, np.int64)]

    def _unknown(self, missing: Sequence[int | str]) -> str:
        named = ", ".join(repr(shortened(_text(one), SHOWN)) for one in missing[:3])
        reason = f"every id must be one of the {self.node_type!r} nodes, but got {named} ({len(missing)} unknown)"
        if len(self._rows) > SMALL:
            return reason
        near = get_close_matches(_text(missing[0])[:SHOWN], self._rows, n=3)
        return f"{reason}; ids look like {', '.join(map(repr, near or self.examples))}"


def _text(one: int | str) -> str:
    """An id as text; a whole number of thousands of digits, which Python does not write, is no id."""
    return one if isinstance(one, str) else (str(one) if abs(one) < 2**64 else "a very large number")
