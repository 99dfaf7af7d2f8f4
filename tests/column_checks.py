"""One column through its encoder, and back from JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from diffmg.core.codec import from_plain, to_plain
from diffmg.tables.columns import ColumnEncoder, fit_column
from diffmg.tables.columns._base import finite
from diffmg.tables.encoding import FeatureEncoder


def table_of(values: Any, kind: pa.DataType | None = None) -> pa.Table:
    return pa.table({"it": values if isinstance(values, pa.Array) else pa.array(values, kind)})


def fitted(values: Any, kind: pa.DataType | None = None) -> FeatureEncoder:
    """The encoder of one column, as a model keeps it."""
    encoder = FeatureEncoder.fit(table_of(values, kind), ["it"], "by_type")
    again = from_plain(FeatureEncoder, json.loads(json.dumps(to_plain(encoder))), "it")
    assert again == encoder
    return again


def encoder_of(values: Any, kind: pa.DataType | None = None) -> ColumnEncoder:
    """The encoder that takes a column."""
    return fit_column(finite(table_of(values, kind).column("it")))


def features(encoder: FeatureEncoder, values: Any, kind: pa.DataType | None = None) -> np.ndarray | None:
    """Dense features of other values of the column."""
    matrix = encoder.transform(table_of(values, kind), "a")
    matrix = matrix.toarray() if sp.issparse(matrix) else matrix
    assert matrix is None or (matrix.dtype == np.float32 and np.isfinite(matrix).all())
    return matrix


def encoded(values: Any, kind: pa.DataType | None = None) -> tuple[np.ndarray | None, str]:
    """Features and the note of one column."""
    encoder = fitted(values, kind)
    (note,) = encoder.notes(table_of(values, kind), "a")
    return features(encoder, values, kind), note.removeprefix("a.it: ")
