"""A model stays true: the same data in any order give the same answers, other data are refused with the difference."""

from __future__ import annotations

import csv
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from diffmg import DiffmgError, HeteroGraph, Model, NodeClassification, Problem, Source, make_plan, open_problem, run
from diffmg.core.method import MethodSpec
from diffmg.runs.folder import RunFolder
from diffmg.runs.tensors import read_tensors, write_tensors

QUICK = {"dim": 8, "max_epochs": 4}
TOML = """
[nodes.film]
file = "films.csv"
[nodes.actor]
file = "actors.csv"
[nodes.user]
[relations.plays]
file = "plays.csv"
source = ["actor", "actor"]
target = ["film", "film"]
weight = "minutes"
[relations.rated]
file = "ratings.csv"
source = ["user", "user"]
target = ["film", "film"]
[task]
"""
TASKS = {
    "classification": 'target = "film"\nlabel = "genre"\n',
    "recommendation": 'relation = "rated"\nrating = "stars"\n',
}
FILES = ("films.csv", "actors.csv", "plays.csv", "ratings.csv")


def write(path: Path, head: list[str], rows: list[tuple]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])


@pytest.fixture
def films(tmp_path: Path) -> Path:
    """Films with numbers, categories and gaps; actors; users that only their ratings name; edges given twice."""
    rng = random.Random(0)
    folder = tmp_path / "films"
    folder.mkdir()
    genres, names = ("drama", "comedy", "action"), [f"f{n:02d}" for n in rng.sample(range(60), 60)]
    films = [(f, genres[i % 3], rng.choice(["us", "fr", ""]), rng.choice([1.5, 2.25, ""])) for i, f in enumerate(names)]
    write(folder / "films.csv", ["film", "genre", "country", "length"], films)
    write(folder / "actors.csv", ["actor", "age"], [(f"a{n}", rng.randrange(20, 80)) for n in range(20)])
    plays = [(f"a{rng.randrange(20)}", rng.choice(names), rng.random()) for _ in range(200)]
    write(folder / "plays.csv", ["actor", "film", "minutes"], [*plays, *plays[:20]])
    rated = [(f"u{rng.randrange(25)}", rng.choice(names), rng.randrange(1, 6)) for _ in range(500)]
    write(folder / "ratings.csv", ["user", "film", "stars"], rated)
    for task, text in TASKS.items():
        (folder / f"{task}.toml").write_text(TOML + text)
    return folder


def fit(source: Source, folder: Path, method: str = "diffmg") -> Model:
    options = {"epochs": 2, "search_seeds": 1} if method == "diffmg" else {}
    plan = make_plan(source, method, options, QUICK, device="cpu")
    return run(plan, open_problem(source), RunFolder.create(folder))[1]


def shuffle(path: Path, seed: int) -> None:
    head, *rows = path.read_text(encoding="utf-8").splitlines()
    random.Random(seed).shuffle(rows)
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")


@pytest.mark.parametrize("method", ["diffmg", "hgt"])
@pytest.mark.parametrize("task", TASKS)
def test_any_order_of_rows_gives_the_same_answers(task: str, method: str, films: Path, tmp_path: Path) -> None:
    source = Source(str(films / f"{task}.toml"))
    model = fit(source, tmp_path / "run", method)
    answers, scores = model.answers().to_csv(), model.scores("test")
    for seed, name in enumerate(FILES):
        shuffle(films / name, seed)
        again = Model.load(tmp_path / "run")
        assert again.answers().to_csv() == answers, name
        assert again.scores("test") == scores
    assert fit(source, tmp_path / "anew", method).answers().to_csv() == answers, "and fitting anew gives the same model"


def append(name: str, line: str) -> Callable[[Path], None]:
    def change(films: Path) -> None:
        with (films / name).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    return change


def replace_in(name: str, old: str, new: str, count: int = 1) -> Callable[[Path], None]:
    def change(films: Path) -> None:
        text = (films / name).read_text(encoding="utf-8")
        assert old in text
        (films / name).write_text(text.replace(old, new, count), encoding="utf-8")

    return change


