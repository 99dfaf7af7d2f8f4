"""Answers of a model: named columns, a row per answer, with the user's ids."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

SHOWN = 10
"""Rows that `repr` shows."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Columns of one length; goes into pandas, polars, Arrow or CSV."""

    columns: Mapping[str, NDArray[Any]]
    exact: frozenset[str] = frozenset()
    """Columns of numbers in the user's units, written to nine significant digits."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Row by row, as Python values."""
        return zip(*(column.tolist() for column in self.columns.values()), strict=True)

    def to_arrow(self) -> pa.Table:
        """As an Arrow table."""
        return pa.table({name: pa.array(column.tolist()) for name, column in self.columns.items()})

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """As a pandas data frame."""
        import pandas as pd

        return pd.DataFrame(dict(self.columns))

    def to_polars(self) -> Any:
        """As a polars data frame."""
        import polars as pl

        return pl.from_arrow(self.to_arrow())

    def frame(self) -> Any:
        """As a pandas data frame, else a polars one, else an Arrow table: the first that is installed."""
        if find_spec("pandas"):
            return self.to_pandas()
        return self.to_polars() if find_spec("polars") else self.to_arrow()

    def to_csv(self) -> str:
        """As CSV text, with floats to six decimal places, or nine significant digits in `exact` columns."""
        forms = [".9g" if name in self.exact else ".6f" for name in self.columns]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(
            [format(v, form) if isinstance(v, float) else v for v, form in zip(row, forms, strict=True)]
            for row in self.rows()
        )
        return text.getvalue()

    def __repr__(self) -> str:
        lines = self.to_csv().splitlines()
        more = [f"... {len(self)} rows"] if len(self) > SHOWN else []
        return "\n".join([*lines[: SHOWN + 1], *more])


def inverse(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """The inverse permutation: the new number of each old node, where new node j was node `order[j]`."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places
