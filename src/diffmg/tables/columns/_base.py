"""The interface of column types: fitted once, then applied to any rows."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from diffmg.core import DiffmgError, Registry
from diffmg.core.arrow import decoded
from diffmg.core.codec import register, structure_fields, to_plain

Block: TypeAlias = Any
"""A block of features: a dense float32 array or a SciPy CSR matrix."""


class ColumnEncoder(ABC):
    """A fitted column encoder: a frozen value that can be saved as JSON."""

    rank: ClassVar[int] = 50
    """Types are tried in this order."""

    @classmethod
    @abstractmethod
    def fit(cls, values: pa.ChunkedArray) -> Self | None:
        """Fit to a column; None if it is not of this type."""

    @property
    @abstractmethod
    def note(self) -> str:
        """Short description of how the column is encoded."""

    @abstractmethod
    def transform(self, values: pa.ChunkedArray) -> Block | None:
        """Features, one row per value; None if neither the column nor its missing values are features."""


COLUMN_TYPES = Registry[type[ColumnEncoder]]("column type", "diffmg.tables.columns", group="diffmg.column_types")


@COLUMN_TYPES.add("unused")
@dataclass(frozen=True)
class Unused(ColumnEncoder):
    """Fallback for columns that no other type accepts; not used as a feature."""

    kind: str

    rank = 1000

    @classmethod
    def fit(cls, values: pa.ChunkedArray) -> Self | None:
        """Accepts any column."""
        return cls(str(values.type))

    @property
    def note(self) -> str:
        """Why it is left out."""
        return f"left out ({self.kind} is no kind of feature)"

    def transform(self, values: pa.ChunkedArray) -> Block | None:  # noqa: ARG002
        """No features."""
        return None


def fit_column(values: pa.ChunkedArray) -> ColumnEncoder:
    """The encoder of the first type that accepts the column."""
    for kind in sorted((kind for _, kind in COLUMN_TYPES.items()), key=lambda kind: kind.rank):
        fitted = kind.fit(values)
        if fitted is not None:
            return fitted
    raise DiffmgError(f"some column type must take every column, but got none for {values.type}")


def finite(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decoded values; non-finite numbers become missing."""
    values = decoded(values)
    if pa.types.is_floating(values.type):
        return pc.if_else(pc.is_finite(values), values, pa.scalar(None, values.type))
    return values


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this Arrow type holds numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def as_text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cast to text, e.g. a column without values, or codes that look like numbers in these rows."""
    return values if pa.types.is_string(values.type) else values.cast(pa.string())


def nothing(values: pa.ChunkedArray) -> Block:
    """A block without columns."""
    return np.zeros((len(values), 0), np.float32)


def _to_plain(encoder: ColumnEncoder) -> dict[str, Any]:
    options = {f.name: to_plain(getattr(encoder, f.name)) for f in fields(encoder)}  # type: ignore[arg-type]
    return {"type": COLUMN_TYPES.name_of(type(encoder)), **options}


def _from_plain(data: Any, _: type) -> ColumnEncoder:
    if not isinstance(data, dict) or not isinstance(data.get("type"), str):
        raise DiffmgError(f"a fitted column is a table with its `type`, but got {data!r}")
    return structure_fields(COLUMN_TYPES.get(data["type"]), {k: v for k, v in data.items() if k != "type"})


register(ColumnEncoder, _to_plain, _from_plain)
