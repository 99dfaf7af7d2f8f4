"""The table of rel-f1, on a database of the same shape that is made here."""

import csv
import random
import sqlite3

import pytest

from diffmg.core import DiffmgError
from experiments.rel_f1 import rel_f1_problem
from experiments.reproduce import main

PLAN = """
title = "made"
kind = "predictions"
data = ["driver-top3", "driver-top3, fresh", "driver-position"]
seeds = 1
[methods.auto]
budget = 4
settings = { max_epochs = 3, dim = 8 }
[reports]
"somebody" = { driver-top3 = 0.75 }
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    rng, root = random.Random(0), tmp_path_factory.mktemp("root")
    (root / "rel-f1/tasks").mkdir(parents=True)
    with sqlite3.connect(root / "rel-f1/rel-f1.db") as connection:
        connection.execute("CREATE TABLE drivers (driverId INTEGER PRIMARY KEY, nationality TEXT)")
        connection.execute(
            "CREATE TABLE results (resultId INTEGER PRIMARY KEY, driverId INTEGER REFERENCES drivers,"
            " points REAL, date TEXT)"
        )
        connection.executemany("INSERT INTO drivers VALUES (?, ?)", [(i, rng.choice("AB")) for i in range(8)])
        rows = [(i, i % 8, rng.random(), f"2004-{1 + i % 12:02}-15") for i in range(96)]
        connection.executemany("INSERT INTO results VALUES (?, ?, ?, ?)", rows)
    connection.close()
    for task, label in (("driver-top3", "qualifying"), ("driver-position", "position")):
        with (root / f"rel-f1/tasks/{task}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["date", "driverId", label, "split"])
            for month, split in ((6, "train"), (7, "train"), (9, "val"), (10, "val"), (12, "test")):
                for driver in range(8):
                    value = rng.random() * 20 if label == "position" else (driver + month) % 2
                    writer.writerow([f"2004-{month:02}-01", driver, value, split])
    return root


def test_the_table_is_run_beside_what_others_report(root, tmp_path, capsys):
    (tmp_path / "plan.toml").write_text(PLAN)
    words = ["rel_f1", "--plan", str(tmp_path / "plan.toml"), "--data-root", str(root), "--out", str(tmp_path / "out")]
    assert main([*words, "--device", "cpu"]) == 0
    text = capsys.readouterr().out
    assert "| somebody, their report | - | 0.75 |" in text
    assert text.count("| auto | 1 | ") == 3
    assert "test roc_auc" in text
    assert "test mae" in text
    assert str(root) not in (tmp_path / "out/runs.jsonl").read_text()


def test_both_protocols_differ_in_what_validation_sees(root):
    frozen, fresh = (rel_f1_problem(name, root) for name in ("driver-top3", "driver-top3, fresh"))
    assert frozen.task.digests({})["labels"] == fresh.task.digests({})["labels"]
    assert any(
        (frozen.graph.adjacency[r] != m).nnz for r, m in fresh.graph.adjacency.items() if r.target == "predictions"
    )


def test_unknown_tasks_and_missing_data(root, tmp_path):
    with pytest.raises(DiffmgError, match="unknown task of rel-f1: 'driver-top'"):
        rel_f1_problem("driver-top", root)
    with pytest.raises(DiffmgError, match="rel-f1 needs its database, but got none in"):
        rel_f1_problem("driver-top3", tmp_path)
