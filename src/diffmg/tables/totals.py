"""Totals of a history up to a moment: how many rows, how long ago the last, means and sums of their numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.linalg.lapack import dtbtrs

from diffmg.tables.history import History, Timed
from diffmg.tables.times import DAY

Numbers = NDArray[np.float64]


def totals(
    words: str, history: History, hearing: Timed, now: NDArray[np.int64], numbers: Mapping[str, Numbers]
) -> dict[str, pa.ChunkedArray]:
    """Columns for the rows that hear; counts, days and sums as logarithms, missing where there is no history.

    The days since the last row count from `now`, which may be later than the time up to which a row hears.
    """
    ends, starts = history.ends(hearing), history.starts(hearing)
    count = np.where(hearing.key >= 0, np.maximum(ends - starts, 0), 0)
    last = history.heard.time[history.order][np.maximum(ends - 1, 0)] if len(history.order) else hearing.time
    days = np.where(count > 0, (now - last) / DAY, np.nan)
    found = {f"{words}: count": np.log1p(count), f"{words}: days since the last": np.log1p(days)}
    for name, values in numbers.items():
        ordered = values[history.order]
        sums, known = (
            _before(running_sums(v, history.starts_of_keys), starts, count)
            for v in (np.nan_to_num(ordered), (~np.isnan(ordered)).astype(np.float64))
        )
        means = np.divide(sums, known, out=np.full_like(sums, np.nan), where=known > 0)
        found[f"{words}: mean {name}"] = means
        found[f"{words}: sum {name}"] = np.where(known > 0, np.sign(sums) * np.log1p(np.abs(sums)), np.nan)
    return {name: pa.chunked_array([pa.array(values, from_pandas=True)]) for name, values in found.items()}


def running_sums(values: Numbers, starts: NDArray[np.bool_]) -> Numbers:
    """Running sums that begin anew at every start, so that no sum depends on another key's rows, not by a rounding.

    That is the solution of x[i] - x[i - 1] = values[i], without the second term at a start.
    """
    if not len(values):
        return values
    band = np.ones((2, len(values)), order="F")
    band[1, :-1] = np.where(starts[1:], 0.0, -1.0)
    sums, _ = dtbtrs(band, values[:, None], uplo="L", diag="U")
    return np.asarray(sums[:, 0])


def _before(sums: Numbers, starts: NDArray[np.int64], count: NDArray[np.int64]) -> Numbers:
    """The sum over the first `count` rows of a key."""
    if not len(sums):
        return np.zeros(len(count))
    return np.where(count > 0, sums[np.clip(starts + count - 1, 0, len(sums) - 1)], 0.0)
