"""Running a plan with a budget: what is saved, loaded and told, and when the test part is read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from diffmg import MetaGraphClassifier
from diffmg.core import DiffmgError, MethodSpec, Settings
from diffmg.core.codec import from_plain
from diffmg.core.run import read_run
from diffmg.datasets import load_dataset
from diffmg.methods.auto import Auto
from diffmg.methods.baselines.gcn import GCN
from diffmg.runs import racing
from diffmg.runs.folder import SINGLE, RunFolder
from diffmg.runs.model import Model
from diffmg.runs.runner import run
from diffmg.runs.sources import make_plan
from diffmg.tasks.problem import Problem
from diffmg.testing import _Sealed
from diffmg.viz.evidence import words_of
from diffmg.viz.page import page

SETTINGS = Settings(dim=8, max_epochs=4)
RACED = {"auto": Auto(depth=2, searches_too=False), "gcn": GCN()}


def plan_of(problem, method="auto", budget=24, **more):
    return make_plan(problem.source, RACED[method], settings=SETTINGS, budget=budget, device="cpu", **more)


def finished(problem, path, **more):
    done, model = run(plan_of(problem, **more), problem, RunFolder.create(path))
    return done, model


@pytest.fixture(scope="module")
def labelled():
    """Enough labels for folds."""
    return load_dataset("academic:400")


@pytest.fixture(scope="module")
def by_folds(labelled, tmp_path_factory):
    """A race judged on folds."""
    path = tmp_path_factory.mktemp("racing") / "folds"
    finished(labelled, path)
    return path


@pytest.fixture(scope="module")
def by_seeds(recommendation, tmp_path_factory):
    """A race whose finalists were trained from other seeds."""
    path = tmp_path_factory.mktemp("racing") / "seeds"
    finished(recommendation, path)
    return path


CASES = {"by_folds": "labelled", "by_seeds": "recommendation"}


@pytest.fixture(params=CASES)
def raced(request):
    """A finished race, and its problem."""
    return request.getfixturevalue(request.param), request.getfixturevalue(CASES[request.param])


def shuffled(problem, seed=0):
    """The same data with the nodes of every type in another order."""
    rng = np.random.default_rng(seed)
    graph = problem.graph
    named = replace(graph, ids={t: graph.ids_of(t) for t in graph.schema.node_types})
    orders = {t: rng.permutation(n) for t, n in graph.num_nodes.items()}
    return replace(problem, graph=named).permuted(orders)


@pytest.mark.parametrize("file", ["", SINGLE], ids=["ensemble", "single"])
def test_both_models_are_saved_and_loaded(raced, file):
    path, problem = raced
    done, model = read_run(path), Model.load(path / file, problem)
    assert (model.recipe.method.name == "ensemble") == (file == "")
    wanted = done.single.test if file else done.scores("test")
    assert model.scores("test") == pytest.approx(dict(wanted), abs=1e-6)
    assert model.metagraphs == done.metagraphs


@pytest.mark.parametrize("file", ["", SINGLE], ids=["ensemble", "single"])
def test_rows_in_another_order_give_the_same_predictions(raced, file):
    path, problem = raced
    here, there = Model.load(path / file, problem), Model.load(path / file, shuffled(problem))
    ids = problem.graph.ids_of(problem.task.target_types[0])[:20]
    one, other = here.answers(ids), there.answers(ids)
    for name in one.columns:
        if one[name].dtype.kind == "f":
            assert np.allclose(one[name], other[name], atol=1e-5)
        else:
            assert one[name].tolist() == other[name].tolist()


def test_what_was_tried_is_read_line_by_line(raced):
    path, _ = raced
    found = read_run(path).evidence
    lines = [json.loads(line) for line in (path / "tried.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == found.candidates
    assert sum(len(line["trainings"]) for line in lines) == read_run(path).spent.trainings
    for line in lines:
        assert from_plain(MethodSpec, line["method"], "it").make()
        assert from_plain(Settings, line["settings"], "it").dim >= 1
        assert line["origin"] in ("seed", "chance", "evolution", "surrogate", "simpler")
        assert all(len(training) == 4 for training in line["trainings"])


def test_the_single_model_is_one_of_what_was_tried(raced):
    path, _ = raced
    found = read_run(path)
    lines = (path / "tried.jsonl").read_text(encoding="utf-8").splitlines()
    scores = [value for *_, value, _ in json.loads(lines[found.evidence.single])["trainings"]]
    assert found.evidence.single_score == pytest.approx(np.mean(scores))
    assert sum(share.share for share in found.evidence.shares) == pytest.approx(1)


def test_folds_are_used_where_there_are_few_labels(by_folds, by_seeds):
    assert read_run(by_folds).evidence.judged_on == "folds"
    assert read_run(by_seeds).evidence.judged_on == "validation"


def test_the_evidence_is_told_in_words(raced):
    path, _ = raced
    done = read_run(path)
    words = "\n".join(words_of(done))
    found = done.evidence
    assert f"tried {found.candidates} candidates in {done.spent.trainings} trainings" in words
    assert f"single model: validation {done.metric} {found.single_score:.4f}" in words
    assert f"test {done.scores('test')[done.metric]:.4f}" in words
    assert f"{found.finalists[0].mean:.4f} ± {found.finalists[0].std:.4f}" in words
    assert ("folds" in words) == (found.judged_on == "folds")
    shown = page(done, path)
    assert "of the ensemble" in shown
    assert f"{found.gain_of_doubling:.4f}" in shown


def test_a_run_without_a_race_has_no_words(classification):
    done, _ = run(make_plan(classification.source, "gcn", settings=SETTINGS), classification)
    assert words_of(done) == []


@pytest.mark.parametrize("random_labels", [False, True])
def test_no_better_than_chance_is_said_of_random_labels_alone(random_labels, labelled):
    """Labels that an author's features tell, and the same ones dealt out at random."""
    x = labelled.graph.features["author"]
    labels = (x[:, 0] > x[:, 0].median()).long() + 2 * (x[:, 1] > x[:, 1].median())
    if random_labels:
        labels = labels[torch.randperm(len(labels), generator=torch.Generator().manual_seed(1))]
    problem = Problem(labelled.graph, replace(labelled.task, labels=labels))
    settings = Settings(dim=16, max_epochs=40, lr=0.02)
    done, _ = run(make_plan(problem.source, RACED["auto"], settings=settings, budget=8, device="cpu"), problem)
    assert done.evidence.above_chance is not random_labels
    assert any(line.startswith("no better than chance") for line in words_of(done)) == random_labels


