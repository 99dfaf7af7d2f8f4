"""Answers of a model: named columns, a row per answer, with the user's ids."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

SHOWN = 10
"""Rows that `repr` shows."""
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What text begins with that a spreadsheet may run as a formula."""
PART = re.compile(r"((?:[^/\\]|\\.)*)(?:/|$)", re.DOTALL)
"""One of the columns of a joined id."""
ESCAPED = re.compile(r"\\(.)", re.DOTALL)


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
        return pa.table({name: _arrow(column) for name, column in self.columns.items()})

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

    def to_frame(self) -> Any:
        """As a pandas data frame, else a polars one, else an Arrow table: the first that is installed."""
        if find_spec("pandas"):
            return self.to_pandas()
        return self.to_polars() if find_spec("polars") else self.to_arrow()

    def to_csv(self, *, head: bool = True, safe_cells: bool = False) -> str:
        """As CSV text, with floats to six decimal places, or nine significant digits in `exact` columns.

        `safe_cells` puts an apostrophe before text that a spreadsheet would run as a formula.
        """
        forms = [".9g" if name in self.exact else ".6f" for name in self.columns]
        shown = _safe if safe_cells else _as_it_is
        text = _Lines()
        writer = csv.writer(text, lineterminator="\r\n")
        if head:
            writer.writerow(map(shown, self.columns))
        writer.writerows(
            [format(v, form) if isinstance(v, float) else shown(v) for v, form in zip(row, forms, strict=True)]
            for row in self.rows()
        )
        return "".join(text)

    def __repr__(self) -> str:
        lines = self.to_csv().splitlines()
        more = [f"... {len(self)} rows"] if len(self) > SHOWN else []
        return "\n".join([*lines[: SHOWN + 1], *more])


class _Lines(list[str]):
    """Takes lines that end with a carriage return and a line feed, which both are then quoted; keeps the line feed."""

    def write(self, line: str) -> None:
        """Add a line."""
        self.append(line.removesuffix("\r\n") + "\n")


def _arrow(column: NDArray[Any]) -> pa.Array:
    """A column in Arrow: text is a string even where there are no rows, and floats are doubles."""
    if column.dtype.kind in "US" or (not len(column) and column.dtype.kind == "O"):
        return pa.array(column.tolist(), pa.string())
    if column.dtype.kind == "f":
        return pa.array(column.astype(np.float64))
    return pa.array(column.tolist() if column.dtype.kind == "O" else column)


def _as_it_is(value: Any) -> Any:
    return value


def _safe(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def split_ids(ids: Iterable[str], count: int) -> list[NDArray[Any]]:
    """The `count` columns that ids are joined of; a '/' that is not between two of them has a backslash before it."""
    rows = [[ESCAPED.sub(r"\1", part) for part in PART.findall(text)] for text in ids] if count else []
    return [np.array([row[place] for row in rows], dtype=np.str_) for place in range(count)]


def free_names(names: Sequence[str], taken: Iterable[str]) -> list[str]:
    """Names of columns beside others: ids have the name of their type, and a name that is taken gets underscores.

    So beside nodes of a type `rank` the place in the list is called `rank_`.
    """
    used, found = set(taken), list[str]()
    for name in names:
        free = name
        while free in used or (free != name and free in names):
            free += "_"
        used.add(free)
        found.append(free)
    return found


def inverse(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """The inverse permutation: the new number of each old node, where new node j was node `order[j]`."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places
