"""What a meta path is worth: the drop of the validation score, its standard error, and what is never read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score, roc_auc_score

from diffmg import DiffmgError, Problem, Run, make_plan, run
from diffmg.core.method import MethodSpec
from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.explain import importance as module
from diffmg.explain import path_importances
from diffmg.explain.judge import Judge
from diffmg.explain.tower import towers_of
from diffmg.explain.voters import voters_of
from diffmg.methods.ensemble import Ensemble, Member
from diffmg.methods.given import Given
from diffmg.runs.explain import importances_of
from diffmg.runs.importances import PHASE
from diffmg.tasks.resampling import resamples
from diffmg.training.training import build_model, outputs_of
from experiments.explained import DISTRACTORS, among_distractors, longest, ranks
from experiments.planted import VARIANTS
from small_networks import METAGRAPHS, small_classification, small_recommendation

TINY = Settings(dim=4, max_epochs=3)
SEVERAL, TWO = METAGRAPHS["several operations a link"], METAGRAPHS["two towers"]


@pytest.mark.parametrize("name", ["academic", "shop"])
def test_planted_paths_are_first_among_distractors(name: str) -> None:
    """As `python -m experiments explained` does for ten seeds and larger networks."""
    problem, planted = VARIANTS[name].problem(2500 if name == "academic" else 800, 0), VARIANTS[name].planted
    mixed = tuple(among_distractors(m, problem, DISTRACTORS[name]) for m in planted)
    assert all(len(m.paths()) > 2 for m in mixed)
    done, _ = run(make_plan(problem.source, Given(mixed), settings=Settings(dim=32), device="cpu"), problem)
    assert [ranks(done.importances, m.target, longest(m)) for m in planted] == [1] * len(planted)
    for each in done.importances:
        if any(each.path == longest(m) for m in planted):
            assert each.drop > 3 * each.std > 0


@pytest.mark.parametrize("metagraphs", [SEVERAL, TWO], ids=["labels", "pairs"])
def test_a_drop_is_the_score_of_the_model_without_the_path(metagraphs: tuple) -> None:
    """By hand: the contribution subtracted before the norm, everything after it computed again."""
    problem = small_classification() if len(metagraphs) == 1 else small_recommendation()
    network = build_model(problem, metagraphs, TINY, 1)
    outputs, task = outputs_of(network, problem), problem.task
    towers = towers_of(network, problem.graph)
    found = path_importances(Given(metagraphs), network, problem)
    assert found
    assert [p.drop for p in found] == sorted((p.drop for p in found), reverse=True)
    for each in found:
        number = task.target_types.index(each.target)
        tower = towers[number]
        nodes = torch.arange(len(tower.result))
        part = module.path_contributions(tower, [each.path], nodes)[each.path]
        with torch.no_grad():
            changed = network.finished(number, tower.result - part)
        without = tuple(changed if n == number else z for n, z in enumerate(outputs))
        scores = [float(task.scores(z, "val")[task.metric]) for z in (outputs, without)]
        assert each.drop == pytest.approx(scores[0] - scores[1], abs=1e-6)
        drops = [slow_score(problem, outputs, r) - slow_score(problem, without, r) for r in drawn_rows(problem)]
        assert each.std == pytest.approx(np.nanstd(drops, ddof=1), abs=1e-6)


def test_the_test_part_is_never_read(problem: Problem) -> None:
    metagraphs = tuple(module_metagraphs(problem))
    other = Problem(problem.graph, problem.task.with_other_test_labels())
    found = [path_importances(Given(metagraphs), build_model(p, metagraphs, TINY, 1), p) for p in (problem, other)]
    assert found[0] == found[1]
    assert found[0]


def module_metagraphs(problem: Problem) -> list:
    """The planted ones of the made networks."""
    return [*VARIANTS["academic" if len(problem.task.target_types) == 1 else "shop"].planted]


def test_a_lower_error_is_better(regression: Problem) -> None:
    """Without any path the mean error is larger: the drop is positive, though the score is not higher."""
    (metagraph,) = module_metagraphs(regression)
    plan = make_plan(regression.source, Given((metagraph,)), settings=Settings(dim=16, max_epochs=80), device="cpu")
    done, model = run(plan, regression)
    first = done.importances[0]
    assert regression.task.sign == -1
    assert first.drop > 0
    assert importances_of(model) == done.importances


def members(problem: Problem, folds: int = 0, joined: str = "") -> tuple[Ensemble, torch.nn.Module]:
    metagraphs = tuple(module_metagraphs(problem))
    found = tuple(
        Member(MethodSpec("given"), TINY, n, 0.5 / max(1, folds), metagraphs, fold, joined)  # type: ignore[arg-type]
        for fold in (range(1, folds + 1) if folds else [0])
        for n in range(2)
    )
    method = Ensemble(
        (*found, Member(MethodSpec("gcn"), TINY, 0, 0.1 if not folds else 0.1 / folds, (), found[0].fold))
    )
    return method, method.network(problem, TINY, 0)


def test_an_ensemble_loses_the_path_in_every_member(classification: Problem) -> None:
    method, network = members(classification)
    found = path_importances(method, network, classification)
    judge = Judge.of(method, voters_of(method, network), classification.task)
    whole = float(judge.whole.score_votes(judge.votes([outputs_of(n, classification) for n in network.members]), "val"))
    task = classification.task
    assert whole == pytest.approx(float(task.scores(outputs_of(network, classification), "val")[task.metric]))
    path = found[0].path
    outputs = []
    for part in network.members[:2]:
        (tower,) = towers_of(part, classification.graph)
        own = module.path_contributions(tower, [path], torch.arange(len(tower.result)))[path]
        with torch.no_grad():
            outputs.append((part.finished(0, tower.result - own),))
    outputs.append(outputs_of(network.members[2], classification))
    without = task.scores(task.blend(outputs, network.weights), "val")[task.metric]
    assert found[0].drop == pytest.approx(whole - float(without), abs=1e-6)


def test_members_of_folds_are_judged_on_what_they_did_not_see(classification: Problem) -> None:
    """Every node of training and validation once, by the members of its own fold."""
    method, network = members(classification, folds=3)
    method = replace(method, folds=3, fold_seed=1)
    voters = voters_of(method, network)
    judge = Judge.of(method, voters, classification.task)
    seen = [task.parts["val"] for task, _ in judge.groups]
    assert sorted(torch.cat(seen).tolist()) == sorted(judge.whole.parts["val"].tolist())
    votes = judge.votes([outputs_of(v.network, classification) for v in voters])
    assert len(votes) == classification.task.size("train") + classification.task.size("val")
    assert path_importances(method, network, classification)


def test_a_refitted_model_refuses(classification: Problem) -> None:
    with pytest.raises(DiffmgError, match="validation labels that the model was not trained on"):
        path_importances(*members(classification, joined="val"), classification)


def test_few_paths_are_judged_and_large_networks_are_left_out(
    classification: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(classification.source, "everything", {"depth": 3}, TINY, device="cpu")
    done = run(plan, classification)[0]
    assert len(done.importances) == module.MOST
    assert done.seconds[PHASE] > 0
    monkeypatch.setattr(module, "WORK", 10.0)
    large = run(plan, classification)[0]
    assert large.importances == ()
    assert "importances of meta paths are left out: a network must be small enough" in large.notes[-1]
    assert large.scores("test") == done.scores("test")


def test_a_race_stores_those_of_its_single_model(classification: Problem) -> None:
    done, _ = run(make_plan(classification.source, "auto", {}, TINY, budget=6, device="cpu"), classification)
    assert {p.path for p in done.importances} <= set(done.metagraphs[0].paths()) | {
        (r, *path) for path in done.metagraphs[0].paths() for r in classification.graph.schema.relations
    }
    assert Run.from_dict(done.to_dict(), "it") == done


def drawn_rows(problem: Problem) -> list[np.ndarray]:
    """The rows of the validation part in each resample: nodes, or all pairs of the drawn users."""
    task = problem.task
    if len(task.target_types) == 1:
        return [rows.numpy() for rows in resamples(task.size("val"), module.DRAWS)]
    left = task.parts["val"].pairs.left.numpy()
    users = np.unique(left)
    own = [np.flatnonzero(left == user) for user in users]
    return [np.concatenate([own[n] for n in rows]) for rows in resamples(len(users), module.DRAWS)]


def slow_score(problem: Problem, outputs: tuple[torch.Tensor, ...], rows: np.ndarray) -> float:
    """By scikit-learn; NaN where all pairs have one label."""
    part = problem.task.parts["val"]
    if len(outputs) == 1:
        nodes = part.numpy()[rows]
        decided, labels = outputs[0].argmax(dim=1).numpy()[nodes], problem.task.labels.numpy()[nodes]
        return float(f1_score(labels, decided, average="macro"))
    scores = (outputs[0][part.pairs.left.long()] * outputs[1][part.pairs.right.long()]).sum(dim=1).numpy()
    labels = part.labels.numpy()[rows]
    return float(roc_auc_score(labels, scores[rows])) if len(np.unique(labels)) > 1 else np.nan


def test_a_ranking_has_importances_with_errors() -> None:
    problem = load_dataset("films:300")
    done, _ = run(make_plan(problem.source, "diffmg", {"epochs": 2, "search_seeds": 1}, TINY, device="cpu"), problem)
    assert done.importances
    assert any(each.std > 0 for each in done.importances)
    assert all(0 <= each.std < 1 for each in done.importances)
