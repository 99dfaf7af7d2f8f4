"""Columns whose cells hold several values, such as the genres of a film."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from diffmg.core import DiffmgError
from diffmg.tables.cells import JSON, Cells, cells_of, is_list
from diffmg.tables.columns._base import COLUMN_TYPES, Block, ColumnEncoder
from diffmg.tables.columns.category import RARE
from diffmg.tables.columns.words import MOST_CATEGORIES

SEPARATORS = (JSON, "|", ";", ",")
SPLIT = 0.5
"""The share of the known cells that a separator must split."""
AGAIN = 3.0
"""How often a value occurs on average, at least."""
WORDS = 2.0
"""How many words a value has on average, at most: more are sentences."""
DECIMAL = re.compile(r"\s*-?\d+,\d+\s*")


@COLUMN_TYPES.add("several")
@dataclass(frozen=True)
class Several(ColumnEncoder):
    """A column for each frequent value, 1 where the cell has it, and one for all others if there are any."""

    kinds: tuple[str, ...]
    pooled: int
    """Number of rare values that share a column."""
    separator: str

    rank = 35

    @classmethod
    def fit(cls, values: pa.ChunkedArray) -> Self | None:
        """Accepts lists, and texts of which a separator splits most into short values that occur again and again."""
        if is_list(values.type):
            return cls._of(cells_of(values, "", "the column"), "")
        if not pa.types.is_string(values.type):
            return None
        known = values.drop_null().to_pylist()
        return next((cls._of(cells, s) for s in SEPARATORS if (cells := _split(known, s)) is not None), None)

    @classmethod
    def _of(cls, cells: Cells, separator: str) -> Self | None:
        """The frequent values, most frequent first; None if values do not repeat."""
        counts = Counter(value for cell in cells for value in {*cell})
        if len(counts) < 2 or counts.total() < AGAIN * len(counts):
            return None
        known = sum(bool(cell) for cell in cells)
        order = sorted(counts, key=lambda value: (-counts[value], value))[:MOST_CATEGORIES]
        frequent = tuple(value for value in order if counts[value] >= RARE * known)
        return cls(frequent, len(counts) - len(frequent), separator)

    @property
    def note(self) -> str:
        """The number of values, and how cells are split."""
        by = {"": "in lists", JSON: "in JSON lists"}.get(self.separator, f"separated by {self.separator!r}")
        rest = f" and {self.pooled} rare ones pooled" if self.pooled else ""
        return f"several values a cell, {by}, {len(self.kinds)} kinds{rest}"

    def transform(self, values: pa.ChunkedArray) -> Block | None:
        """Zeros and ones; missing cells are all zeros, unseen values are pooled with the rare ones."""
        if not self.separator and pa.types.is_string(values.type):
            raise DiffmgError(f"lists must be given, but got {values.type}")
        place = {kind: i for i, kind in enumerate(self.kinds)}
        block = np.zeros((len(values), len(self.kinds) + 1), np.float32)
        for row, cell in enumerate(cells_of(values, self.separator, "the column")):
            block[row, [place.get(value, len(place)) for value in cell]] = 1.0
        return block if self.pooled else block[:, :-1]


def _split(texts: Sequence[str], separator: str) -> Cells | None:
    """The values of each cell, if the separator splits most cells into short ones; None for other texts."""
    if separator == JSON:
        if not texts or not all(text.lstrip().startswith("[") and text.rstrip().endswith("]") for text in texts):
            return None
    elif not texts or sum(separator in text for text in texts) < SPLIT * len(texts):
        return None
    try:
        cells = cells_of(pa.chunked_array([pa.array(texts, pa.string())]), separator, "the column")
    except DiffmgError:
        return None
    flat = [value for cell in cells for value in cell]
    sentences = sum(len(value.split()) for value in flat) > WORDS * len(flat)
    decimals = separator == "," and all(map(DECIMAL.fullmatch, texts))
    whole = len({*texts}) <= len({*flat})  # no more different cells than values: categories as they are
    return None if sentences or decimals or whole else cells
