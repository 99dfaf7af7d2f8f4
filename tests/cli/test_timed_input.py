"""Bad input of timed tasks: each message says the rule, the value and the next step, and nothing is fitted."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from run_files import Answer, diffmg, refused
from timed_shop import write_shop

pytest.importorskip("sqlalchemy")

NO_SPLIT = "SELECT customer_id, date, gone FROM churn"
QUICK = ("--method", "features", "-s", "max_epochs=1", "-s", "dim=8")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_shop(tmp_path_factory.mktemp("shop") / "shop.db", 0, customers=20, orders=120, visits=80)


@contextmanager
def changed(shop: Path, folder: Path, statements: Sequence[str]) -> Iterator[Path]:
    """A copy of the database with some changes."""
    path = Path(shutil.copy(shop, folder / "shop.db"))
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    yield path


def fitted(shop: Path, folder: Path, *options: str, changes: Sequence[str] = (), task: str = "churn") -> Answer:
    """The answer of `fit`; label and entity are those of the shop."""
    with changed(shop, folder, changes) as path:
        label = () if "--label" in options else ("--label", "gone")
        return diffmg("fit", path, "--task", task, *label, *options, *QUICK, "--out", folder / "run")


OPTIONS = [
    (("--by", "tiem=date"), "unknown option of --by: 'tiem'; did you mean 'time'?"),
    (("--by", "time"), "an option is written KEY=VALUE, but got 'time'"),
    (("--by", "table=churn"), "the table of predictions is given by --task, but got --by table='churn'"),
    (("--by", "time=dat"), "unknown column of the predictions: 'dat'; did you mean 'date'?"),
    (("--by", "entity=cust"), "unknown column of the predictions: 'cust'; did you mean 'customer_id'?"),
    (("--by", "static=order"), "unknown table of --by static: 'order'; did you mean 'orders'?"),
    (("--by", "history=old"), "`history` must be one of 'fresh', 'frozen' or nothing, but got history='old'"),
    (
        ("--by", "horizon=soon"),
        "a period is a number from 1 on and one of s, min, h, d, w, such as 30d, but got 'soon'",
    ),
    (
        ("--by", "horizon=30d"),
        "40 predictions whose label is known later, 30d after their moment; leave them out of train",
    ),
    (("--by", "validation=2024-01-20", "--by", "test=2024-01-28"), "by a column or by two dates, but got the column"),
    (("--label", "gon"), "unknown column of the predictions: 'gon'; did you mean 'gone'?"),
    (("--metric", "auc"), "unknown metric 'auc'; did you mean 'roc_auc'?"),
]


@pytest.mark.parametrize(("options", "words"), OPTIONS)
def test_options(shop: Path, tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    answer = fitted(shop, tmp_path, *options)
    assert (answer.code, (tmp_path / "run").exists()) == (2, False)
    assert words in answer.err


TASKS = [
    ("chrun", "a table of the database, or a SELECT, but got 'chrun'; tables: churn, customers"),
    ("DELETE FROM churn", "or a SELECT, but got 'DELETE FROM churn'"),
    ("SELECT * FROM churn; DELETE FROM churn", "a query must be one SELECT, but got"),
    ("WITH x AS (SELECT 1) DELETE FROM churn", "a query must be a SELECT that the database answers, but got"),
    ("SELECT nope FROM churn", "that the database answers, but got 'SELECT nope FROM churn': no such column: nope"),
    ("SELECT * FROM churn WHERE 0", "a table of predictions must have rows, but got none from 'SELECT"),
    (
        "SELECT gone FROM churn",
        "the moment must be the one column with a date, but got none of gone; name it with --by time",
    ),
    (
        "SELECT customer_id, gone, '01/0' || (1 + gone) || '/2024' AS day, split FROM churn",
        "dates of column 'day' of the predictions must be clear, but got '01/0",
    ),
    (
        "SELECT date, gone FROM churn",
        "name their entity by a column called as the key of its table, but got none; keys: customer_id",
    ),
    (NO_SPLIT, "by a column or by two dates, but got neither for 'predictions'; give `validation` and `test`"),
    ("none.csv", "a table must be a file, but got none at"),
]


@pytest.mark.parametrize(("task", "words"), TASKS)
def test_tables_of_predictions(shop: Path, tmp_path: Path, task: str, words: str) -> None:
    answer = fitted(shop, tmp_path, task=task)
    assert answer.code == 2
    assert words in answer.err
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        assert connection.execute("SELECT count(*) FROM churn").fetchone() == (120,)
    connection.close()


DATES = [
    (("2024-01-20",), "a split by date has two dates, `validation` and `test`, but got"),
    (("2024-01-30", "2024-01-20"), "`validation < test` must hold, but got '2024-01-30' and '2024-01-20'"),
    (("soon", "2024-01-20"), "`validation` is written 2024-01-31 or 2024-01-31T12:30, but got 'soon'"),
    (("2024-01", "2024-01-20"), "`validation` is written 2024-01-31 or 2024-01-31T12:30, but got '2024-01'"),
    (("2025-01-20", "2025-01-30"), "got none in val of 120 from 2024-01-09 to 2024-02-06; look at the split"),
    (("2015-01-20", "2015-01-30"), "got none in train of 120 from 2024-01-09 to 2024-02-06; look at the split"),
]


@pytest.mark.parametrize(("dates", "words"), DATES)
def test_dates_of_a_split(shop: Path, tmp_path: Path, dates: tuple[str, ...], words: str) -> None:
    options = [f"{part}={date}" for part, date in zip(("validation", "test"), dates, strict=False)]
    answer = fitted(shop, tmp_path, *(word for option in options for word in ("--by", option)), task=NO_SPLIT)
    assert answer.code == 2
    assert words in answer.err


NOON = "date||'T12:00:00'||CASE WHEN customer_id % 2 THEN 'Z' ELSE '' END"
CONTENT = [
    (
        "UPDATE churn SET split='train' WHERE date > '2024-01-28'",
        "a timed split goes forward, but got predictions of train",
    ),
    (
        "UPDATE churn SET date=date(date, '-10 years')",
        "dated before the predictions of 'predictions' and share their key",
    ),
    ("UPDATE churn SET customer_id=1003 WHERE customer_id=3", "with 'customers' ids that no node has, such as [1003]"),
    (
        "UPDATE churn SET customer_id=NULL WHERE customer_id=3",
        "needs an id, but got 6 rows without one; leave them out",
    ),
    (
        "INSERT INTO churn SELECT * FROM churn LIMIT 1",
        "an entity has one prediction at a moment, but got 1 of 'predictions'",
    ),
    ("UPDATE churn SET date=NULL WHERE customer_id=3", "every prediction needs a moment, but got 6 rows without one"),
    (
        "UPDATE churn SET date='soon' WHERE customer_id=3",
        "dates of column 'date' of the predictions must all be written in one known form, but got 'soon'",
    ),
    (f"UPDATE churn SET date={NOON}", "must all have a time zone or none of them, but got both in column 'date'"),
    ("UPDATE churn SET gone=1", "the label column 'gone' must have two or more classes, but got [1] in 120 rows"),
    ("UPDATE churn SET gone=1 WHERE split='train'", "each with a training node, but got 2 classes and none for [0]"),
    (
        "UPDATE churn SET gone=NULL WHERE customer_id=5",
        "node of train must have a label, but got none for [90, 91]; leave",
    ),
    (f"UPDATE visits SET {NOON.replace('date|', 'date=date|', 1)}", "in visits.date; convert it, or say"),
    (
        "UPDATE visits SET date='soon' WHERE visit_id=3",
        "but got 'soon' in visits.date; convert it, or say that the rows of",
    ),
    (
        "UPDATE visits SET date=strftime('%m/%d/2024', date(date, 'start of month', '+3 days'))",
        "in visits.date; convert it, or say that the rows of visits were",
    ),
]


@pytest.mark.parametrize(("change", "words"), CONTENT)
def test_content(shop: Path, tmp_path: Path, change: str, words: str) -> None:
    answer = fitted(shop, tmp_path, changes=[change])
    assert (answer.code, (tmp_path / "run").exists()) == (2, False)
    assert words in answer.err


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        ("TEXT", "strftime('%d.%m.%Y', date)"),
        ("INTEGER", "strftime('%Y%m%d', date)"),
        ("INTEGER", "strftime('%s', date) + 86399"),
        ("INTEGER", "1000 * strftime('%s', date) + 86399999"),
    ],
)
def test_times_in_other_forms_build_the_same_network(shop: Path, tmp_path: Path, kind: str, made: str) -> None:
    def built(*changes: str) -> str:
        renamed = ["ALTER TABLE visits RENAME COLUMN date TO made_at", *changes]
        with changed(shop, tmp_path, renamed) as path:
            answer = diffmg("describe", path, "--task", "churn", "--label", "gone")
        assert answer.code == 0, answer.err
        return answer.out

    assert built() == built(
        f"ALTER TABLE visits ADD COLUMN other {kind}",
        f"UPDATE visits SET other = {made.replace('date', 'made_at')}",
        "ALTER TABLE visits DROP COLUMN made_at",
        "ALTER TABLE visits RENAME COLUMN other TO made_at",
    )


def test_no_times_at_all(shop: Path, tmp_path: Path) -> None:
    changes = ["UPDATE orders SET ordered_at=NULL", "UPDATE visits SET date=NULL"]
    assert "need tables with a column of dates" in fitted(shop, tmp_path, changes=changes).err


NUMBERS = [
    ("1,2024-01-10,2,train\n2,2024-01-10,2,train", "the training values of 'y' must vary"),
    ("1,2024-01-10,1,train\n2,2024-01-10,inf,train", "numbers must be finite (or NaN where unknown), but got infinite"),
    (
        "1,2024-01-10,nan,train\n2,2024-01-10,nan,train",
        "every 'predictions' node of train must have a label, but got none",
    ),
]


@pytest.mark.parametrize(("rows", "words"), NUMBERS)
def test_numbers(shop: Path, tmp_path: Path, rows: str, words: str) -> None:
    file = tmp_path / "numbers.csv"
    file.write_text(f"customer_id,date,y,split\n{rows}\n1,2024-01-20,0.3,val\n2,2024-01-20,0.5,val\n")
    answer = fitted(shop, tmp_path, "--label", "y", "--by", "kind=regression", task=str(file))
    assert answer.code == 2
    assert words in answer.err


def test_notes_on_what_is_not_there(shop: Path, tmp_path: Path) -> None:
    """Unknown entities that may be dropped, histories that are empty, windows that hold nothing."""
    changes = ["UPDATE churn SET customer_id=1003 WHERE customer_id=3", "UPDATE visits SET date='2030-01-01'"]
    answer = fitted(shop, tmp_path, "--on-unknown", "drop", changes=changes)
    assert answer.code == 0, answer.err
    assert "relation entity: 6 rows with unknown customers ids left out, such as [1003]" in answer.err
    assert "without any dated row of their key before their moment: " in answer.err
    assert "windows that hold no rows, left out: " in answer.err


def test_the_table_that_a_query_reads_is_no_history(shop: Path) -> None:
    """Its labels are not known at their moments."""
    answer = diffmg("describe", shop, "--task", "SELECT * FROM churn", "--label", "gone")
    assert answer.code == 0, answer.err
    assert "churn" not in answer.out.replace("SELECT * FROM churn", "")


def test_predictions_are_for_databases(shop: Path, tmp_path: Path) -> None:
    diffmg("describe", shop, "--task", "churn", "--label", "gone", "--out", tmp_path / "net.toml")
    for data in (tmp_path / "net.toml", "academic:120"):
        words = f"a table of predictions is for a database, but got 'churn' for '{data}'; leave out --task"
        assert words in refused("fit", data, "--task", "churn", "--label", "gone", "--out", tmp_path / "run")


def test_a_table_with_columns_of_the_same_names_is_history(shop: Path, tmp_path: Path) -> None:
    changes = ["ALTER TABLE visits ADD COLUMN gone INTEGER", "UPDATE visits SET gone = visit_id % 2"]
    with changed(shop, tmp_path, changes) as path:
        answer = diffmg("describe", path, "--task", "churn", "--label", "gone")
    assert answer.code == 0, answer.err
    assert "visits" in answer.out
