"""Ids of the two ends of a relation's edges: some rows of a table, one or several edges a row."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from diffmg.core.arrow import plain
from diffmg.tables.cells import is_list, one_row_each
from diffmg.tables.description import RelationTable
from diffmg.tables.keys import Keys
from diffmg.tables.network import Ints
from diffmg.tables.reading import column


def ends_of(name: str, relation: RelationTable, table: pa.Table) -> tuple[Keys, Keys, Ints]:
    """Ids of the sources and targets of a relation's edges, and the row of each in the table."""
    what = f"relation {name!r}"
    chosen = chosen_rows(table, relation.where, what)
    part = table.take(pa.array(chosen)) if relation.where else table
    target, rows = _target(part, relation.target[1:], relation.split, what)
    source = Keys.read(part, relation.source[1:], what)
    return source if rows is None else source.take(rows), target, chosen if rows is None else chosen[rows]


def _target(table: pa.Table, names: Sequence[str], split: str | None, what: str) -> tuple[Keys, Ints | None]:
    """Ids of targets, and the row of each where cells are lists or are split; else there is one a row."""
    if len(names) == 1 and (split is not None or is_list(column(table, names[0], what).type)):
        values, rows = one_row_each(table.column(names[0]), split or "", f"column {names[0]!r} of {what}")
        return Keys(values, guessed=True), rows
    return Keys.read(table, names, what), None


def chosen_rows(table: pa.Table, where: Mapping[str, str], what: str) -> Ints:
    """The rows with these values, compared as text."""
    mask = np.ones(table.num_rows, bool)
    for name, value in where.items():
        texts = plain(column(table, name, what)).cast(pa.string())
        mask &= pc.equal(texts, str(value)).fill_null(False).to_numpy()
    return np.flatnonzero(mask)
