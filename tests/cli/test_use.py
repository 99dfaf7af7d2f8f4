from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from diffmg import datasets as diffmg_datasets
from diffmg.datasets import load_dataset
from diffmg.estimators import MetaGraphClassifier, MetaGraphRecommender
from diffmg.tasks import NodeClassification, Recommendation
from diffmg.tasks.problem import Problem
from run_files import diffmg, edit, fit, read

PROBABILITIES = ["p(field 0)", "p(field 1)", "p(field 2)", "p(field 3)"]


def table(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def refused(*arguments: object) -> str:
    """The message of a command that is bad input."""
    answer = diffmg(*arguments)
    assert answer.code == 2
    assert answer.out == ""
    return answer.err


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A run on a network that was given in Python."""
    problem = load_dataset("academic:120")
    settings = {"dim": 8, "max_epochs": 1}
    model = MetaGraphClassifier(strategy="features", search_seeds=1, settings=settings)
    model.fit(problem.graph, problem.task).save(tmp_path / "own")
    return tmp_path / "own"


def test_score_shows_the_test_scores_of_the_kept_model(classified: Path) -> None:
    run = read(classified)
    shown = diffmg("score", classified)
    assert shown.code == 0
    for name, value in run["trained"][run["kept"]]["test"].items():
        assert any(name in line and f"{value:.4f}" in line for line in shown.out.splitlines())


def test_score_shows_the_scores_of_a_recommendation(recommended: Path) -> None:
    shown = diffmg("score", recommended).out
    assert all(name in shown for name in ("auc", "average_precision", "recall@20", "ndcg@20"))


def test_predict_writes_a_row_per_node(classified: Path, classification: Problem, tmp_path: Path) -> None:
    answer = diffmg("predict", classified, "--out", tmp_path / "p.csv")
    assert answer.out == f"written to {tmp_path / 'p.csv'}\n"
    head, *rows = table((tmp_path / "p.csv").read_text())
    assert head == ["author", "class", *PROBABILITIES]
    assert [row[0] for row in rows] == [str(i) for i in range(classification.graph.num_nodes["author"])]


def test_predict_writes_what_the_model_says(classified: Path, classification: Problem) -> None:
    task = classification.task
    assert isinstance(task, NodeClassification)
    model = MetaGraphClassifier.load(classified, classification.graph, task)
    _, *rows = table(diffmg("predict", classified).out)
    assert [row[1] for row in rows] == model.predict().tolist()
    written = np.array([row[2:] for row in rows], dtype=float)
    assert np.allclose(written, model.predict_proba(), atol=1e-6)


def test_predict_answers_for_given_nodes_in_their_order(classified: Path) -> None:
    everything = table(diffmg("predict", classified).out)
    assert table(diffmg("predict", classified, "--id", "9", "--id", "2").out) == [
        everything[0],
        everything[10],
        everything[3],
    ]


def test_predict_writes_all_labels_of_a_node(
    classification: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = classification.task
    assert isinstance(task, NodeClassification)
    one_hot = torch.nn.functional.one_hot(task.labels, 4)
    several = replace(task, labels=one_hot | one_hot.roll(1, dims=1))
    monkeypatch.setattr(diffmg_datasets, "load_dataset", lambda *_, **__: Problem(classification.graph, several))
    path = fit(tmp_path / "run")
    _, *rows = table(diffmg("predict", path).out)
    for _, classes, *probabilities in rows:
        likely = [f"field {i}" for i, p in enumerate(probabilities) if float(p) > 0.5]
        assert classes == " ".join(likely)


@pytest.mark.parametrize("node", ["9999", "-1", "abc", "1.5", "99999999999999999999999"])
def test_predict_names_an_unknown_node(node: str, classified: Path) -> None:
    assert "every id must be of a 'author' node of the network, but got" in refused("predict", classified, "--id", node)


def test_the_name_of_a_file_is_shown_as_it_is(classified: Path, tmp_path: Path) -> None:
    path = tmp_path / "p[bold].csv"
    assert diffmg("predict", classified, "--out", path).out == f"written to {path}\n"


def test_predict_names_a_file_that_cannot_be_written(classified: Path) -> None:
    assert "could not write '/proc/p.csv'" in refused("predict", classified, "--out", "/proc/p.csv")


def test_recommend_writes_the_best_items_of_each_user(
    recommended: Path, recommendation: Problem, tmp_path: Path
) -> None:
    task = recommendation.task
    assert isinstance(task, Recommendation)
    model = MetaGraphRecommender.load(recommended, recommendation.graph, task)
    items, scores = model.recommend(k=3)
    assert diffmg("recommend", recommended, "-k", 3, "--out", tmp_path / "r.csv").code == 0
    head, *rows = table((tmp_path / "r.csv").read_text())
    assert head == ["user", "rank", "item", "score"]
    assert [row[:3] for row in rows] == [
        [str(user), str(rank + 1), str(item)] for user, row in enumerate(items) for rank, item in enumerate(row)
    ]
    assert np.allclose([float(row[3]) for row in rows], scores.ravel(), atol=1e-5)


def test_recommend_answers_for_given_users_in_their_order(recommended: Path) -> None:
    _, *rows = table(diffmg("recommend", recommended, "--id", 4, "--id", 1, "-k", 2).out)
    assert [(row[0], row[1]) for row in rows] == [("4", "1"), ("4", "2"), ("1", "1"), ("1", "2")]


def test_recommend_leaves_out_seen_items_unless_told_otherwise(recommended: Path, recommendation: Problem) -> None:
    task = recommendation.task
    assert isinstance(task, Recommendation)
    seen = {str(i) for i in task.known()[0].indices}
    new, everything = (
        {row[2] for row in table(diffmg("recommend", recommended, "--id", 0, "-k", 9999, *more).out)[1:]}
        for more in ([], ["--no-exclude-seen"])
    )
    assert seen
    assert not seen & new
    assert seen | new == everything == {str(i) for i in range(task.shape[1])}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-k", "0"], "`k >= 1` must hold, but got k=0"),
        (["--id", "9999"], "every id must be of a 'user' node of the network, but got [9999]"),
    ],
    ids=str,
)
def test_recommend_names_bad_input(arguments: list[str], words: str, recommended: Path) -> None:
    assert words in refused("recommend", recommended, *arguments)


def test_each_command_is_for_its_kind_of_task(classified: Path, recommended: Path) -> None:
    words = refused("predict", recommended)
    assert "`predict` is for classification, but got a run of a recommendation" in words
    assert "use `recommend`" in words
    words = refused("recommend", classified)
    assert "`recommend` is for recommendation, but got a run of a classification" in words
    assert "use `predict`" in words


@pytest.mark.parametrize("command", ["score", "predict", "recommend"])
def test_a_folder_that_is_no_run_is_named(command: str, tmp_path: Path) -> None:
    assert f"a run folder must exist, but got '{tmp_path / 'gone'}'" in refused(command, tmp_path / "gone")
    assert "the run.json of a run folder must exist" in refused(command, tmp_path)
    (tmp_path / "run.json").write_text('{"format": 99}')
    assert "a run file must have format 1, but got 99" in refused(command, tmp_path)
    (tmp_path / "run.json").write_text('{"format": ')
    assert "the run.json of a run folder must be JSON" in refused(command, tmp_path)


@pytest.mark.parametrize("plan", [{}, [], {"data": "academic:120", "data_seed": 0, "train": 3}], ids=str)
def test_a_run_without_its_plan_is_bad_input_and_no_fault(plan: object, copy: Path) -> None:
    edit(copy, plan=plan)
    refused("predict", copy)


def test_a_run_of_an_unknown_data_set_is_named(copy: Path) -> None:
    edit(copy, plan=read(copy)["plan"] | {"data": "acadmic"})
    assert "unknown data set 'acadmic'; did you mean 'academic'?" in refused("predict", copy)


def test_a_damaged_model_is_named(copy: Path) -> None:
    model = copy / "model.safetensors"
    model.write_bytes(model.read_bytes()[:-100])
    assert f"a file of tensors must be whole, but got '{model}'" in refused("predict", copy)


def test_a_missing_model_is_named(copy: Path) -> None:
    (copy / "model.safetensors").unlink()
    assert f"a file of tensors must be whole, but got '{copy / 'model.safetensors'}'" in refused("predict", copy)


def test_a_model_of_another_run_is_named(copy: Path, recommended: Path) -> None:
    (copy / "model.safetensors").write_bytes((recommended / "model.safetensors").read_bytes())
    assert "must fit the network it is used on, but got" in refused("predict", copy)


@pytest.mark.parametrize("command", ["score", "predict", "recommend"])
def test_a_run_on_a_network_given_in_python_says_where_to_load_it(command: str, own: Path) -> None:
    assert "the run's network must be a data set, but got one given in Python" in refused(command, own)


def test_data_that_is_gone_is_missing(copy: Path, tmp_path: Path) -> None:
    edit(copy, plan=read(copy)["plan"] | {"data": "dblp"})
    answer = diffmg("predict", copy, "--data-root", tmp_path)
    assert answer.code == 3
    assert "the file 'DBLP/graph.npz' must be under --data-root" in answer.err


def test_a_run_on_other_made_data_is_used_on_that_data(tmp_path: Path) -> None:
    arguments = ("--strategy", "features", "--search-seeds", 1, "-s", "max_epochs=2", "-s", "dim=8")
    path = fit(tmp_path / "run", "academic:120", *arguments, "--data-seed", 7)
    run = read(path)
    assert f"{run['trained'][0]['test']['macro_f1']:.4f}" in diffmg("score", path).out
