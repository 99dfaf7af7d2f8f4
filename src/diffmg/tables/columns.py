"""Columns become features, each by its type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

MOST_CATEGORIES = 50
RARE = 0.002
"""A category with a smaller share of the rows is pooled with other rare ones."""
WORDS = 256
"""Columns that the words of a text are hashed into."""

Block: TypeAlias = Any
"""Features of some columns: a dense array of float32, or a scipy CSR matrix."""


@dataclass(frozen=True)
class Encoded:
    """Features of one node type, and what was done with each column."""

    matrix: Block | None
    notes: tuple[str, ...]


def encode(table: pa.Table, names: Sequence[str], what: str) -> Encoded:
    """Numbers standardised, categories one-hot, text as hashed words, booleans and dates as numbers."""
    blocks: list[Block] = []
    notes = []
    for name in names:
        values = table.column(name)
        block, note = _encode_column(values)
        missing = values.null_count
        notes.append(f"{what}.{name}: {note}" + (f", {missing} missing" if missing else ""))
        if block is not None:
            blocks.append(block)
            if missing:
                blocks.append(_missing(values))
    return Encoded(_joined(blocks), tuple(notes))


def _encode_column(values: pa.ChunkedArray) -> tuple[Block | None, str]:
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if pa.types.is_boolean(kind):
        return _standardised(values.cast(pa.float64()), "yes or no")
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _standardised(values.cast(pa.float64()), "number")
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind) and not pa.types.is_time(kind):
        days = values.cast(pa.timestamp("s")).cast(pa.int64()).cast(pa.float64())
        return _standardised(days, "date")
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _words_or_categories(values.cast(pa.string()))
    return None, f"left out ({values.type} is no kind of feature)"


def _standardised(values: pa.ChunkedArray, kind: str) -> tuple[Block | None, str]:
    numbers = values.to_numpy().astype(np.float64)
    numbers[~np.isfinite(numbers)] = np.nan
    known = numbers[~np.isnan(numbers)]
    if not len(known) or known.min() == known.max():
        return None, f"left out (a {kind} that is always the same)"
    scaled = (numbers - known.mean()) / known.std()
    return np.nan_to_num(scaled).astype(np.float32)[:, None], kind


def _words_or_categories(values: pa.ChunkedArray) -> tuple[Block | None, str]:
    counts = pc.value_counts(values.drop_null())
    kinds = len(counts)
    known = len(values) - values.null_count
    if kinds < 2:
        return None, "left out (a text that is always the same)"
    blanks = pc.mean(pc.count_substring(values, " ")).as_py() or 0.0
    if blanks >= 2:
        return _hashed(values), f"text, words hashed into {WORDS} columns"
    if kinds > MOST_CATEGORIES and kinds > known / 2:
        return None, f"left out (a name: {kinds} different values in {known} rows)"
    return _one_hot(values, counts, known)


def _one_hot(values: pa.ChunkedArray, counts: Any, known: int) -> tuple[Block, str]:
    names, numbers = counts.field("values"), counts.field("counts").to_numpy()
    order = np.argsort(-numbers, kind="stable")[:MOST_CATEGORIES]
    kept = order[numbers[order] >= max(1.0, RARE * known)]
    code = pc.index_in(values, value_set=names.take(pa.array(kept))).to_numpy()
    pooled = len(names) - len(kept)
    width = len(kept) + (pooled > 0)
    is_null = np.asarray(values.is_null().to_numpy(), bool)
    place = np.where(np.isnan(code.astype(np.float64)), len(kept), code).astype(np.int64)
    block = np.zeros((len(values), width + 1), np.float32)
    block[np.arange(len(values)), np.where(is_null, width, np.minimum(place, width))] = 1.0
    return block[:, :width], f"category, {len(kept)} kinds" + (f" and {pooled} rare ones pooled" if pooled else "")


def _hashed(values: pa.ChunkedArray) -> sp.csr_matrix:
    from sklearn.feature_extraction.text import HashingVectorizer

    hashing = HashingVectorizer(n_features=WORDS, alternate_sign=False, dtype=np.float32)
    return sp.csr_matrix(hashing.transform(values.fill_null("").to_pylist()))


def _missing(values: pa.ChunkedArray) -> Block:
    return np.asarray(values.is_null().to_numpy(), np.float32)[:, None]


def _joined(blocks: Sequence[Block]) -> Block | None:
    if not blocks:
        return None
    if any(sp.issparse(block) for block in blocks):
        return sp.csr_matrix(sp.hstack([sp.csr_matrix(block) for block in blocks]))
    return np.concatenate(blocks, axis=1)
