"""Numbers from tables to predictions, by the command line."""

from __future__ import annotations

import csv
import io
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from diffmg import NodeRegressor, read_run
from run_files import diffmg

TOML = """
[nodes.house]
file = "houses.csv"
features = ["rooms"]

[nodes.street]
file = "streets.csv"

[relations.on]
file = "houses.csv"
source = ["house", "house"]
target = ["street", "street"]

[task]
target = "house"
label = "price"
"""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The price of a house is that of its street, in millionths, which its own feature does not tell."""
    folder, rng = tmp_path_factory.mktemp("houses"), np.random.default_rng(0)
    level, street = rng.normal(0, 1, 12), rng.integers(0, 12, 150)
    prices = (20 + 5 * level[street] + rng.normal(0, 0.2, 150)) * 1e-6
    rows = zip(street, prices.tolist(), rng.normal(0, 1, 150), strict=True)
    houses = [f"h{n},s{s},{price!r},{x:.3f},{8e8 * price:.2f}" for n, (s, price, x) in enumerate(rows)]
    (folder / "houses.csv").write_text("\n".join(["house,street,price,rooms,rent", *houses]))
    (folder / "streets.csv").write_text("\n".join(["street,level", *(f"s{n},{v:.4f}" for n, v in enumerate(level))]))
    (folder / "houses.toml").write_text(TOML)
    return folder


def call(*arguments: object) -> str:
    answer = diffmg(*arguments)
    assert answer.code == 0, answer.err
    return answer.out


def test_numbers_go_through_every_command(tables: Path, tmp_path: Path) -> None:
    run, small = tmp_path / "run", ["-sdim=16", "-smax_epochs=40", "-slr=0.02", "--device", "cpu"]
    fitted = diffmg("fit", tables / "houses.toml", "--budget", "10", "--refit", "val", "--out", run, *small)
    assert fitted.code == 0, fitted.err
    assert "label price: numbers, so it is a regression" in fitted.err
    done = read_run(run)
    assert (done.data.task, done.metric) == ("regression", "mae")
    assert set(done.scores("test")) == {"mae", "rmse", "r2"}
    assert done.scores("test")["r2"] > 0.5
    assert 0 < done.scores("test")["mae"] < done.evidence.chance
    assert done.evidence.above_chance
    assert done.data.facts["labels"]["train"]["nodes"] == 90
    assert f"{done.scores('test')['mae']:.3g}" in fitted.out, "small numbers are not shown as 0.0000"

    rows = list(csv.DictReader(io.StringIO(call("predict", run))))
    true = {
        row["house"]: float(row["price"]) for row in csv.DictReader(io.StringIO((tables / "houses.csv").read_text()))
    }
    assert list(rows[0]) == ["house", "prediction"]
    assert len(rows) == 150
    pairs = np.array([(true[row["house"]], float(row["prediction"])) for row in rows])
    assert np.corrcoef(pairs.T)[0, 1] > 0.8
    assert "mae" in call("score", run)
    assert "house" in call("show", run)
    assert call("report", run).startswith("written to")
    loaded = NodeRegressor.load(run)
    np.testing.assert_allclose(loaded.predict([row["house"] for row in rows]), pairs[:, 1], rtol=1e-6)


@pytest.mark.parametrize("loss", ["mae", "huber", "mse"])
def test_several_numbers_by_a_description(loss: str, tables: Path, tmp_path: Path) -> None:
    both = TOML.replace('label = "price"', f'label = ["price", "rent"]\nloss = "{loss}"\nmetric = "r2"')
    (tables / f"{loss}.toml").write_text(both)
    small = ["-sdim=16", "-smax_epochs=60", "-slr=0.02", "--device", "cpu", "--method", "gcn"]
    call("fit", tables / f"{loss}.toml", "--out", tmp_path / "run", *small)
    done = read_run(tmp_path / "run")
    assert done.data.digests["loss"] == loss
    assert min(done.scores("test")[name] for name in ("r2 of price", "r2 of rent")) > 0.5
    assert call("predict", tmp_path / "run", "--id", "h3").startswith("house,price,rent\nh3,")


def test_several_numbers_of_a_database(tables: Path, tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    connection = sqlite3.connect(tmp_path / "town.db")
    connection.execute("CREATE TABLE street (street TEXT PRIMARY KEY, level REAL)")
    columns = "house TEXT PRIMARY KEY, street TEXT REFERENCES street, price REAL, rooms REAL, rent REAL"
    connection.execute(f"CREATE TABLE house ({columns})")
    for table in ("street", "house"):
        _, *rows = csv.reader(io.StringIO((tables / f"{table}s.csv").read_text()))
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
    connection.commit()
    connection.close()
    run, target = tmp_path / "run", ["--target", "house.price,rent"]
    fitted = diffmg("fit", tmp_path / "town.db", *target, "--method", "boosting", "--out", run)
    assert fitted.code == 0, fitted.err
    assert "label price, rent: numbers, so it is a regression" in fitted.err
    assert "differ in scale: rent decides" in fitted.err
    assert min(read_run(run).scores("test")[name] for name in ("r2 of price", "r2 of rent")) > 0.5
    assert call("predict", run, "--id", "h3").startswith("house,price,rent\nh3,")


@pytest.mark.parametrize(
    ("price", "message"),
    [("1.5", "the training values of 'price' must vary"), ("", "the label column 'price' must have numbers")],
)
def test_a_target_that_tells_nothing_is_refused(price: str, message: str, tables: Path) -> None:
    head, *rows = (tables / "houses.csv").read_text().splitlines()
    changed = [",".join([*row.split(",")[:2], price, *row.split(",")[3:]]) for row in rows]
    (tables / "flat.csv").write_text("\n".join([head, *changed]))
    toml = TOML.replace("houses.csv", "flat.csv").replace("[task]", '[task]\nkind = "regression"')
    (tables / "flat.toml").write_text(toml)
    answer = diffmg("fit", tables / "flat.toml", "--out", tables / "never")
    assert answer.code == 2
    assert message in " ".join(answer.err.split())
    assert not (tables / "never").exists()


def test_a_rival_of_numbers(tables: Path, tmp_path: Path) -> None:
    for method in ("boosting", "svd", "label_propagation"):
        call("fit", tables / "houses.toml", "--method", method, "--out", tmp_path / method)
        assert read_run(tmp_path / method).scores("test")["r2"] > 0.5, method
