"""Ids and keys in columns of tables, and how columns of several tables are compared."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import pyarrow as pa

from diffmg.core import DiffmgError
from diffmg.tables.reading import is_guessed, key_column


@dataclass(frozen=True)
class Keys:
    """Ids from one or more columns."""

    values: Any
    guessed: bool
    """Whether the type was guessed from text, so that integers may really be strings."""

    @classmethod
    def read(cls, table: pa.Table, names: Sequence[str], what: str) -> Self:
        """The ids in these columns of a table."""
        return cls(key_column(table, names, what), is_guessed(table))

    def take(self, rows: Any) -> Self:
        """The ids of some rows."""
        return replace(self, values=self.values.take(pa.array(rows)))


def in_one_type(what: str, columns: Sequence[Keys]) -> list[Any]:
    """Cast ids to one type. Integers with a guessed type become text if others are text; else all must agree."""
    types = {c.values.type for c in columns if not pa.types.is_null(c.values.type)}
    guessed = all(c.guessed for c in columns if c.values.type == pa.int64())
    if guessed and types == {pa.int64(), pa.string()}:
        types = {pa.string()}
    if len(types) > 1:
        raise DiffmgError(
            f"ids of {what} must be of one type in all tables, but got {sorted(map(str, types))}; "
            "make them all text or all whole numbers"
        )
    return [c.values.cast(next(iter(types), pa.null())) for c in columns]


def repeats(known: int, different: int) -> bool:
    """Whether values of a part of a key occur again and again, as years do, or number the rows and tell nothing."""
    return 0 < different <= known / 2
