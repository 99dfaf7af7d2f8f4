"""Every registered method on every task it does: fitted, scored, asked, shown, saved and loaded by every route.

Fitted from the command line on tables named by a relative path, then used from another directory and from Python; saved
from Python, then used from the command line. All routes give the same answers.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diffmg import (
    MetaGraphClassifier,
    MetaGraphRecommender,
    Model,
    NodeRegression,
    NodeRegressor,
    Problem,
    export_tables,
    load_dataset,
    read_problem,
    read_run,
)
from diffmg.core.files import write_json
from diffmg.core.method import METHODS
from diffmg.core.run import metagraphs_to_dict
from diffmg.core.task import TASKS
from diffmg.datasets import DATASETS
from run_files import diffmg

DATA = {"classification": "academic:120", "regression": "academic:120"}
DATA |= {"ranking": "films:160", "recommendation": "shop:160"}
"""The network of each task; there is none with numbers, so they are made from classes."""
SHORT = {
    "epochs": 1, "search_seeds": 1, "depth": 2, "trials": 2, "population": 2, "generations": 1, "elite": 1,
    "walks": 1, "length": 4,
}  # fmt: skip
"""Options that end in no time, for the methods that have them."""
ESTIMATORS = {kind.__name__: kind for kind in (MetaGraphClassifier, MetaGraphRecommender, NodeRegressor)}


def problem_of(task: str) -> Problem:
    made = load_dataset(DATA[task])
    if task != "regression":
        return made
    own: Any = made.task
    noise = np.random.default_rng(0).normal(0, 0.5, (len(own.labels), 2))
    numbers = own.labels.numpy()[:, None] * [10, -3] + noise
    return Problem(made.graph, NodeRegression.build(own.target, numbers, **own.parts, names=("age", "rank")))


def towers(task: str) -> int:
    return len(load_dataset(DATA[task]).task.target_types)


CASES = [(name, task) for task in DATA for name, kind in METHODS.items() if towers(task) in kind.towers]
"""Without `ensemble`, which serves no number of towers by itself: it is fitted by `auto`."""


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built-in data as tables, and their planted meta graphs as files."""
    folder = tmp_path_factory.mktemp("tables")
    for task, data in DATA.items():
        export_tables(problem_of(task), folder / task)
        planted = DATASETS.get(data.partition(":")[0]).planted
        write_json(folder / f"{task}.json", metagraphs_to_dict(planted))
    return folder


def call(*arguments: Any) -> str:
    answer = diffmg(*arguments)
    assert answer.code == 0, answer.err
    return answer.out


def how(name: str, task: str) -> list[str]:
    if name == "given":
        return ["--metagraph", f"{task}.json"]
    known = getattr(METHODS.get(name), "__dataclass_fields__", {})
    options = [f"-o{option}={value}" for option, value in SHORT.items() if option in known]
    return ["--method", name, *options, *(["--budget", "3"] if METHODS.get(name).races else [])]


def test_every_task_is_covered() -> None:
    assert set(DATA) == set(TASKS.names())
    assert {name for name, _ in CASES} == set(METHODS.names()) - {"ensemble"}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "task"), CASES, ids=lambda value: value)
def test_every_route_gives_the_same_answers(
    name: str, task: str, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, again, verb = tmp_path / "run", tmp_path / "again", TASKS.get(task).verb
    monkeypatch.chdir(tables)
    small = ["-sdim=8", "-smax_epochs=2", "--device", "cpu"]
    call("fit", f"{task}/network.toml", "--out", run, *small, *how(name, task))

    monkeypatch.chdir(tmp_path)
    answers = call(verb, run)
    scores = call("score", run)
    found = read_run(run)
    assert all(f"{value:.4f}" in scores for value in found.scores("test").values())
    assert call("report", run).startswith("written to")
    shown = diffmg("show", run)
    assert (shown.code == 0) == METHODS.get(name).has_metagraph == bool(found.metagraphs)

    model = Model.load(run)
    assert model.answers().to_csv() == answers
    assert model.scores("test") == dict(found.scores("test"))
    estimator = ESTIMATORS[TASKS.get(task).estimator].load(run)
    assert estimator.score() == found.scores("test")[found.metric]
    estimator.save(again)
    assert call(verb, again) == answers
    assert len(list(csv.reader(io.StringIO(answers)))) > 1


@pytest.mark.parametrize("task", DATA)
def test_python_does_what_the_command_line_does(task: str, tables: Path, tmp_path: Path) -> None:
    """The same data, method and seed give the same model, with defaults that stand in one place."""
    file = tables / task / "network.toml"
    call("fit", file, "--out", tmp_path / "run", "--method", "random", "-osearch_seeds=1", "-smax_epochs=3")
    settings = {"max_epochs": 3}
    kind = ESTIMATORS[TASKS.get(task).estimator]
    from diffmg.methods.search.random import RandomMetaGraph

    fitted = kind(method=RandomMetaGraph(search_seeds=1), settings=settings).fit(read_problem(file))
    assert fitted.run_.trained == read_run(tmp_path / "run").trained
    assert fitted.model_.answers().to_csv() == call(TASKS.get(task).verb, tmp_path / "run")
