from __future__ import annotations

import csv
import io
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from diffmg import datasets as diffmg_datasets
from diffmg.estimators import MetaGraphClassifier, MetaGraphRecommender
from diffmg.methods.search.features import FeaturesOnly
from diffmg.tables.export import export_tables
from diffmg.tasks import NodeClassification, Recommendation
from diffmg.tasks.problem import Problem
from run_files import diffmg, edit, fit, leave_out_an_edge, read, refused

PROBABILITIES = ["p(field 0)", "p(field 1)", "p(field 2)", "p(field 3)"]
FEATURES = ("--method", "features", "-s", "max_epochs=2", "-s", "dim=8")


def table(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def fitted(*data: object) -> MetaGraphClassifier:
    """A model that was fitted in Python."""
    return MetaGraphClassifier(method=FeaturesOnly(), settings={"dim": 8, "max_epochs": 1}).fit(*data)


@pytest.fixture(scope="module")
def bare(classification: Problem, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a network and a task that were given in Python; not to be changed."""
    path = tmp_path_factory.mktemp("use") / "bare"
    fitted(classification.graph, classification.task).save(path)
    return path


@pytest.fixture(scope="module")
def on_tables(exported: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run on tables, and what it predicts; not to be changed."""
    folder = tmp_path_factory.mktemp("use")
    data = shutil.copytree(exported, folder / "tables") / "network.toml"
    path = fit(folder / "run", str(data), *FEATURES)
    predicted = diffmg("predict", path).out
    shutil.rmtree(data.parent)
    return path, predicted


def test_score_shows_the_test_scores_of_the_kept_model(classified: Path) -> None:
    run = read(classified)
    shown = diffmg("score", classified)
    assert shown.code == 0
    assert run["scores"]["test"] == run["trained"][run["kept"]]["test"]
    for name, value in run["scores"]["test"].items():
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
    model = MetaGraphClassifier.load(classified, classification)
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
    assert "every id must be one of the 'author' nodes of the network" in refused("predict", classified, "--id", node)


def test_the_name_of_a_file_is_shown_as_it_is(classified: Path, tmp_path: Path) -> None:
    path = tmp_path / "p[bold].csv"
    assert diffmg("predict", classified, "--out", path).out == f"written to {path}\n"


def test_predict_names_a_file_that_cannot_be_written(classified: Path) -> None:
    assert "could not write '/proc/p.csv'" in refused("predict", classified, "--out", "/proc/p.csv")


def test_recommend_writes_the_best_items_of_each_user(
    recommended: Path, recommendation: Problem, tmp_path: Path
) -> None:
    model = MetaGraphRecommender.load(recommended, recommendation)
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
        (["--id", "9999"], "every id must be one of the 'user' nodes of the network, but got [9999]"),
    ],
    ids=str,
)
def test_recommend_names_bad_input(arguments: list[str], words: str, recommended: Path) -> None:
    assert words in refused("recommend", recommended, *arguments)


def test_each_command_is_for_its_kind_of_task(classified: Path, recommended: Path) -> None:
    words = refused("predict", recommended)
    assert f"`predict` is not for recommendation, but got such a run: '{recommended}'; use `recommend`" in words
    words = refused("recommend", classified)
    assert f"`recommend` is not for classification, but got such a run: '{classified}'; use `predict`" in words


@pytest.mark.parametrize("command", ["score", "predict", "recommend"])
def test_a_folder_that_is_no_run_is_named(command: str, tmp_path: Path) -> None:
    assert f"but got nothing at '{tmp_path / 'gone'}'" in refused(command, tmp_path / "gone")
    assert "the run.json of a run folder must exist" in refused(command, tmp_path)
    (tmp_path / "run.json").write_text('{"format": 99}')
    assert "must have format 2, but got 99" in refused(command, tmp_path)
    (tmp_path / "run.json").write_text('{"format": ')
    assert "the run.json of a run folder must be JSON" in refused(command, tmp_path)


@pytest.mark.parametrize("plan", [{}, [], {"method": {"name": "diffmg"}, "settings": 3}], ids=str)
def test_a_run_without_its_plan_is_bad_input_and_no_fault(plan: object, copy: Path) -> None:
    edit(copy, plan=plan)
    assert "plan" in refused("predict", copy)


def test_a_model_file_alone_will_do(classified: Path, tmp_path: Path) -> None:
    file = shutil.copy(classified / "model.safetensors", tmp_path / "mine.safetensors")
    assert diffmg("predict", file).out == diffmg("predict", classified).out


