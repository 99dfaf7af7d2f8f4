"""Free-text columns."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from diffmg.tables.columns._base import COLUMN_TYPES, Block, ColumnEncoder, as_text

BLANKS = 2
"""Minimum average number of spaces for a column to count as text."""
MOST_CATEGORIES = 50


@COLUMN_TYPES.add("words")
@dataclass(frozen=True)
class Words(ColumnEncoder):
    """Words hashed into columns; nothing is fitted."""

    columns: int = 256

    rank = 40

    @classmethod
    def fit(cls, values: pa.ChunkedArray) -> Self | None:
        """Accepts text with spaces whose values mostly differ between rows."""
        if not pa.types.is_string(values.type):
            return None
        kinds, known = len(pc.unique(values.drop_null())), len(values) - values.null_count
        varied = kinds > 1 and (kinds > MOST_CATEGORIES or kinds > known / 2)
        return cls() if varied and pc.mean(pc.count_substring(values, " ")).as_py() >= BLANKS else None

    @property
    def note(self) -> str:
        """The number of columns."""
        return f"text, words hashed into {self.columns} columns"

    def transform(self, values: pa.ChunkedArray) -> Block | None:
        """L2-normalised word counts."""
        from sklearn.feature_extraction.text import HashingVectorizer

        hashing = HashingVectorizer(n_features=self.columns, alternate_sign=False, dtype=np.float32)
        return sp.csr_matrix(hashing.transform(as_text(values).fill_null("").to_pylist()))
