"""The command that turns a question into a table of predictions."""

from __future__ import annotations

import shlex
import sqlite3
from pathlib import Path

import pytest

from diffmg.tables.reading import read_table
from run_files import Answer, diffmg, read, refused
from timed_shop import write_shop

pytest.importorskip("sqlalchemy")

QUICK = ("--method", "features", "-s", "max_epochs=1", "-s", "dim=8")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return write_shop(tmp_path / "shop.db", 0, customers=30, orders=200)


def ask(database: Path, question: str, out: Path, *options: object) -> Answer:
    given = ("--predict", question, "--of", "customers", "--within", "5d", "--out", out)
    return diffmg("ask", database, *given, *options)


@pytest.mark.parametrize(
    ("question", "kind", "file"),
    [("count(orders) > 0", "classification", "will.csv"), ("sum(orders.amount)", "regression", "will.parquet")],
)
def test_the_command_that_is_printed_fits(shop: Path, tmp_path: Path, question: str, kind: str, file: str) -> None:
    answer = ask(shop, question, tmp_path / file)
    assert answer.code == 0, answer.err
    assert "orders dated by ordered_at" in answer.out
    assert f"written to {tmp_path / file}; fit it with:" in answer.out
    words = shlex.split(answer.out.splitlines()[-1])
    assert words[:2] == ["diffmg", "fit"]
    fitted = diffmg(*words[1:], *QUICK, "--out", tmp_path / "run")
    assert fitted.code == 0, fitted.err
    given = read(tmp_path / "run")["plan"]["source"]["predictions"]
    assert (given["horizon"], given["kind"]) == ("5d", kind)
    assert "labels known 5d later" in fitted.out
    assert read_table(tmp_path / file).column_names == ["customer_id", "moment", "label", "split"]


def test_a_key_that_may_mean_two_tables_is_said_with_its_table(tmp_path: Path) -> None:
    path = tmp_path / "two.db"
    with sqlite3.connect(path) as db:
        db.executescript("""
            CREATE TABLE customers (id INTEGER PRIMARY KEY, age INTEGER);
            CREATE TABLE firms (id INTEGER PRIMARY KEY, size INTEGER);
            CREATE TABLE orders (id INTEGER PRIMARY KEY, owner INTEGER REFERENCES customers, date TEXT);
            CREATE TABLE bills (id INTEGER PRIMARY KEY, owner INTEGER REFERENCES firms, date TEXT);
        """)
        db.executemany("INSERT INTO customers VALUES (?, ?)", [(i, i) for i in range(9)])
        db.executemany("INSERT INTO firms VALUES (?, ?)", [(i, i) for i in range(9)])
        rows = [(i, i * i % 7, f"2024-01-{1 + i % 31:02}") for i in range(60)]
        db.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
        db.executemany("INSERT INTO bills VALUES (?, ?, ?)", rows)
    db.close()
    answer = ask(path, "count(orders)", tmp_path / "will.csv")
    assert "--by entity=customers.owner " in answer.out
    assert "'owner', a key of customers, firms; say which: --by entity=customers.owner" in refused(
        "describe", path, "--task", tmp_path / "will.csv", "--label", "label", "--by", "entity=owner"
    )
    words = shlex.split(answer.out.splitlines()[-1])
    fitted = diffmg(*words[1:], *QUICK, "--out", tmp_path / "run")
    assert fitted.code == 0, fitted.err


def test_a_table_that_may_have_been_edited_is_kept(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "will.csv").write_text("edited")
    answer = ask(shop, "count(orders) > 0", tmp_path / "will.csv")
    assert (answer.code, (tmp_path / "will.csv").read_text()) == (2, "edited")
    assert "is a new file, but got" in answer.err


def test_what_cannot_be_asked(shop: Path, tmp_path: Path) -> None:
    out = tmp_path / "will.csv"
    assert "written as .csv or .parquet, but got" in ask(shop, "count(orders)", tmp_path / "will.txt").err
    assert "asked of a database, but got 'academic'" in ask(Path("academic"), "count(orders)", out).err
    assert "no file at" in ask(tmp_path / "none.db", "count(orders)", out).err
    assert "unknown table of --static: 'order'" in ask(shop, "count(orders)", out, "--static", "order").err
    assert "`held >= 1` must hold, but got held=0" in ask(shop, "count(orders)", out, "--held", "0").err
    assert not out.exists()


def test_entities_with_dates_that_cannot_be_read_may_be_said_to_be_static(shop: Path, tmp_path: Path) -> None:
    with sqlite3.connect(shop) as db:
        db.execute("UPDATE customers SET country = '01/02/2024'")
    db.close()
    assert "got '01/02/2024' in customers.country; convert it" in ask(shop, "count(orders) > 0", tmp_path / "w.csv").err
    answer = ask(shop, "count(orders) > 0", tmp_path / "w.csv", "--static", "customers")
    assert answer.code == 0, answer.err
    assert "--by static=customers" in answer.out
