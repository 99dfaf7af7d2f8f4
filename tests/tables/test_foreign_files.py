"""Descriptions and runs of others: they name no files outside, and their servers get no password."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diffmg.core import trust
from diffmg.core.errors import DiffmgError
from diffmg.core.plan import Source
from diffmg.runs.sources import describe
from diffmg.tables import read_description
from diffmg.tables.connecting import without_password
from library import TOML, write_library
from run_files import diffmg, refused

SERVER = "postgresql://me@127.0.0.1:9/db"
TIMED = TOML.replace('file = "', 'table = "').replace('.csv"', '"')


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "_named_by_files", set())
    monkeypatch.setattr(trust, "_trusted", set())
    monkeypatch.setenv("PGPASSWORD", "hunter2")


@pytest.mark.parametrize("change", ["nodes", "relation", "database", "triples"])
def test_a_description_reads_only_inside_its_folder(change: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_library(tmp_path)
    toml = {
        "nodes": TOML.replace("authors.csv", "../authors.csv"),
        "relation": TOML.replace("wrote.csv", str(tmp_path / "wrote.csv")),
        "database": f'database = "../a.db"\n{TIMED}',
        "triples": f'[triples]\nfile = "../wrote.csv"\n{TOML}',
    }[change]
    path = write_library(tmp_path / "in", toml)
    with pytest.raises(DiffmgError, match="a description names files inside its own folder"):
        read_description(path)
    assert "inside its own folder" in refused("describe", path)
    if change in ("nodes", "relation"):
        assert diffmg("--allow-outside", "describe", path).code == 0
        assert diffmg("describe", path).code == 2, "it is allowed for one command"


def test_a_server_of_a_description_gets_no_password(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("psycopg")
    path = tmp_path / "it.toml"
    path.write_text(f'database = "{SERVER}"\n{TIMED}')
    message = refused("fit", path, "--out", tmp_path / "run")
    assert "servers that you name yourself, but got '127.0.0.1:9' from a file" in message
    trusted = refused("--trust-server", "127.0.0.1:9", "fit", path, "--out", tmp_path / "run")
    assert "a database must be there and be readable" in trusted
    assert "hunter2" not in message + trusted


def test_a_server_of_a_run_folder_gets_no_password(classified_run: Path) -> None:
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("psycopg")
    data = json.loads((classified_run / "run.json").read_text())
    data["plan"]["source"] |= {"name": SERVER, "target": "a.b"}
    (classified_run / "run.json").write_text(json.dumps(data | {"status": "running"}))
    assert "servers that you name yourself" in refused("resume", classified_run)


def test_a_server_on_the_command_line_gets_it(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("psycopg")
    message = refused("fit", SERVER, "--target", "a.b", "--out", tmp_path / "run")
    assert "a database must be there and be readable" in message


@pytest.fixture
def classified_run(tmp_path: Path) -> Path:
    from run_files import fit

    return fit(tmp_path / "run", "academic:120", "-m", "mlp", "-s", "max_epochs=2")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:hunter2@shop.org/db",
        "postgresql://shop.org/db?password=hunter2",
        "postgresql://shop.org/db?sslmode=require&sslpassword=hunter2",
        "postgresql://shop.org/db?%70assword=hunter2&a=1",
        "duckdb:///a?motherduck_token=hunter2",
    ],
)
def test_a_secret_in_an_address_is_refused_and_never_shown(address: str, tmp_path: Path) -> None:
    assert "hunter2" not in without_password(address)
    with pytest.raises(DiffmgError, match="must be without a password") as error:
        describe(Source(address, target="a.b"))
    assert "hunter2" not in str(error.value)
    path = tmp_path / "a.toml"
    path.write_text(f'database = "{address}"\n[triples]\nfile = "a.csv"\n')
    with pytest.raises(DiffmgError) as other:
        read_description(path)
    assert "hunter2" not in str(other.value)
