"""Models of timed tasks on data that came later."""

import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from diffmg.cli import app
from diffmg.core import DiffmgError, Settings
from diffmg.methods.given import Given
from diffmg.runs.in_memory import InMemory
from diffmg.runs.model import Model
from diffmg.runs.runner import run
from diffmg.runs.sources import make_plan, open_problem
from timed_shop import day, shop_source, write_shop

QUICK = ["-s", "max_epochs=5", "-s", "dim=8"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("newer")


@pytest.fixture(scope="module")
def shop(folder):
    return write_shop(folder / "shop.db", 3, customers=30, orders=200, visits=200)


@pytest.fixture(scope="module")
def fitted(folder, shop):
    args = [
        "fit",
        str(shop),
        "--task",
        "churn",
        "--label",
        "gone",
        "--out",
        str(folder / "run"),
        "--budget",
        "6",
        *QUICK,
    ]
    done = CliRunner().invoke(app, args)
    assert done.exit_code == 0, done.output
    return folder / "run"


@pytest.fixture
def grown(shop, tmp_path):
    """The shop later: two more customers, more orders and visits after the last prediction."""
    path = tmp_path / "later.db"
    shutil.copy(shop, path)
    with sqlite3.connect(path) as connection:
        connection.executemany("INSERT INTO customers VALUES (?, ?)", [(100, "A"), (101, "C")])
        rows = [(1000 + i, 100 if i % 2 else i % 30, day(50 + i % 5), 2.0, 1) for i in range(40)]
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", rows)
        connection.executemany(
            "INSERT INTO visits VALUES (?, ?, ?, ?)", [(1000 + i, i % 30, day(52), 1.0) for i in range(20)]
        )
    connection.close()
    return path


def table(text):
    head, *rows = [line.split(",") for line in text.strip().splitlines()]
    return {row[0]: dict(zip(head, row, strict=True)) for row in rows}


def predicted(*args):
    done = CliRunner().invoke(app, ["predict", *map(str, args)])
    assert done.exit_code == 0, done.output
    return table(done.stdout)


def close(one, other):
    return all(a == b or abs(float(a) - float(b)) < 2e-6 for a, b in zip(one.values(), other.values(), strict=True))


def test_old_predictions_stay_where_their_history_does(fitted, grown):
    before, after = predicted(fitted), predicted(fitted, "--data", grown)
    assert before.keys() == after.keys()
    assert all(close(before[i], after[i]) for i in before)


def test_every_entity_is_predicted_at_a_moment(fitted, grown):
    found = predicted(fitted, "--data", grown, "--at", day(60))
    assert len(found) == 32
    assert f"101/{day(60)}" in found
    assert all(i == "/".join([*row.values()][1:3]) for i, row in found.items())
    assert all(sum(map(float, [*row.values()][4:])) == pytest.approx(1, abs=1e-5) for row in found.values())
    quiet = predicted(fitted, "--at", day(60))
    assert len(quiet) == 30
    assert not all(close(found[i], quiet[i]) for i in quiet)


def test_a_moment_in_the_past_does_not_see_what_came_later(fitted, grown):
    one, other = (predicted(fitted, *data, "--at", day(33)) for data in ((), ("--data", grown)))
    assert all(close(one[i], other[i]) for i in one)


def test_rows_of_newer_data_that_refer_to_nobody_can_be_left_out(fitted, grown):
    with sqlite3.connect(grown) as connection:
        connection.execute("UPDATE orders SET customer_id = 999 WHERE order_id = 1000")
    connection.close()
    args = ["predict", str(fitted), "--data", str(grown), "--at", day(60)]
    with pytest.raises(DiffmgError, match=r"such as \[999\]; mend them, or leave them out with on_unknown = 'drop'"):
        Model.load(fitted).on_newer(str(grown), at=day(60))
    done = CliRunner().invoke(app, [*args, "--on-unknown", "drop"])
    assert done.exit_code == 0, done.output
    assert "1 rows with unknown customers ids left out, such as [999]" in " ".join(done.stderr.split())
    assert len(table(done.stdout)) == 32
    other = CliRunner().invoke(app, ["predict", str(fitted), "--on-unknown", "drop"])
    assert "--on-unknown is for newer data" in str(other.exception)


def test_where_the_history_of_a_moment_ends_is_said(fitted, grown):
    args = ["predict", str(fitted), "--data", str(grown), "--at", "2035-01-01"]
    done = CliRunner().invoke(app, args)
    assert "history before 2035-01-01 ends " in done.stderr
    assert day(54) in done.stderr
    with pytest.raises(DiffmgError, match=r"rows must be dated before .* but got '1990-01-01', and the first: 20"):
        Model.load(fitted).on_newer(str(grown), at="1990-01-01")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("ALTER TABLE orders RENAME COLUMN amount TO total", "column 'amount' of 'orders' is gone"),
        ("DROP TABLE visits", "table 'visits' is gone"),
    ],
)
def test_a_changed_schema_is_refused_with_a_list(fitted, grown, change, words):
    with sqlite3.connect(grown) as connection:
        connection.execute(change)
    connection.close()
    with pytest.raises(DiffmgError, match=f"newer data must have the tables and columns .*{words}"):
        Model.load(fitted).on_newer(str(grown))


