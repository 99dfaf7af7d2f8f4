"""A task, a method and a data set of a package outside, found by their entry points, without a line changed inside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import diffmg

SOURCE = Path(__file__).parent / "outside"
KIT = """
from diffmg import METHODS, TASKS, load_dataset
from diffmg.testing import CHECKS, problems
from diffmg_outside.regression import NumbersRegressor

own = METHODS.get("mean_of_neighbours")()
for problem in (problems()["classification"], load_dataset("houses")):
    for check in CHECKS:
        check(own, problem)
for name in ("gcn", "everything"):
    for check in CHECKS:
        check(METHODS.get(name)(), load_dataset("houses"))
settings = {"max_epochs": 60, "lr": 0.1}
model = NumbersRegressor(method="mean_of_neighbours", settings=settings).fit(load_dataset("houses"))
history = model.run_.trained[0]
assert history.best_epoch > 5, "less error is better, so training must go on"
assert model.score() < 1.5, model.score()
print(sorted(TASKS.names()), round(model.score(), 3))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the package is installed, beside the diffmg that is tested."""
    place = tmp_path_factory.mktemp("outside")
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(place), str(SOURCE)]
    subprocess.run(command, check=True, capture_output=True)
    tested = str(Path(diffmg.__file__).parents[1])
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(place), tested]), "COLUMNS": "200"}


COMMANDS = """
import contextlib, io, json, sys
from diffmg.cli import main

def call(*words):
    sys.argv = ["diffmg", *words]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            main()
        except SystemExit as end:
            assert not end.code, (words, end.code)
    return out.getvalue()

short = ["--method", "mean_of_neighbours", "-smax_epochs=30", "-slr=0.1"]
listed = call("list")
call("fit", "houses", "--out", "run", *short)
call("export", "houses", "tables")
call("fit", "tables/network.toml", "--out", "again", *short)
found = {"list": listed, "score": call("score", "run"), "predict": call("predict", "run")}
found["again"] = call("predict", "again")
json.dump(found, open("found.json", "w"))
"""


@pytest.mark.slow
def test_they_are_listed_fit_predict_and_go_through_tables(installed: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", COMMANDS]
    done = subprocess.run(command, env=installed, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    for name in ("mean_of_neighbours", "numbers", "houses", "NumbersRegressor"):
        assert name in found["list"]
    assert "mae" in found["score"]
    head, *rows = found["predict"].splitlines()
    assert (head, len(rows)) == ("house,number", 200)
    answers = dict(line.split(",") for line in found["again"].splitlines()[1:])
    for row in rows:
        house, number = row.split(",")
        assert float(answers[house]) == pytest.approx(float(number), abs=0.05)


@pytest.mark.slow
def test_they_pass_the_kit(installed: dict[str, str]) -> None:
    done = subprocess.run([sys.executable, "-c", KIT], env=installed, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("['classification', 'numbers', 'ranking', 'recommendation', 'regression']")
