"""Timed networks are shown, written down, and built again from what was written."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

from diffmg.cli.timed import MOST_LINES, edge_lines
from diffmg.core import Predictions, Source
from diffmg.graph.fingerprint import graph_digests
from diffmg.runs.sources import describe, open_problem
from run_files import diffmg
from timed_shop import write_shop

pytest.importorskip("sqlalchemy")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A database whose predictions are a file beside it."""
    (tmp_path / "data").mkdir()
    path = write_shop(tmp_path / "data" / "shop.db", 0)
    rows = sqlite3.connect(path)
    lines = [",".join(map(str, row)) for row in rows.execute("SELECT * FROM churn")]
    rows.execute("DROP TABLE churn")
    rows.commit()
    rows.close()
    text = "\n".join(["customer_id,date,gone,split", *lines])
    (tmp_path / "data" / "churn.csv").write_text(text + "\n", encoding="utf-8")
    return path


def test_both_routes_give_the_same_network_from_any_directory(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()
    given = ("--task", "data/churn.csv", "--label", "gone", "--by", "horizon=2d")
    answer = diffmg("describe", "data/shop.db", *given, "--out", "out/net.toml")
    assert answer.code == 0, answer.err
    predictions = Predictions("data/churn.csv", label="gone", horizon="2d")
    direct = open_problem(Source("data/shop.db", predictions=predictions))
    written = (tmp_path / "out" / "net.toml").read_text(encoding="utf-8")
    assert 'database = "../data/shop.db"' in written
    assert 'table = "../data/churn.csv"' in written
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setattr("diffmg.core.trust._outside", [True])
    again = open_problem(Source("../out/net.toml"))
    assert graph_digests(again.graph) == graph_digests(direct.graph)
    assert {p: i.tolist() for p, i in again.task.parts.items()} == {p: i.tolist() for p, i in direct.task.parts.items()}
    assert again.task.when.horizon == direct.task.when.horizon > 0


def test_a_description_may_move_too(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "far" / "away").mkdir(parents=True)
    diffmg("describe", "data/shop.db", "--task", "data/churn.csv", "--label", "gone", "--out", "net.toml")
    answer = diffmg("describe", "net.toml", "--out", "far/away/net.toml")
    assert answer.code == 0, answer.err
    monkeypatch.setattr("diffmg.core.trust._outside", [True])
    one, other = (open_problem(Source(path)) for path in ("net.toml", "far/away/net.toml"))
    assert graph_digests(one.graph) == graph_digests(other.graph)


def test_a_query_is_written_down(tmp_path: Path) -> None:
    path = write_shop(tmp_path / "shop.db", 0)
    query = "SELECT customer_id, date, gone, split FROM churn WHERE customer_id != 3"
    answer = diffmg("describe", path, "--task", query, "--label", "gone", "--out", tmp_path / "net.toml")
    assert answer.code == 0, answer.err
    direct = open_problem(Source(str(path), predictions=Predictions(query, label="gone")))
    again = open_problem(Source(str(tmp_path / "net.toml")))
    assert graph_digests(again.graph) == graph_digests(direct.graph)
    assert again.graph.num_nodes["predictions"] == 30


def test_times_and_windows_are_shown(tmp_path: Path) -> None:
    answer = diffmg("describe", write_shop(tmp_path / "shop.db", 0), "--task", "churn", "--label", "gone")
    for row in (
        ("orders", "orders", "order_id", "amount, status_code", "ordered_at"),
        ("items", "items", "item_id", "quantity", "that of order"),
        ("products", "products", "product_id", "price", "always known"),
        ("predictions", "churn", "customer_id, date", "all other columns", "date"),
        ("orders", "predictions", "customer_id", "1 row, 5 rows, 20 rows, 30d, 365d"),
        ("orders", "visits", "customer_id", "1 row, 5 rows"),
    ):
        assert re.search(r"│ " + r" +│ ".join(map(re.escape, row)) + r" +│", answer.out), row
    assert "moments: predictions.date; history: fresh; labels known at once" in answer.out


def test_edges_are_counted_once_each(tmp_path: Path) -> None:
    source = Source(str(write_shop(tmp_path / "shop.db", 0)), predictions=Predictions("churn", label="gone"))
    problem, description = open_problem(source), describe(source)
    lines = list(edge_lines(description, problem.graph))
    shown = sum(count for line in lines for count in line.edges)
    assert shown == sum(matrix.nnz for matrix in problem.graph.adjacency.values())
    assert all(len(line.edges) == len(line.reach.split(", ")) for line in lines)
    keys = {(line.source, line.target): line.key for line in lines if line.reach == "-"}
    assert keys["customers", "predictions"] == keys["customers", "orders"] == "customer_id"


def test_a_fit_shows_edges_of_few_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_shop(tmp_path / "shop.db", 0)
    monkeypatch.setattr("diffmg.cli.timed.MOST_LINES", 3)
    options = ("--task", "churn", "--label", "gone", "--method", "features", "-s", "max_epochs=1", "-s", "dim=8")
    answer = diffmg("fit", path, *options, "--out", tmp_path / "run")
    assert answer.code == 0, answer.err
    table = answer.out.partition("edges forward in time")[2].partition("└")[0]
    assert table.count("│") == 3 * 6
    assert re.search(r"and \d+ others with [\d,]+ edges", answer.out)
    assert MOST_LINES == 40


EDITS = [
    (
        'time = "ordered_at"',
        'time = "orderd_at"',
        "unknown column of table 'orders': 'orderd_at'; did you mean 'ordered_at'?",
    ),
    (
        'time = "ordered_at"',
        'time = "amount"',
        "times that are numbers must be days such as 20240131, or seconds since 1970, but got",
    ),
    ('time_of = "order"', 'time_of = "ordr"', "unknown relation of the task: 'ordr'; did you mean 'order'?"),
    (
        "last = 20",
        'within = "20 days"',
        "a period is a number from 1 on and one of s, min, h, d, w, such as 30d, but got '20 days'",
    ),
    ("last = 20", "", "a window has `last` or `within`, but got neither"),
    ('column = "date"', 'column = "dat"', "unknown column of table 'churn': 'dat'"),
    (
        'column = "date"',
        'column = "date"\nvalidation = "2024-01-20"\ntest = "2024-01-28"',
        "by a column or by two dates",
    ),
]


@pytest.mark.parametrize(("old", "new", "words"), EDITS)
def test_edits_that_went_wrong(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = tmp_path / "net.toml"
    diffmg("describe", write_shop(tmp_path / "shop.db", 0), "--task", "churn", "--label", "gone", "--out", path)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    answer = diffmg("fit", path, "--method", "features", "--out", tmp_path / "run")
    assert (answer.code, (tmp_path / "run").exists()) == (2, False), answer.err
    assert words in answer.err


def test_moments_need_rows_with_a_time(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    diffmg("describe", write_shop(tmp_path / "shop.db", 0), "--task", "churn", "--label", "gone", "--out", path)
    text = re.sub(r"^time(_of)? = .*\n|^\[windows.*\n(.+\n)*", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    path.write_text(text, encoding="utf-8")
    answer = diffmg("fit", path, "--out", tmp_path / "run")
    assert (
        "whose rows have a time, but got none; name a column of dates with `time` in one of [nodes.customers]"
        in answer.err
    )
