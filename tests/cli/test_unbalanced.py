"""A table with a rare class, from the command line to the predictions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics as sk

from diffmg import Model
from run_files import diffmg, read, refused

TINY = ("-s", "max_epochs=4", "-s", "dim=8")
DESCRIPTION = """
[nodes.customer]
file = "customers.csv"

[nodes.shop]

[relations.visits]
file = "visits.csv"
source = ["customer", "customer"]
target = ["shop", "shop"]

[task]
target = "customer"
label = "churned"
"""


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """Customers, of whom one in fifteen churns; those who do visit the same few shops."""
    rng = np.random.default_rng(0)
    churned = np.arange(240) % 15 == 0
    customers = [f"c{i:03},{rng.integers(18, 80)},{'yes' if c else 'no'}" for i, c in enumerate(churned)]
    visits = [
        f"c{i:03},s{rng.integers(0, 3) if c else rng.integers(2, 9)}" for i, c in enumerate(churned) for _ in "ab"
    ]
    (tmp_path / "customers.csv").write_text("\n".join(["customer,age,churned", *customers]) + "\n")
    (tmp_path / "visits.csv").write_text("\n".join(["customer,shop", *visits]) + "\n")
    return tmp_path


def described(folder: Path, *lines: str) -> Path:
    path = folder / "shops.toml"
    path.write_text(DESCRIPTION + "\n".join(lines) + "\n")
    return path


def test_a_rare_class_is_told_and_nothing_is_changed(tables: Path) -> None:
    plain = diffmg("fit", described(tables), "--method", "gcn", *TINY, "--out", tables / "plain")
    assert plain.code == 0, plain.err
    assert "rare among the training labels: yes (6.9%)" in plain.err
    assert "average_precision" in plain.err
    assert "class_weight = 'balanced'" in plain.err
    run = read(tables / "plain")
    assert run["data"]["metric"] == "macro_f1"
    assert run["scores"]["test"].keys() == {"macro_f1", "micro_f1", "accuracy", "roc_auc", "average_precision"}
    chosen = diffmg("fit", described(tables, 'metric = "roc_auc"'), "--method", "gcn", *TINY, "--out", tables / "other")
    assert "rare among" not in chosen.err


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
def test_a_race_by_an_order(tables: Path, metric: str) -> None:
    data = described(tables, f'metric = "{metric}"', 'positive = "yes"', 'class_weight = "balanced"')
    answer = diffmg("fit", data, "--budget", 10, "-o", "searches_too=false", *TINY, "--out", tables / "run")
    assert answer.code == 0, answer.err
    run = read(tables / "run")
    assert run["data"]["metric"] == metric
    assert run["data"]["digests"]["positive"] == "yes"
    assert run["data"]["digests"]["class weights"] == "balanced"
    assert 0 < run["evidence"]["ensemble_score"] <= 1
    wanted = 0.5 if metric == "roc_auc" else 1 / 15
    assert run["evidence"]["chance"] == pytest.approx(wanted, abs=0.12)
    assert f"validation {metric}" in answer.out
    assert f"{run['scores']['test'][metric]:.4f}" in answer.out
    assert metric in (tables / "run" / "report.html").read_text()
    again = diffmg("score", tables / "run")
    assert f"{run['scores']['test'][metric]:.4f}" in again.out


def test_the_score_is_that_of_the_predictions(tables: Path) -> None:
    """The same split as a column, so that the test knows the rows."""
    rows = (tables / "customers.csv").read_text().splitlines()
    parts = ["part", *(("train", "train", "val", "test")[i // 2 % 4] for i in range(240))]
    (tables / "customers.csv").write_text("".join(f"{r},{p}\n" for r, p in zip(rows, parts, strict=True)))
    data = described(tables, 'split = "part"', 'metric = "average_precision"', "class_weight = {yes = 3.0}")
    assert diffmg("fit", data, "--method", "gcn", *TINY, "--out", tables / "run").code == 0
    test = [i for i in range(240) if i // 2 % 4 == 3]
    answers = Model.load(tables / "run").answers([f"c{i:03}" for i in test])
    true, scores = [i % 15 == 0 for i in test], answers["p(yes)"]
    found = read(tables / "run")["scores"]["test"]
    assert found["average_precision"] == pytest.approx(sk.average_precision_score(true, scores))
    assert found["roc_auc"] == pytest.approx(sk.roc_auc_score(true, scores))


def test_describe_says_what_chooses_and_what_weighs(tables: Path) -> None:
    data = described(tables, 'metric = "average_precision"', 'positive = "no"', "class_weight = {yes = 3.5}")
    answer = diffmg("describe", data, "--out", tables / "written.toml")
    assert "chosen by average_precision of no" in answer.out
    assert "weights of classes in the loss: yes 3.5" in answer.out
    text = (tables / "written.toml").read_text()
    assert all(line in text for line in ('metric = "average_precision"', 'positive = "no"', "yes = 3.5"))
    assert "average_precision of no" in diffmg("describe", tables / "written.toml").out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('metric = "rocauc"', "unknown metric 'rocauc'; did you mean 'roc_auc'"),
        ('positive = "yep"', "unknown positive class 'yep'"),
        ('class_weight = "balance"', "'balanced' or a table of class = weight, but got 'balance'"),
        ("class_weight = {yes = 0}", "`weight > 0` must hold"),
        ("class_weight = {maybe = 2}", "unknown class in class_weight: 'maybe'"),
        ("class_weights = 2", "did you mean 'class_weight'"),
    ],
)
def test_what_makes_no_sense_is_refused(tables: Path, line: str, message: str) -> None:
    assert message in refused("fit", described(tables, line), "--out", tables / "run")


def test_a_part_of_one_class_is_refused(tables: Path) -> None:
    rows = (tables / "customers.csv").read_text().splitlines()
    parts = ["part", *("val" if i % 15 == 1 else "train" for i in range(240))]
    (tables / "customers.csv").write_text("".join(f"{r},{p}\n" for r, p in zip(rows, parts, strict=True)))
    data = described(tables, 'split = "part"', 'metric = "roc_auc"')
    assert "16 nodes of val that are all 'no'" in refused("fit", data, "--out", tables / "run")