@pytest.mark.parametrize("method", RACED)
def test_the_test_part_is_read_once_after_all_choices(method, classification, monkeypatch):
    """The own split is sealed until scores are asked for; nothing is chosen after that."""
    parts, happened = _Sealed(classification.task.parts), []
    problem = Problem(classification.graph, replace(classification.task, parts=parts))
    choose, score = racing.choose, racing.scores_on

    def chosen(*given):
        happened.append("choose")
        return choose(*given)

    def scored(problem, outputs, part):
        happened.append(part)
        opened = replace(problem, task=replace(problem.task, parts=dict(parts)))
        return score(opened, outputs, part)

    monkeypatch.setattr(racing, "choose", chosen)
    monkeypatch.setattr(racing, "scores_on", scored)
    monkeypatch.setattr(racing, "judged", lambda *_: happened.append("judged"))
    done, _ = run(plan_of(classification, method, budget=10), problem)
    assert happened == ["choose", "test", "test", "judged"], "the ensemble and the single model, each once"
    assert done.scores("test")


@pytest.mark.parametrize("method", RACED)
@pytest.mark.parametrize("kind", ["labelled", "recommendation"])
def test_other_test_labels_change_no_choice(method, kind, request, tmp_path):
    problem = request.getfixturevalue(kind)
    other = Problem(problem.graph, problem.task.with_other_test_labels())
    runs = []
    for name, data in (("one", problem), ("other", other)):
        path = tmp_path / name
        done, model = finished(replace(data, source=problem.source), path, method=method, budget=14)
        single = Model.load(path / SINGLE, data)
        weights = [{k: t.tolist() for k, t in m.weights.items()} for m in (model, single)]
        evidence = replace(done.evidence, chance=None, above_chance=None)
        runs.append(((path / "tried.jsonl").read_text(), weights, evidence, done.candidates, done.scores("val")))
    assert runs[0] == runs[1]


def test_a_refit_needs_parts_that_can_be_joined(classification, monkeypatch):
    monkeypatch.setattr(type(classification.task), "joined", lambda *_, **__: None)
    with pytest.raises(DiffmgError, match="a refit needs a task whose parts can be joined"):
        run(plan_of(classification, budget=4, refit="val"), classification)


def test_an_estimator_races_by_default_within_its_budget(classification, tmp_path: Path):
    model = MetaGraphClassifier(budget=6, settings=SETTINGS).fit(classification)
    assert model.run_.plan.method.name == "auto"
    assert model.run_.spent.trainings <= 6
    assert model.score() == model.run_.scores("test")["macro_f1"]
    assert model.validation_score_ == model.run_.evidence.ensemble_score
    model.save(tmp_path / "run")
    again = MetaGraphClassifier.load(tmp_path / "run", classification)
    assert np.array_equal(again.predict_proba(), model.predict_proba())
    assert again.get_params()["budget"] == model.run_.spent
    assert np.array_equal(again.fit(classification).predict_proba(), model.predict_proba()), "fitted again, repeated"
