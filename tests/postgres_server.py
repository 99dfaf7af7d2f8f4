"""A PostgreSQL server of its own for the tests, where the programs are installed."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SECRET = "s3cr3t-w0rd"


def programs() -> Path | None:
    """The folder of the server's programs; Debian keeps them out of the path."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


def lacking() -> str | None:
    """Why there can be no server here, or None."""
    if programs() is None:
        return "PostgreSQL is not installed (Debian: apt-get install postgresql)"
    if os.geteuid() == 0 and _user() is None:
        return "PostgreSQL does not run as root, and there is no user 'postgres' or 'nobody'"
    return None


@contextmanager
def serving() -> Iterator[str]:
    """The address, with its password, of a server that runs as long as the context."""
    binaries, user = programs(), _user()
    assert binaries is not None
    with tempfile.TemporaryDirectory(prefix="pg-") as name:
        folder = Path(name)
        (folder / "password").write_text(SECRET)
        if user is not None:
            shutil.chown(folder, user)
            shutil.chown(folder / "password", user)
        options = ["-U", "tester", "-A", "scram-sha-256", "--locale=C", "--encoding=UTF8", "-N"]
        initdb = [binaries / "initdb", "-D", folder / "data", *options, f"--pwfile={folder / 'password'}"]
        subprocess.run(initdb, user=user, cwd=folder, check=True, capture_output=True)
        port = _free_port()
        command = [binaries / "postgres", "-D", folder / "data", "-F", "-h", "127.0.0.1", "-p", str(port), "-k", ""]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(command, user=user, cwd=folder, stdout=log, stderr=log)
        try:
            yield _answering(f"postgresql://tester:{SECRET}@127.0.0.1:{port}/postgres", folder / "log")
        finally:
            server.send_signal(2)
            server.wait(30)


def _user() -> str | None:
    """Root hands the server to another user."""
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((n for n in ("postgres", "nobody") if n in names), None) if os.geteuid() == 0 else None


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _answering(address: str, log: Path) -> str:
    import psycopg

    for _ in range(200):
        try:
            psycopg.connect(address, connect_timeout=2).close()
            return address
        except psycopg.OperationalError:
            time.sleep(0.1)
    raise RuntimeError(f"the server did not start: {log.read_text()}")
