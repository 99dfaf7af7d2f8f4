"""Categorical columns; names, with too many different values, are left out."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from diffmg.tables.columns._base import COLUMN_TYPES, Block, ColumnEncoder, as_text, nothing
from diffmg.tables.columns.words import MOST_CATEGORIES

RARE = 0.002
"""Categories with a smaller share of the rows are pooled."""
NUMBER = r"^\s*[+-]?(0|[1-9]\d*)?(\.\d+)?([eE][+-]?\d+)?\s*$"
LONGEST = 30
MOSTLY = 0.9
"""From this share of numbers on, a text column is told of: a few cells made it one."""


@COLUMN_TYPES.add("category")
@dataclass(frozen=True)
class Category(ColumnEncoder):
    """One-hot columns for frequent categories, and one for all others if there are any."""

    kinds: tuple[str, ...]
    pooled: int
    """Number of rare categories that share a column."""
    left_out: str = ""
    """Why the column is not a feature; empty if it is."""
    constant: bool = False
    stray: str = ""
    """A text that is no number, where nearly all others are."""

    rank = 50

    @classmethod
    def fit(cls, values: pa.ChunkedArray) -> Self | None:
        """The frequent values, most frequent first."""
        if not pa.types.is_string(values.type):
            return None
        counts = pc.value_counts(values.drop_null())
        names, numbers = counts.field("values"), counts.field("counts").to_numpy()
        known, several = len(values) - values.null_count, len(names)
        if several < 2:
            return cls((), 0, "a text that is always the same", constant=True)
        stray = _stray(names, numbers)
        if several > MOST_CATEGORIES and several > known / 2:
            return cls((), 0, f"a name: {several} different values in {known} rows", stray=stray)
        order = np.argsort(-numbers, kind="stable")[:MOST_CATEGORIES]
        frequent = order[numbers[order] >= RARE * known]
        if not len(frequent):
            return cls((), 0, f"a name: {several} different values in {known} rows, all of them rare", stray=stray)
        return cls(tuple(names.take(pa.array(frequent)).to_pylist()), several - len(frequent), stray=stray)

    @property
    def note(self) -> str:
        """The number of categories."""
        hint = f"; nearly all are numbers, but not {self.stray!r}: empty such cells to read it as numbers"
        end = hint if self.stray else ""
        if self.left_out:
            return f"left out ({self.left_out}){end}"
        return f"category, {len(self.kinds)} kinds{f' and {self.pooled} rare ones pooled' if self.pooled else ''}{end}"

    def transform(self, values: pa.ChunkedArray) -> Block | None:
        """One-hot encoding; missing values are all zeros, unseen ones are pooled with the rare ones."""
        if self.left_out:
            return nothing(values) if self.constant else None
        values = as_text(values)
        code = pc.index_in(values, value_set=pa.array(self.kinds)).fill_null(len(self.kinds)).to_numpy()
        block = np.zeros((len(values), len(self.kinds) + 1), np.float32)
        block[np.arange(len(values)), code] = 1.0
        block[np.asarray(values.is_null().to_numpy(), bool)] = 0.0
        return block if self.pooled else block[:, :-1]


def _stray(names: pa.Array, numbers: NDArray[np.int64]) -> str:
    """The commonest text that is no number, where nearly all are; empty if there is none, or many."""
    numeric = pc.match_substring_regex(names, NUMBER).to_numpy(zero_copy_only=False)
    if numeric.all() or numbers[numeric].sum() < MOSTLY * numbers.sum():
        return ""
    return str(names[int(np.argmax(np.where(numeric, 0, numbers)))].as_py())[:LONGEST]