def test_a_table_that_lost_all_its_rows_keeps_its_relations(fitted, grown):
    whole = Model.load(fitted).on_newer(str(grown), at=day(56))[0].answers()
    with sqlite3.connect(grown) as connection:
        connection.execute("DELETE FROM visits")
    connection.close()
    newer, wanted = Model.load(fitted).on_newer(str(grown), at=day(56))
    assert newer.problem.graph.num_nodes["visits"] == 0
    assert len(newer.answers(wanted)["class"]) == 32 < len(whole["class"])


def test_only_tasks_with_moments_have_newer_data():
    plan = make_plan(open_problem("academic:120").source, "features", settings={"max_epochs": 2, "dim": 8})
    _, model = run(plan, open_problem("academic:120"), InMemory())
    with pytest.raises(DiffmgError, match="newer data and a moment are for a task of predictions with moments"):
        model.on_newer(at="2024-01-01")


def test_learned_vectors_go_with_the_ids_and_new_ones_get_the_mean(shop, grown):
    with sqlite3.connect(grown) as connection:  # customers without features have learned vectors
        connection.execute("INSERT INTO customers VALUES (-5, 'A')")
    connection.close()
    problem = open_problem(shop_source(shop))
    relation = problem.graph.schema.relation("entity")
    from diffmg.core import IDENTITY, Link, MetaGraph

    metagraph = MetaGraph.of("predictions", {Link(1, 0): (relation, IDENTITY)})
    chosen = Settings(max_epochs=3, dim=8, vectors=True)
    plan = make_plan(problem.source, Given((metagraph,)), settings=chosen)
    _, model = run(plan, problem, InMemory())
    newer, _ = model.on_newer(str(grown), at=day(60))
    name = next(n for n in model.weights if "vectors" in n and n.endswith("weight"))
    old, new = model.weights[name], newer.weights[name]
    ids = newer.problem.graph.ids_of("customers").tolist()
    assert len(new) == len(old) + 3
    for place, i in enumerate(ids):
        wanted = old.mean(dim=0) if i in (-5, 100, 101) else old[model.ids["customers"].tolist().index(i)]
        np.testing.assert_allclose(new[place], wanted, atol=1e-6)


def test_predictions_at_a_moment_are_explained(fitted, grown):
    """Of the single model, which has a meta graph: also a customer that was not there when it was fitted."""
    model, wanted = Model.load(fitted / "single.safetensors").on_newer(str(grown), at=day(56))
    chosen = [id_ for id_ in wanted if str(id_).startswith(("100", "3"))][:3]
    predicted = model.answers(chosen)["class"].tolist()
    found = model.explain(chosen)
    assert [e.id for e in found] == [str(id_) for id_ in chosen]
    for words, each in zip(predicted, found, strict=True):
        assert each.answer.startswith(f"{words} (p = ")
        assert sum(c.share for c in each.contributions) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_an_entity_names_its_prediction_at_the_moment(fitted, command):
    args = [command, str(fitted / "single.safetensors"), "--at", day(60), "--json"]
    one, other = (CliRunner().invoke(app, [*args, "--id", name]) for name in ("7", f"7/{day(60)}"))
    assert one.exit_code == other.exit_code == 0, one.output
    assert one.stdout == other.stdout
    assert isinstance(CliRunner().invoke(app, [*args, "--id", "777"]).exception, DiffmgError)


@pytest.mark.parametrize("later", ["status_code = status_code % 3", "status_code = NULL"])
def test_numbers_that_look_like_codes_later_or_are_gone_are_numbers_still(shop, tmp_path, later):
    """The kinds of columns are those that the model was fitted with, whatever the newer values look like."""
    early, newer = (Path(shutil.copy(shop, tmp_path / name)) for name in ("early.db", "newer.db"))
    for path, change in ((early, "status_code = order_id"), (newer, later)):
        with sqlite3.connect(path) as connection:
            connection.execute(f"UPDATE orders SET {change}")
        connection.close()
    problem = open_problem(shop_source(early))
    plan = make_plan(problem.source, "mlp", settings={"max_epochs": 2, "dim": 8})
    _, model = run(plan, problem, InMemory())
    found, wanted = model.on_newer(str(newer), at=day(60))
    assert "orders by customer_id: mean status_code" in str(problem.graph.encoders["predictions"])
    assert len(found.answers(wanted)["class"]) == 30
