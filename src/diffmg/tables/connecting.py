"""Opens databases read-only; error messages say what to do and never show the password."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from diffmg.core import DiffmgError
from diffmg.core.trust import check_server, is_secret
from diffmg.tables.folder import folder_engine
from diffmg.tables.reading import first_bytes

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

CONNECT_SECONDS = 10
"""Timeout for connecting to a server; overridden by `?connect_timeout=` in the address."""
EXTRA = "pip install 'diffmg[sql]'"
PASSWORD = re.compile(r"(?<=://)([^:/@?]*):([^@]*)(?=@)|(?<=[?&])([^=&]+)=([^&]*)")
"""The password after the user, or any setting of the query."""


def without_password(address: str) -> str:
    """The address without its password, safe to show and save; PostgreSQL then uses PGPASSWORD or ~/.pgpass."""
    bare = PASSWORD.sub(lambda found: found[0] if _is_plain(found) else found[1] or "", address)
    return re.sub(r"&&+", "&", bare).replace("?&", "?").rstrip("?&") if bare != address else address


def _is_plain(found: re.Match[str]) -> bool:
    """Whether a setting of an address is no secret."""
    return found[3] is not None and not is_secret(found[3])


@contextmanager
def connected(address: str) -> Iterator[Connection]:
    """A read-only connection."""
    engine = _opened(address)
    from sqlalchemy.exc import SQLAlchemyError

    try:
        with engine.connect() as connection:
            yield _read_only(connection)
    except (SQLAlchemyError, engine.dialect.loaded_dbapi.Error, UnicodeDecodeError) as error:
        raise DiffmgError(
            f"a database must be there and be readable, but got {without_password(address)!r}: "
            f"{_driver_message(error, address)}; check the address, the rights, and that it is a whole database"
        ) from error
    finally:
        engine.dispose()


def _opened(address: str) -> Engine:
    try:
        from sqlalchemy.exc import ArgumentError, NoSuchModuleError
    except ImportError as error:
        raise _no_extra(address, error) from error
    try:
        return _engine(address)
    except DiffmgError:
        raise
    except (ImportError, NoSuchModuleError) as error:
        raise _no_extra(address, error) from error
    except (ArgumentError, ValueError) as error:
        raise DiffmgError(
            "an address is written postgresql://user@server:port/database, "
            f"but got {_hidden(address)!r}: {_driver_message(error, address)}"
        ) from error


def _engine(address: str) -> Engine:
    from sqlalchemy import NullPool, create_engine, make_url

    if "://" not in address:
        return _file_engine(Path(address))
    if without_password(address) == address:
        check_server(address)
    if address.partition("?")[0].count("@") > 1:
        raise DiffmgError(
            f"an address has one '@', before the server, but got more in {_hidden(address)!r}; "
            "write an '@' of a password as %40"
        )
    url = make_url(re.sub(r"^postgres(ql)?://", "postgresql+psycopg://", address))
    if url.get_backend_name() in ("sqlite", "duckdb"):
        return _file_engine(Path(url.database or ""))
    bounded = url.get_backend_name() == "postgresql" and "connect_timeout" not in url.query
    options = {"connect_timeout": CONNECT_SECONDS} if bounded else {}
    return create_engine(url, connect_args=options, poolclass=NullPool)


def _file_engine(path: Path) -> Engine:
    """Chosen by file content: SQLite and DuckDB files often have the same extension. A folder holds a file a table."""
    from sqlalchemy import URL, NullPool, create_engine

    if not path.exists():
        raise DiffmgError(f"a database must be a file or an address, but got no file at {str(path)!r}")
    if path.is_dir():
        return folder_engine(path)
    head = first_bytes(path, "a database", "tables")
    if head.startswith(b"SQLite format 3\0"):
        uri = f"file:{quote(str(path.resolve()))}?mode=ro"
        return create_engine("sqlite://", creator=partial(sqlite3.connect, uri, uri=True), poolclass=NullPool)
    if head[8:12] == b"DUCK":
        options = {"read_only": True, "config": {"autoinstall_known_extensions": False}}
        return create_engine(URL.create("duckdb", database=str(path)), connect_args=options, poolclass=NullPool)
    raise DiffmgError(
        f"a database file must be of SQLite or DuckDB, but got {str(path)!r}, which starts with {head[:8]!r}"
    )


def _read_only(connection: Connection) -> Connection:
    """Read-only, from one snapshot of all tables, times in UTC."""
    if connection.dialect.name == "postgresql":
        connection = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        connection.exec_driver_sql("SET TIME ZONE 'UTC'")
    return connection


def _no_extra(address: str, error: Exception) -> DiffmgError:
    return DiffmgError(
        f"a database needs its packages, but got {without_password(address)!r} and: {error}; install them: {EXTRA}"
    )


def _driver_message(error: Exception, address: str) -> str:
    """The driver's error message on one line, without the password."""
    if isinstance(error, UnicodeDecodeError):  # SQLite quotes bytes of a damaged file in its messages
        error = ValueError(bytes(error.object).decode("ascii", "backslashreplace"))
    text = " ".join(str(getattr(error, "orig", None) or error).split())
    for found in (found for found in PASSWORD.finditer(address) if not _is_plain(found)):
        for secret in {found[2] or found[4] or "", unquote(found[2] or found[4] or "")} - {""}:
            text = text.replace(secret, "***")
    return text


def _hidden(address: str) -> str:
    """A possibly malformed address without anything that might be a password."""
    return re.sub(r"(?<=://)(.*)@", "***@", without_password(address))
