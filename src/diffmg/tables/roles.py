"""Which column of a table of predictions is what: entity, moment, label, split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from diffmg.core import TASKS, DiffmgError, Predictions, unknown
from diffmg.core.arrow import decoded
from diffmg.core.codec import from_plain
from diffmg.tables.catalogue import DatabaseTable
from diffmg.tables.rows import Tables, split_name
from diffmg.tables.times import begins_as_date, is_time
from diffmg.tables.times import moments as moments_of
from diffmg.tasks.labels import are_numbers


@dataclass(frozen=True)
class Roles:
    """Which column of a table of predictions is what."""

    entity: str
    entity_table: str
    time: str
    label: str
    split: str | None

    @classmethod
    def of(cls, given: Predictions, table: pa.Table, tables: Tables) -> Roles:
        """Those that are given, the others by name and type."""
        columns = table.column_names
        place = split_name(given.entity, tables) if given.entity else None
        own = place[1] if place and given.entity not in columns else given.entity
        for name in filter(None, (own, given.time, given.label, given.split)):
            if name not in columns:
                raise unknown("column of the predictions:", name, columns)
        split = given.split or next((c for c in columns if c.lower() == "split"), None)
        able = [c for c in columns if c not in (split, given.label, own)]
        dates = [c for c in able if is_time(table.column(c), c)]
        if not (dates or given.time):
            _check_no_odd_dates(table, able)
        time = given.time or _only(dates, "a date", "the moment", "--by time=COLUMN", columns)
        entity, entity_table = _entity(
            given.entity, [c for c in columns if c not in (split, time, given.label)], tables
        )
        rest = [c for c in columns if c not in (split, time, entity)]
        if len(tables[entity_table].primary) > 1 and entity in tables[entity_table].primary:
            raise no_single_key(tables[entity_table])
        label = given.label or _only(rest, "a label", "the label", "--label", columns)
        if split is not None and (given.validation or given.test):
            raise DiffmgError(
                f"predictions are split by a column or by two dates, but got the column {split!r} and validation="
                f"{given.validation!r}, test={given.test!r}; leave out the dates, or SELECT the other columns"
            )
        return cls(entity, entity_table, time, label, split)

    def task(self, name: str, table: pa.Table, given: Predictions) -> Any:
        """Regression where the label is a number, else classification, of two classes by ROC AUC."""
        values = table.column(self.label)
        kind = given.kind or ("regression" if are_numbers(values) else "classification")
        two = kind == "classification" and len(values.drop_null().unique()) == 2
        metric = given.metric or ("roc_auc" if two else None)
        options = {"target": name, "label": [self.label], "split": self.split, "metric": metric}
        return from_plain(TASKS.get(kind).spec, {k: v for k, v in options.items() if v is not None}, "the task")


def entity_keys(tables: Tables) -> dict[str, set[str]]:
    """For each name of a key, the tables whose rows it may mean: by foreign keys, and by primary keys."""
    found: dict[str, set[str]] = {}
    for table in tables.values():
        for key in table.foreign:
            found.setdefault(key.columns[-1], set()).add(key.table)
        if len(table.primary) == 1 and all(key.columns != table.primary for key in table.foreign):
            found.setdefault(table.primary[0], set()).add(table.name)
    return found


def no_single_key(table: DatabaseTable) -> DiffmgError:
    """The error for entities whose rows are not told apart by one column."""
    return DiffmgError(
        f"predictions are of a table with a primary key of one column, but got {list(table.primary)} in "
        f"{table.name!r}; give it one in a copy of the database, and to the tables that refer to it"
    )


def _entity(given: str | None, columns: Sequence[str], tables: Tables) -> tuple[str, str]:
    """The column with the entity, and the table it refers to: by its name, or as TABLE.COLUMN."""
    keys = entity_keys(tables)
    if given is not None and given not in columns and (place := split_name(given, tables)):
        return place[1], place[0]
    wanted = [given] if given else [c for c in columns if c in keys]
    if len(wanted) != 1 or wanted[0] not in keys:
        raise DiffmgError(
            "predictions name their entity by a column called as the key of its table, "
            f"but got {wanted or 'none'}; keys: {', '.join(sorted(keys))}; name it with --by entity=TABLE.COLUMN"
        )
    if len(keys[wanted[0]]) > 1:
        some = sorted(keys[wanted[0]])
        raise DiffmgError(
            f"predictions name their entity by the key of one table, but got {wanted[0]!r}, a key of "
            f"{', '.join(some)}; say which: --by entity={some[0]}.{wanted[0]}"
        )
    return wanted[0], min(keys[wanted[0]])


def _check_no_odd_dates(table: pa.Table, columns: Sequence[str]) -> None:
    """Say what is wrong with texts that begin like dates."""
    for name in columns:
        values = decoded(table.column(name))
        if not pa.types.is_string(values.type):
            continue
        if begins_as_date(values) or pc.any(pc.match_substring_regex(values, r"^\s*\d{4}-\d\d-\d\d")).as_py():
            moments_of(values, f"column {name!r} of the predictions")


def _only(found: Sequence[str], what: str, role: str, option: str, columns: Sequence[str]) -> str:
    if len(found) != 1:
        raise DiffmgError(
            f"{role} must be the one column with {what}, but got {list(found) or 'none'} "
            f"of {', '.join(columns)}; name it with {option}"
        )
    return found[0]