CHANGES = {
    "a row added": (append("films.csv", "f99,drama,us,1.5"), "1 ids of film are new, such as ['f99']"),
    "a row removed": (lambda films: drop_last(films / "actors.csv"), "on_unknown|ids of actor are gone"),
    "an edge added": (append("ratings.csv", "u1,f01,5"), "edges of user -rated-> film"),
    "a weight changed": (replace_in("plays.csv", "0.", "0.9"), "edges of actor -plays-> film: "),
    "a value changed": (replace_in("actors.csv", "a3,", "a3,1"), "features of actor"),
    "a class renamed": (replace_in("films.csv", "drama", "play", 99), "classes: was 'action, comedy, drama'"),
    "a label changed": (replace_in("films.csv", "comedy", "drama"), "labels: 60 labels, but other content"),
    "another split": (replace_in("classification.toml", 'label = "genre"', 'label = "genre"\nseed = 5'), "split, test"),
    "another metric": (
        replace_in("classification.toml", 'label = "genre"', 'label = "genre"\nmetric = "accuracy"'),
        "metric: was 'macro_f1', is 'accuracy'",
    ),
}  # fmt: skip


def drop_last(path: Path) -> None:
    path.write_text("\n".join(path.read_text(encoding="utf-8").splitlines()[:-1]) + "\n", encoding="utf-8")


@pytest.mark.parametrize("change", CHANGES)
def test_changed_data_are_refused_with_the_difference(change: str, films: Path, tmp_path: Path) -> None:
    fit(Source(str(films / "classification.toml")), tmp_path / "run", "mlp")
    alter, expected = CHANGES[change]
    alter(films)
    for use in (Model.answers, Model.scores):
        with pytest.raises(DiffmgError) as error:
            use(Model.load(tmp_path / "run"))
        assert any(words in str(error.value) for words in expected.split("|")), str(error.value)


def database(path: Path, order: int) -> None:
    """Customers with orders, rows inserted in some order."""
    rng = random.Random(1)
    customers = [(f"c{n}", rng.choice(["red", "blue"]), rng.randrange(90), n % 2) for n in range(40)]
    orders = [(n, f"c{rng.randrange(40)}", rng.random()) for n in range(120)]
    for rows in (customers, orders):
        random.Random(order).shuffle(rows)
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE customers (id TEXT PRIMARY KEY, colour TEXT, age INTEGER, vip INTEGER);"
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT REFERENCES customers, price REAL);"
        )
        connection.executemany("INSERT INTO customers VALUES (?, ?, ?, ?)", customers)
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?)", orders)
    connection.close()


def test_any_order_of_rows_of_a_database_gives_the_same_answers(tmp_path: Path) -> None:
    answers = set()
    for order in range(3):
        path = tmp_path / "shop.db"
        path.unlink(missing_ok=True)
        database(path, order)
        if order == 0:
            fit(Source(str(path), target="customers.vip"), tmp_path / "run")
        answers.add(Model.load(tmp_path / "run").answers().to_csv())
    assert len(answers) == 1
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE customers SET vip = 1 - vip WHERE id = 'c3'")
    connection.close()
    with pytest.raises(DiffmgError, match="labels"):
        Model.load(tmp_path / "run").answers()


def network(order: np.ndarray) -> Problem:
    """Nodes in some order, with ids; cities have a learned vector each."""
    rng = np.random.default_rng(0)
    place = np.argsort(order)
    lives = np.stack([rng.integers(0, 5, 30), np.arange(30)])
    graph = HeteroGraph.build(
        {"person": 30, "city": 5},
        {("city", "home_of", "person"): np.stack([lives[0], place[lives[1]]])},
        {"person": rng.standard_normal((30, 3), dtype=np.float32)[order]},
        ids={"person": np.array([f"p{n}" for n in range(30)])[order], "city": list("abcde")},
        reverse=True,
    )
    labels = np.arange(30) % 2
    parts = {"train": range(10), "val": range(10, 20), "test": range(20, 30)}
    return Problem(
        graph, NodeClassification.build("person", labels[order], **{p: place[list(r)] for p, r in parts.items()})
    )


@pytest.mark.parametrize("method", ["everything", "gcn", "metapath2vec"])
def test_weights_belong_to_ids_not_to_positions(method: str, tmp_path: Path) -> None:
    straight = network(np.arange(30))
    plan = make_plan(Source(), method, None, QUICK, device="cpu")
    _, model = run(plan, straight, RunFolder.create(tmp_path / "run"))
    shuffled = network(np.random.default_rng(1).permutation(30))
    moved = Model.load(tmp_path / "run", shuffled)
    ids = straight.graph.ids_of("person")
    assert moved.answers(ids).to_csv() == model.answers(ids).to_csv()
    assert moved.scores("test") == model.scores("test")


