"""Categorical columns; names, with too many different values, are left out."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from diffmg.tables.columns._base import COLUMN_TYPES, Block, ColumnEncoder, as_text, nothing
from diffmg.tables.columns.words import MOST_CATEGORIES

RARE = 0.002
"""Categories with a smaller share of the rows are pooled."""


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
        if several > MOST_CATEGORIES and several > known / 2:
            return cls((), 0, f"a name: {several} different values in {known} rows")
        order = np.argsort(-numbers, kind="stable")[:MOST_CATEGORIES]
        frequent = order[numbers[order] >= RARE * known]
        if not len(frequent):
            return cls((), 0, f"a name: {several} different values in {known} rows, all of them rare")
        return cls(tuple(names.take(pa.array(frequent)).to_pylist()), several - len(frequent))

    @property
    def note(self) -> str:
        """The number of categories."""
        if self.left_out:
            return f"left out ({self.left_out})"
        return f"category, {len(self.kinds)} kinds" + (f" and {self.pooled} rare ones pooled" if self.pooled else "")

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