def test_a_model_that_is_damaged_or_of_another_run_is_named(copy: Path, recommended: Path) -> None:
    file = copy / "model.safetensors"
    whole = file.read_bytes()
    damaged = whole[:-1] + bytes([whole[-1] ^ 1])
    for content in (whole[:-100], damaged, (recommended / "model.safetensors").read_bytes()):
        file.write_bytes(content)
        words = refused("predict", copy)
        assert "must be as the run wrote it" in words
        assert f"but got '{file}'" in words
    file.unlink()
    assert f"but got nothing at '{file}'" in refused("predict", copy)


def test_a_file_that_is_no_model_is_named(copy: Path) -> None:
    file = copy / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    assert f"a file of tensors must be whole, but got '{file}'" in refused("predict", file)
    assert "must be whole, but got" in refused("predict", copy / "run.json")


def test_a_run_on_other_made_data_is_used_on_that_data(tmp_path: Path) -> None:
    path = fit(tmp_path / "run", "academic:120", *FEATURES, "--data-seed", 7)
    assert f"{read(path)['scores']['test']['macro_f1']:.4f}" in diffmg("score", path).out


def test_a_model_fitted_in_python_on_a_data_set_opens_its_data_by_itself(
    classification: Problem, tmp_path: Path
) -> None:
    model = fitted(classification)
    model.save(tmp_path / "run")
    _, *rows = table(diffmg("predict", tmp_path / "run").out)
    assert [row[1] for row in rows] == model.predict().tolist()
    assert f"{model.score():.4f}" in diffmg("score", tmp_path / "run").out


@pytest.mark.parametrize("command", ["score", "predict"])
def test_a_model_of_a_network_given_in_python_asks_for_its_data(command: str, bare: Path) -> None:
    words = refused(command, bare)
    assert "fitted in Python must be given" in words
    assert "--data" in words


def test_a_model_of_a_network_given_in_python_is_used_on_its_exported_tables(
    bare: Path, exported: Path, classification: Problem
) -> None:
    data = ("--data", exported / "network.toml")
    model = MetaGraphClassifier.load(bare, classification)
    _, *rows = table(diffmg("predict", bare, *data).out)
    assert [row[1] for row in rows] == model.predict().tolist()
    assert f"{model.score():.4f}" in diffmg("score", bare, *data).out


def test_a_recommender_of_a_network_given_in_python_is_used_on_its_exported_tables(
    recommendation: Problem, tmp_path: Path
) -> None:
    model = MetaGraphRecommender(method=FeaturesOnly(), settings={"dim": 8, "max_epochs": 1})
    model.fit(recommendation.graph, recommendation.task).save(tmp_path / "run")
    data = export_tables(recommendation, tmp_path / "tables")
    _, *rows = table(diffmg("recommend", tmp_path / "run", "-k", 3, "--data", data).out)
    assert [row[2] for row in rows] == [str(item) for item in model.recommend(k=3)[0].ravel()]


def test_a_model_follows_its_data_to_another_place(on_tables: tuple[Path, str], tables: Path) -> None:
    path, predicted = on_tables
    assert "must exist, but got no file at" in refused("predict", path)
    answer = diffmg("predict", path, "--data", tables / "network.toml")
    assert answer.out == predicted


def test_changed_data_are_refused_with_what_differs(on_tables: tuple[Path, str], tables: Path) -> None:
    path, _ = on_tables
    leave_out_an_edge(tables, "written_by")
    for command in ("score", "predict"):
        words = refused(command, path, "--data", tables / "network.toml")
        assert "a model is used on the data it was fitted on, but got others" in words
        assert "paper -written_by-> author" in words
        assert "fit again" in words


def test_other_data_than_the_models_are_refused(classified: Path) -> None:
    words = refused("predict", classified, "--data", "academic:160")
    assert "a model is used on the data it was fitted on, but got others" in words
    assert "unknown data set 'acadmic'; did you mean 'academic'?" in refused("predict", classified, "--data", "acadmic")


def test_data_that_is_gone_is_missing(classified: Path, tmp_path: Path) -> None:
    answer = diffmg("predict", classified, "--data", "dblp", "--data-root", tmp_path)
    assert answer.code == 3
    assert "the file 'DBLP/graph.npz' must be under --data-root" in answer.err