def test_a_model_needs_its_data(tmp_path: Path) -> None:
    plan = make_plan(Source(), "mlp", None, QUICK, device="cpu")
    run(plan, network(np.arange(30)), RunFolder.create(tmp_path / "run"))
    with pytest.raises(DiffmgError, match="fitted in Python must be given"):
        Model.load(tmp_path / "run").answers()


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    """A flipped bit in a weight is no other prediction."""
    plan = make_plan(Source(), "mlp", None, QUICK, device="cpu")
    run(plan, network(np.arange(30)), RunFolder.create(tmp_path / "run"))
    file = tmp_path / "run" / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)
    with pytest.raises(DiffmgError, match="changed or damaged"):
        Model.load(tmp_path / "run")


DAYS = ["2020-01-02", "2020-01-01", "1999-12-31"]
IDS = [np.array([3, 1, 2]), np.array(["b", "a", "é/\n"]), np.array([1.5, 0.5, 2.0]), np.array(DAYS, "M8[us]")]


@pytest.mark.parametrize("ids", IDS, ids=lambda ids: str(ids.dtype))
def test_ids_of_any_kind_are_kept(ids: np.ndarray, tmp_path: Path) -> None:
    graph = HeteroGraph.build({"a": 3}, {("a", "knows", "a"): [[0, 1], [1, 2]]}, {"a": np.eye(3)}, ids={"a": ids})
    task = NodeClassification.build("a", [0, 1, 0], train=[0, 1], val=[2])
    plan = make_plan(Source(), "mlp", None, QUICK, device="cpu")
    _, model = run(plan, Problem(graph, task), RunFolder.create(tmp_path / "run"))
    again = Model.load(tmp_path / "run", Problem(graph, task))
    assert again.ids["a"].tolist() == ids.tolist()
    assert torch.equal(again.outputs[0], model.outputs[0])


def test_a_model_of_another_format_is_refused_in_one_sentence(tmp_path: Path) -> None:
    plan = make_plan(Source(), "mlp", None, QUICK, device="cpu")
    run(plan, network(np.arange(30)), RunFolder.create(tmp_path / "run"))
    tensors, values = read_tensors(tmp_path / "run" / "model.safetensors")
    write_tensors(tmp_path / "new.safetensors", tensors, values | {"format": 99})
    with pytest.raises(DiffmgError, match="must have format 1, but got 99; update diffmg"):
        Model.load(tmp_path / "new.safetensors")


def test_what_a_model_is_fits_in_a_line() -> None:
    plan = make_plan(Source(), "mlp", None, QUICK, device="cpu")
    _, model = run(plan, network(np.arange(30)))
    assert repr(model).startswith("Model(mlp, classification of person, ")
    assert len(repr(model).splitlines()) == 1
    assert model.recipe.method == MethodSpec("mlp")


@pytest.mark.parametrize("text", [b"[]", b"\xff", b"3", b'["U"]', b'["no type", ["a"]]', b"[" * 999])
def test_ids_of_another_form_are_refused(text: bytes, tmp_path: Path) -> None:
    plan = make_plan(Source(), "mlp", None, QUICK, device="cpu")
    run(plan, network(np.arange(30)), RunFolder.create(tmp_path / "run"))
    tensors, values = read_tensors(tmp_path / "run" / "model.safetensors")
    tensors["ids.person"] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
    write_tensors(tmp_path / "m.safetensors", tensors, values)
    with pytest.raises(DiffmgError, match="the ids of a model must"):
        Model.load(tmp_path / "m.safetensors")


def test_weights_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    """They would print `nan` as an answer."""
    plan = make_plan(Source(), "mlp", None, QUICK, device="cpu")
    run(plan, network(np.arange(30)), RunFolder.create(tmp_path / "run"))
    tensors, values = read_tensors(tmp_path / "run" / "model.safetensors")
    name = next(name for name in tensors if name.startswith("weights."))
    tensors[name].view(-1)[0] = float("nan")
    write_tensors(tmp_path / "m.safetensors", tensors, values)
    with pytest.raises(DiffmgError, match=r"weights must be finite numbers, but got others in .*fit again"):
        Model.load(tmp_path / "m.safetensors")
