from __future__ import annotations

import builtins
import hashlib
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.tables.connecting import CONNECT_SECONDS, _opened, connected, without_password

sa = pytest.importorskip("sqlalchemy")


def sqlite_file(path: Path) -> Path:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE a (id INTEGER PRIMARY KEY)")
    connection.execute("INSERT INTO a VALUES (7)")
    connection.commit()
    connection.close()
    return path


def duckdb_file(path: Path) -> Path:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect(path)
    connection.execute("CREATE TABLE a AS SELECT 7 AS id")
    connection.close()
    return path


def value_of(address: str) -> Any:
    with connected(address) as connection:
        return connection.exec_driver_sql("SELECT id FROM a").scalar()


@pytest.mark.parametrize("name", ["a.db", "b.sqlite", "odd name?%20#.db"])
@pytest.mark.parametrize("make", [sqlite_file, duckdb_file])
def test_a_file_is_opened_by_its_content(make: Any, name: str, tmp_path: Path) -> None:
    assert value_of(str(make(tmp_path / name))) == 7


@pytest.mark.parametrize(("make", "scheme"), [(sqlite_file, "sqlite"), (duckdb_file, "duckdb")])
def test_the_address_of_a_file_is_taken_too(make: Any, scheme: str, tmp_path: Path) -> None:
    assert value_of(f"{scheme}:///{make(tmp_path / 'a.db')}") == 7


@pytest.mark.parametrize("make", [sqlite_file, duckdb_file])
def test_a_file_cannot_be_written(make: Any, tmp_path: Path) -> None:
    path = make(tmp_path / "a.db")
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(DiffmgError, match=r"(?i)read.?only"), connected(str(path)) as connection:
        connection.exec_driver_sql("INSERT INTO a VALUES (8)")
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("address", ["{}/no.db", "sqlite:///{}/no.db", "duckdb:///{}/no.db"])
def test_a_file_that_is_not_there_is_named_and_not_made(address: str, tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=r"but got no file at '.*no\.db'"):
        value_of(address.format(tmp_path))
    assert not list(tmp_path.iterdir())


def test_a_folder_without_tables_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=r"a folder of tables has files .* but got none in"):
        value_of(str(tmp_path))


def test_a_file_that_is_no_database_is_named_with_its_start(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("id,name\n1,x\n")
    with pytest.raises(DiffmgError, match=r"but got '.*a\.db', which starts with b'id,na"):
        value_of(str(tmp_path / "a.db"))


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.db").touch()
    with pytest.raises(DiffmgError, match=r"but got an empty file: '.*a\.db'"):
        value_of(str(tmp_path / "a.db"))


@pytest.mark.parametrize("make", [sqlite_file, duckdb_file])
def test_a_file_that_was_cut_off_is_named(make: Any, tmp_path: Path) -> None:
    path = make(tmp_path / "a.db")
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(DiffmgError, match=r"but got '.*a\.db': .*a whole database"):
        value_of(str(path))


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that takes calls and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_server_that_does_not_answer_is_left_in_time(silent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diffmg.tables.connecting.CONNECT_SECONDS", 2)
    start = time.monotonic()
    with pytest.raises(DiffmgError, match=r"timeout expired") as caught:
        value_of(f"postgresql://me:hush-hush@127.0.0.1:{silent}/shop")
    assert time.monotonic() - start < 8
    assert f"'postgresql://me@127.0.0.1:{silent}/shop'" in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(("said", "seconds"), [("", CONNECT_SECONDS), ("?connect_timeout=7", None)])
def test_the_address_may_say_how_long_to_wait(said: str, seconds: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr("sqlalchemy.create_engine", lambda url, **options: given.update(options, url=url))
    _opened(f"postgresql://127.0.0.1/shop{said}")
    assert given["connect_args"].get("connect_timeout") == seconds
    assert given["url"].query.get("connect_timeout") == ("7" if said else None)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("postgresql://me:hush@127.0.0.1:1/shop", "'postgresql://me@127.0.0.1:1/shop': .*refused"),
        ("postgres://me:hush@127.0.0.1:1/shop?password=hush2", "'postgres://me@127.0.0.1:1/shop': .*refused"),
        ("postgresql://me:hu@sh@127.0.0.1/shop", "has one '@', before the server.* write an '@' of a password as %40"),
        ("postgresql://me:hush@127.0.0.1:port/shop", "an address is written postgresql://user@server:port/database"),
        ("oracel://me:hush@127.0.0.1/shop", r"'oracel://me@127.0.0.1/shop' and: Can't load .*diffmg\[sql\]"),
        ("mssql+nodriver://me:hush@127.0.0.1/shop", r"and: Can't load plugin.* pip install 'diffmg\[sql\]'"),
    ],
)
def test_a_bad_address_is_told_without_its_password(address: str, message: str) -> None:
    with pytest.raises(DiffmgError, match=message) as caught:
        value_of(address)
    assert "hu" not in str(caught.value)


def test_without_the_packages_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *rest: Any) -> Any:
        if name.split(".")[0] == "sqlalchemy":
            raise ModuleNotFoundError("No module named 'sqlalchemy'", name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(DiffmgError, match=r"No module named 'sqlalchemy'; install them:"):
        value_of(str(tmp_path / "a.db"))


def test_the_packages_are_imported_only_when_needed() -> None:
    code = "import sys, diffmg.tables.database; print({'sqlalchemy', 'duckdb', 'psycopg'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("shop.db", "shop.db"),
        ("a:b@c.db", "a:b@c.db"),
        ("postgresql://server:5432/shop", "postgresql://server:5432/shop"),
        ("postgresql://me:hush@server/shop", "postgresql://me@server/shop"),
        ("postgresql://:hush@server/shop", "postgresql://@server/shop"),
        ("postgresql://me:hu/s:h@server/shop?a=1", "postgresql://me@server/shop?a=1"),
        ("postgresql://server/shop?password=hush", "postgresql://server/shop"),
        ("postgresql://server/shop?password=hush&a=1", "postgresql://server/shop?a=1"),
        ("postgresql://server/shop?a=1&password=hush&b=2", "postgresql://server/shop?a=1&b=2"),
    ],
)
def test_an_address_is_shown_without_its_password(address: str, shown: str) -> None:
    assert without_password(address) == shown
