"""What the search for leaks finds reaches the person: on the command line, in the run folder, in Python."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from bank import CUSTOMERS, Described, Tables, bank
from diffmg import MetaGraphClassifier
from diffmg.cli import app
from diffmg.core.plan import Source
from diffmg.leaks.finding import LeakWarning
from diffmg.runs.guard import label_names

SETTINGS = {"max_epochs": 30, "dim": 8}


def segment(tables: Tables, described: Described, left: np.ndarray, rng: np.random.Generator) -> None:
    tables["customers"]["segment"] = np.where(left, "B7", "A2")


def written(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    left = rng.random(CUSTOMERS) < 0.4
    codes = [f"c{n}" for n in rng.permutation(CUSTOMERS)]
    rows = [f"{c},{rng.normal():.3f},{'B7' if gone else 'A2'},{int(gone)}" for c, gone in zip(codes, left, strict=True)]
    (folder / "people.csv").write_text("\n".join(["id,age,segment,left", *rows]) + "\n")
    met = rng.choice(codes, (600, 2))
    (folder / "met.csv").write_text("\n".join(["one,other", *(",".join(pair) for pair in met)]) + "\n")
    (folder / "a.toml").write_text(
        '[nodes.person]\nfile = "people.csv"\n[relations.met]\nfile = "met.csv"\nsource = ["person", "one"]\n'
        'target = ["person", "other"]\n[task]\ntarget = "person"\nlabel = "left"\n'
    )
    return folder / "a.toml"


def test_the_command_line_the_run_and_its_page_tell_of_leaks_and_perfect_scores(tmp_path: Path) -> None:
    given = [str(written(tmp_path)), "--method", "mlp", "-s", "max_epochs=60", "-s", "lr=0.05", "-s", "dim=8"]
    done = CliRunner().invoke(app, ["fit", *given, "--device", "cpu", "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    assert "leak: person.segment alone is right for 100.0%" in done.output
    assert "perfect, so doubtful: validation macro_f1" in done.output
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert [note for note in run["notes"] if note.startswith("leak: person.segment")]
    assert "person.age: number" in run["notes"]
    page = (tmp_path / "run" / "report.html").read_text()
    assert "leak: person.segment alone" in page
    assert "perfect, so doubtful" in page
    scored = CliRunner().invoke(app, ["score", str(tmp_path / "run")])
    assert "perfect, so doubtful: test macro_f1" in scored.output


def test_estimators_warn_and_keep_notes() -> None:
    model = MetaGraphClassifier(method="mlp", settings=SETTINGS | {"lr": 0.05, "max_epochs": 80}, device="cpu")
    with pytest.warns(LeakWarning, match=r"leak: customer.segment alone"):
        model.fit(bank(segment))
    assert [note for note in model.notes_ if note.startswith("leak: ")]
    assert model.score() == 1
    assert model.notes_[-1].startswith("perfect, so doubtful: ")
    assert "perfect, so doubtful" in repr(model.run_)


def test_an_honest_network_has_neither() -> None:
    model = MetaGraphClassifier(method="mlp", settings=SETTINGS, device="cpu").fit(bank())
    assert not [note for note in model.notes_ if note.startswith(("leak", "perfect"))]
    assert "customer.age: number" in model.notes_


def test_the_name_of_the_label_is_found_where_the_data_are(tmp_path: Path) -> None:
    assert label_names(Source("shop.db", target="customers.churned")) == ("churned",)
    assert label_names(Source(str(written(tmp_path)))) == ("left",)
    assert label_names(Source("academic")) == label_names(Source()) == label_names(Source("gone.toml")) == ()
