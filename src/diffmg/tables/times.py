"""Which rows of a table are before a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diffmg.core import DiffmgError
from diffmg.tables.catalogue import DatabaseTable, Kind
from diffmg.tables.dates import ISO, form_of, is_before, iso_moment, moment, to_iso

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import ColumnElement, Connection

MOST_TEXTS = 100_000
"""Different texts of a column that its form of dates is recognised from."""
CLOCK: tuple[Kind, ...] = ("date", "moment")


def before(
    connection: Connection, table: DatabaseTable, source: Any, times: Mapping[str, str]
) -> list[ColumnElement[bool]]:
    """Conditions for rows before the times; rows without a time are excluded.

    A bare date stands for the end of its day. Texts that are no dates, or unclear ones, are refused.
    """
    conditions: list[ColumnElement[bool]] = []
    for name, time in times.items():
        column, kind, what = source.c[name], table.columns[name], f"{table.name}.{name}"
        if kind in ("integer", "number"):
            conditions.append(column < _number(what, time))
        elif kind not in (*CLOCK, "text", "any"):
            raise DiffmgError(f"`as_of` is for columns of times, but got {what!r}, a column of {kind!r}")
        elif connection.dialect.name == "sqlite":
            conditions.append(_sqlite(connection, column, kind, what, time))
        elif kind in CLOCK:
            limit = moment(time)
            conditions.append(column < (limit.date() if kind == "date" else limit))
        else:
            conditions.append(_text(connection, column, what, time))
    return conditions


def _number(what: str, time: str) -> float:
    try:
        return float(time)
    except ValueError as error:
        raise DiffmgError(f"a time of {what!r} is a number, as the column holds, but got {time!r}") from error


def _sqlite(connection: Connection, column: Any, kind: Kind, what: str, time: str) -> ColumnElement[bool]:
    """SQLite keeps dates as text in any form, or as seconds."""
    import sqlalchemy as sa

    limit = iso_moment(time)
    stored = sa.func.typeof(column)
    form = form_of(_texts(connection, column, stored == "text") or ["2024-01-01"], what)
    if kind not in CLOCK and _texts(connection, column, stored.in_(("integer", "real"))):
        raise DiffmgError(
            f"times of {what!r} must be declared as such, or be text, to be compared with {time!r}, but got numbers"
        )
    driver: Any = connection.connection.driver_connection
    driver.create_function("diffmg_before", 3, _before_in_sqlite, deterministic=True)
    seconds = sa.func.julianday(column, "unixepoch") < sa.func.julianday(limit)
    return sa.case((stored == "text", sa.func.diffmg_before(form, column, limit) == 1), else_=seconds)


def _before_in_sqlite(form: str, text: str, limit: str) -> bool:
    return is_before(to_iso(form, text), limit)


def _text(connection: Connection, column: Any, what: str, time: str) -> ColumnElement[bool]:
    """Texts of other databases must be ISO dates without time zones: those are compared as text."""
    import sqlalchemy as sa

    limit = iso_moment(time)
    bad = _texts(connection, column, sa.not_(column.regexp_match(f"^{ISO}$")))
    if bad:
        raise DiffmgError(
            f"dates of {what} must be written 2024-01-31 or 2024-01-31T12:30, but got {bad[0]!r}; "
            "make it a column of dates"
        )
    if connection.dialect.name == "postgresql":
        column = sa.collate(column, "C")
    return sa.func.replace(column, "T", " ") < sa.func.substr(limit, 1, sa.func.length(column))


def _texts(connection: Connection, column: Any, where: Any) -> list[str]:
    """Different values of a column."""
    import sqlalchemy as sa

    found = sa.select(column).where(column.is_not(None), where).distinct().limit(MOST_TEXTS)
    return sorted(map(str, connection.execute(found).scalars()))
