"""Columns become features, each by its type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray

from diffmg.core.arrow import decoded
from diffmg.core.errors import DiffmgError

MOST_CATEGORIES = 50
RARE = 0.002
"""A category with a smaller share of the rows is pooled with other rare ones."""
WORDS = 256
"""Columns that the words of a text are hashed into."""
BLANKS = 2
"""A text has this many blanks or more, on average."""

Encode = Literal["by_type", "dense", "sparse"]
Block: TypeAlias = Any
"""Features of some columns: a dense array of float32, or a scipy CSR matrix."""


@dataclass(frozen=True)
class Encoded:
    """Features of one node type, and what was done with each column."""

    matrix: Block | None
    notes: tuple[str, ...]


def encode(table: pa.Table, names: Sequence[str], what: str) -> Encoded:
    """Numbers standardised, categories one-hot, text as hashed words, booleans and dates as numbers.

    A column with missing values has one more feature, which says where they are.
    """
    blocks: list[Block] = []
    notes = []
    for name in names:
        values = _finite(table.column(name))
        block, note = _encode_column(values)
        missing = values.null_count
        notes.append(f"{what}.{name}: {note}" + (f", {missing} missing" if missing else ""))
        if block is not None:
            blocks.append(block)
            if 0 < missing < len(values):
                blocks.append(_missing(values))
                notes[-1] += " (which is a feature too)"
    return Encoded(_joined(blocks), tuple(notes))


def as_numbers(table: pa.Table, names: Sequence[str], what: str, how: Encode) -> Encoded:
    """Columns of numbers as they are."""
    for name in names:
        values = table.column(name)
        if not _is_number(values.type) or values.null_count:
            raise DiffmgError(
                f"{what}.{name} must be numbers without gaps to be taken as they are, but got {values.type} "
                f"with {values.null_count} missing"
            )
    columns = [table.column(name).cast(pa.float32(), safe=False).to_numpy() for name in names]
    matrix = np.stack(columns, axis=1) if columns else None
    note = f"{what}: {len(names)} columns of numbers as they are"
    return Encoded(sp.csr_matrix(matrix) if how == "sparse" and columns else matrix, (note,))


def _finite(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """In few types; numbers that are not finite are missing."""
    values = decoded(values)
    if pa.types.is_floating(values.type):
        return pc.if_else(pc.is_finite(values), values, pa.scalar(None, values.type))
    return values


def _encode_column(values: pa.ChunkedArray) -> tuple[Block | None, str]:
    kind = values.type
    if pa.types.is_boolean(kind):
        return _standardised(values.cast(pa.float64()), "yes or no")
    if _is_number(kind):
        return _standardised(values.cast(pa.float64(), safe=False), "number")
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        seconds = values.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
        return _standardised(seconds.cast(pa.float64(), safe=False), "date")
    if pa.types.is_string(kind):
        return _words_or_categories(values)
    return None, f"left out ({kind} is no kind of feature)"


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _standardised(values: pa.ChunkedArray, kind: str) -> tuple[Block, str]:
    numbers = values.to_numpy().astype(np.float64)
    known = ~np.isnan(numbers)
    largest = np.abs(numbers[known]).max(initial=0.0)
    if not largest or np.ptp(numbers[known] / largest) == 0:
        return _nothing(values), f"left out (a {kind} that is always the same)"
    numbers /= largest  # or the squares of huge numbers would be infinite
    scaled = (numbers - numbers[known].mean()) / numbers[known].std()
    return np.nan_to_num(scaled).astype(np.float32)[:, None], kind


def _words_or_categories(values: pa.ChunkedArray) -> tuple[Block | None, str]:
    counts = pc.value_counts(values.drop_null())
    kinds = len(counts)
    known = len(values) - values.null_count
    if kinds < 2:
        return _nothing(values), "left out (a text that is always the same)"
    many = kinds > MOST_CATEGORIES
    if pc.mean(pc.count_substring(values, " ")).as_py() >= BLANKS and (many or kinds > known / 2):
        return _hashed(values), f"text, words hashed into {WORDS} columns"
    if many and kinds > known / 2:
        return None, f"left out (a name: {kinds} different values in {known} rows)"
    return _one_hot(values, counts, known)


def _one_hot(values: pa.ChunkedArray, counts: Any, known: int) -> tuple[Block | None, str]:
    names, numbers = counts.field("values"), counts.field("counts").to_numpy()
    order = np.argsort(-numbers, kind="stable")[:MOST_CATEGORIES]
    kept = order[numbers[order] >= RARE * known]
    if not len(kept):
        return None, f"left out (a name: {len(names)} different values in {known} rows, all of them rare)"
    pooled = len(names) - len(kept)
    code = pc.index_in(values, value_set=names.take(pa.array(kept))).fill_null(len(kept)).to_numpy()
    block = np.zeros((len(values), len(kept) + 1), np.float32)
    block[np.arange(len(values)), code] = 1.0
    block[_nulls(values)] = 0.0
    note = f"category, {len(kept)} kinds" + (f" and {pooled} rare ones pooled" if pooled else "")
    return block if pooled else block[:, :-1], note


def _hashed(values: pa.ChunkedArray) -> sp.csr_matrix:
    from sklearn.feature_extraction.text import HashingVectorizer

    hashing = HashingVectorizer(n_features=WORDS, alternate_sign=False, dtype=np.float32)
    return sp.csr_matrix(hashing.transform(values.fill_null("").to_pylist()))


def _missing(values: pa.ChunkedArray) -> Block:
    return _nulls(values).astype(np.float32)[:, None]


def _nulls(values: pa.ChunkedArray) -> NDArray[np.bool_]:
    return np.asarray(values.is_null().to_numpy(), bool)


def _nothing(values: pa.ChunkedArray) -> Block:
    return np.zeros((len(values), 0), np.float32)


def _joined(blocks: Sequence[Block]) -> Block | None:
    if not sum(block.shape[1] for block in blocks):
        return None
    if any(sp.issparse(block) for block in blocks):
        return sp.csr_matrix(sp.hstack([sp.csr_matrix(block) for block in blocks]))
    return np.concatenate(blocks, axis=1)
