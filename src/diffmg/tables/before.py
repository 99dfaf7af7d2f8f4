"""Which rows of a table are before a time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from diffmg.core import DiffmgError
from diffmg.tables.catalogue import DatabaseTable, Kind
from diffmg.tables.dates import ISO, form_of, iso_moment, moment, no_date, to_iso

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import ColumnElement, Connection

MOST_TEXTS = 10_000
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
            conditions.append(column < number_of(time, what))
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


def number_of(time: str, what: str) -> float:
    """A time of a column of numbers."""
    try:
        found = float(time)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise DiffmgError(f"a time of {what!r} is a number, as the column holds, but got {time!r}")
    return found


def _sqlite(connection: Connection, column: Any, kind: Kind, what: str, time: str) -> ColumnElement[bool]:
    """SQLite keeps dates as text in any form, or as seconds."""
    import sqlalchemy as sa

    stored = sa.func.typeof(column)
    if kind not in CLOCK and (found := _values(connection, column, stored.in_(("integer", "real")), 1)):
        raise DiffmgError(
            f"times of {what} must be text, or declared as dates, to be compared with {time!r}, but got the number "
            f"{found[0]}; make it a column of dates"
        )
    if _values(connection, column, sa.and_(stored == "text", sa.not_(_is_iso(column))), 1):
        written = _in_one_form(connection, column, stored == "text", what)
    else:
        written = column
    return sa.case((stored == "text", sqlite_before(written, time)), else_=sqlite_before(column, time, "unixepoch"))


def sqlite_before(column: Any, time: str, *modifiers: str) -> ColumnElement[bool]:
    """The condition for ISO dates as text, or for seconds with a modifier."""
    import sqlalchemy as sa

    limit, day = iso_moment(time), sa.func.julianday
    exact: ColumnElement[bool] = day(column, *modifiers) < day(limit)
    if modifiers:
        return exact
    length = sa.func.length(column)
    return sa.case((length <= len("2024-01-31"), column < sa.func.substr(limit, 1, length)), else_=exact)


def _is_iso(column: Any) -> ColumnElement[bool]:
    import sqlalchemy as sa

    year = "[0-9]" * 4
    partial = [column.op("GLOB")(year), column.op("GLOB")(f"{year}-[0-9][0-9]")]
    return sa.or_(*partial, sa.and_(column.op("GLOB")(f"{year}-[0-9][0-9]-*"), sa.func.julianday(column).is_not(None)))


def _in_one_form(connection: Connection, column: Any, text: Any, what: str) -> Any:
    """Texts in another form as ISO dates; raises if any is in none, or if it is not clear in which."""
    import sqlalchemy as sa

    form = form_of(_values(connection, column, text, MOST_TEXTS), what)
    driver: Any = connection.connection.driver_connection
    driver.create_function("diffmg_iso", 2, to_iso, deterministic=True)
    written = sa.func.diffmg_iso(form, column)
    if bad := _values(connection, column, sa.and_(text, written == ""), 1):
        raise no_date(bad[0], what)
    return written


def _text(connection: Connection, column: Any, what: str, time: str) -> ColumnElement[bool]:
    """Texts of other databases must be ISO dates without time zones: those are compared as text."""
    import sqlalchemy as sa

    limit = iso_moment(time)
    if bad := _values(connection, column, sa.not_(column.regexp_match(f"^{ISO}$")), 1):
        raise no_date(bad[0], what)
    if connection.dialect.name == "postgresql":
        column = sa.collate(column, "C")
    return sa.func.replace(column, "T", " ") < sa.func.substr(limit, 1, sa.func.length(column))


def _values(connection: Connection, column: Any, where: Any, most: int) -> list[str]:
    """Different values of a column, as text."""
    import sqlalchemy as sa

    found = sa.select(column).where(column.is_not(None), column != "", where).distinct().limit(most)
    return sorted(map(str, connection.execute(found).scalars()))
