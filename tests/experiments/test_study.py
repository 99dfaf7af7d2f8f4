from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from made_tables import made_table
from scipy.stats import spearmanr

from diffmg.core.candidate import Candidate
from diffmg.core.errors import DiffmgError
from diffmg.core.settings import Settings
from diffmg.methods.given import Given
from diffmg.methods.search.diffmg import DiffMG
from diffmg.methods.search.diffmg_corrected import DiffMGCorrected
from diffmg.race.board import Board, Turn
from diffmg.race.executor import run_here
from diffmg.race.trial import Outcome
from diffmg.tasks.problem import Problem
from diffmg.training import Training
from diffmg.training.job import Quiet, drive
from experiments.exhaustive_table import write_table
from experiments.jsonl import read_lines
from experiments.study_low_rank import measure_low_rank
from experiments.study_races import budget_line, fold_line, fold_values, measure_folds
from experiments.study_search import VARIANTS, measure_alpha, measure_found, measure_variants, trajectory
from experiments.study_shared import compared, measure_shared, shared_scores, spearman
from experiments.study_subject import Subject
from experiments.study_switches import changes_of, good_together, measure_switches

QUICK = {"dim": 4, "max_epochs": 2}


class Here:
    """Trains in this process."""

    def run(self, field: Any, trials: Any) -> list[Outcome]:
        return run_here(field, trials)

    def close(self) -> None:
        pass


@pytest.fixture
def subject(classification: Problem, tmp_path: Path) -> Subject:
    return Subject("academic:120", classification, tmp_path / "study.jsonl", 2, 2, 6, QUICK, {"epochs": 3}, Here())


@pytest.fixture
def pairs(recommendation: Problem, tmp_path: Path) -> Subject:
    return Subject("shop:160", recommendation, tmp_path / "study.jsonl", 2, 1, 4, QUICK, {"epochs": 2}, Here())


def test_random_meta_graphs_are_the_same_for_all_measurements(subject: Subject) -> None:
    drawn = subject.random_metagraphs()
    assert drawn == replace(subject, seeds=9).random_metagraphs()
    assert len(set(drawn)) == 6


def test_published_settings_and_options_are_used(subject: Subject) -> None:
    real = replace(subject, data="acm", overrides={}, searches={})
    assert (real.settings.tanh, real.settings.select) == (True, "loss")
    method: Any = real.method("diffmg", {"epsilon": 0.9})
    assert (method.epochs, method.epsilon, method.depth) == (50, 0.9, 2)


@pytest.mark.parametrize("kind", [DiffMG, DiffMGCorrected])
def test_shared_scores_are_those_of_the_searchs_network(kind: Any, subject: Subject) -> None:
    search = kind(depth=2, epochs=3).search(subject.problem, subject.settings, 0)
    drive("search", search, Quiet())
    several = subject.random_metagraphs()
    scores = shared_scores(search, several)
    (tower,) = search.towers
    for metagraphs, (score, loss) in zip(several, scores, strict=True):
        alpha = tower.alpha().detach()
        picks = [c.index(o) for c, (o,) in zip(tower.space.candidates, metagraphs[0].operations, strict=True)]
        factors = torch.stack([alpha[link, pick] for link, pick in enumerate(picks)])
        weights = [factors] if kind is DiffMG else [torch.ones(len(picks))]
        expected = subject.problem.task.evaluate(search.model(subject.problem.graph, metagraphs, weights), "val")
        assert (loss, score) == pytest.approx([float(x.detach()) for x in expected], abs=1e-5)


def test_a_proxy_is_compared_by_ranks() -> None:
    found = [(0.1, 0.3), (0.5, 0.4), (0.2, 0.6), (0.9, 0.5), (0.4, 0.2), (0.3, 0.8)]
    line = compared(found)
    assert line["spearman"] == pytest.approx(spearmanr(*zip(*found, strict=True)).statistic, abs=1e-3)
    better = [(0.2, 0.6), (0.9, 0.5), (0.3, 0.8)]
    assert line["spearman_better_half"] == pytest.approx(spearmanr(*zip(*better, strict=True)).statistic, abs=1e-3)
    assert (line["picked"], line["better_than_picked"], line["best"]) == (0.5, 2, 0.8)
    assert spearman([(1.0, 2.0)] * 5) is None
    with pytest.raises(DiffmgError, match="two scores"):
        compared([])


def test_shared_weights_are_measured_once(subject: Subject) -> None:
    (sheet,) = measure_shared(subject)
    lines = read_lines(subject.path)
    assert [line["what"] for line in lines].count("trained") == 1
    assert len([line for line in lines if line["what"] == "shared"]) == 8
    assert len(sheet.rows) == 4
    (trained,) = [line for line in lines if line["what"] == "trained"]
    assert [b for _, b in lines[-1]["pairs"]] == trained["scores"], "beside the real scores, in order"
    assert measure_shared(replace(subject, executor=None)) == [sheet]  # type: ignore[arg-type]


def test_trained_scores_are_real(subject: Subject) -> None:
    (metagraphs,) = replace(subject, candidates=1).random_metagraphs()
    training = Training(subject.problem, metagraphs, Settings(dim=4, max_epochs=2), 0)
    while not training.done:
        training.advance()
    assert subject.trained([metagraphs]) == [pytest.approx(training.best_score, abs=1e-5)]


def test_alpha_is_watched_in_every_epoch(subject: Subject) -> None:
    (sheet,) = measure_alpha(subject)
    assert len(sheet.rows) == 4
    for line in read_lines(subject.path):
        assert [len(line[name]) for name in ("top", "flips", "sampled")] == [3, 3, 3]
        assert all(top >= 1 for top in line["top"]), "the top is never below uniform"
        assert line["sampled"] == sorted(line["sampled"])


def test_without_exploration_the_first_sample_is_the_arg_max(subject: Subject) -> None:
    search: Any = DiffMG(depth=2, epochs=1, epsilon=0.0).search(subject.problem, subject.settings, 0)
    total = int(search.towers[0].counts.sum())
    line = trajectory(search, search)
    assert line["sampled"] == [pytest.approx(3 / total, abs=1e-4)], "one candidate for each of three links"


def test_flips_are_counted(subject: Subject) -> None:
    search: Any = DiffMG(depth=2, epochs=2, arch_lr=5.0).search(subject.problem, subject.settings, 0)
    before = search.towers[0].best().tolist()
    flips = 0
    line = trajectory(search, search)
    again: Any = DiffMG(depth=2, epochs=2, arch_lr=5.0).search(subject.problem, subject.settings, 0)
    for _ in range(2):
        again.advance()
        now = again.towers[0].best().tolist()
        flips += sum(a != b for a, b in zip(before, now, strict=True))
        before = now
    assert sum(line["flips"]) == flips > 0


def test_variants_are_searched_and_trained(subject: Subject) -> None:
    (sheet,) = measure_variants(subject)
    assert [row[0].partition(", ")[2] for row in sheet.rows] == [*VARIANTS, "random meta graphs"]
    lines = [line for line in read_lines(subject.path) if line["what"] == "variants"]
    assert all(len(line["scores"]) == len(line["keys"]) == 2 for line in lines)
    assert [row[1] for row in sheet.rows] == ["2"] * len(VARIANTS) + ["6"]


def test_what_gradient_searches_find_is_looked_up(subject: Subject, pairs: Subject) -> None:
    for one in (subject, pairs):
        table = made_table(one.problem)
        (sheet,) = measure_found(one, table)
        assert len(sheet.rows) == 5
    with pytest.raises(DiffmgError, match="of the same data"):
        measure_found(subject, made_table(pairs.problem))
    for line in read_lines(subject.path):
        assert all(regret is None or regret >= 0 for regret in line["regrets"])


def test_changes_are_single_and_allowed(subject: Subject, pairs: Subject) -> None:
    for one, own, others in ((subject, "label_inputs", "biases"), (pairs, "biases", "label_inputs")):
        changes = changes_of(one)
        names = {name for change in changes for name in change}
        assert own in names
        assert others not in names
        for change in changes:
            ((name, value),) = change.items()
            assert value != getattr(one.settings, name)


def test_only_what_is_surely_good_goes_together() -> None:
    alone = [
        {"change": {"lr": 0.02}, "mean": 0.03, "error": 0.01},
        {"change": {"lr": 0.005}, "mean": 0.05, "error": 0.01},
        {"change": {"tanh": True}, "mean": 0.05, "error": 0.04},
        {"change": {"dim": 128}, "mean": -0.05, "error": 0.01},
        {"change": {"biases": True}, "mean": None, "error": 1e9},
    ]
    assert good_together(alone) == {"lr": 0.005}


def test_switches_are_paired_differences(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = [{"layer_norm": False}, {"dropout": 0.2}]
    monkeypatch.setattr("experiments.study_switches.changes_of", lambda _: changes)
    (sheet,) = measure_switches(subject)
    alone, together = read_lines(subject.path)
    for told in alone["changes"]:
        gains = [b - a for a, b in zip(alone["base"], told["scores"], strict=True)]
        assert told["mean"] == pytest.approx(sum(gains) / 6)
        spread = math.sqrt(sum((g - told["mean"]) ** 2 for g in gains) / 5)
        assert told["error"] == pytest.approx(spread / math.sqrt(6))
    assert together["base"] != alone["base"], "judged on other meta graphs"
    assert len(sheet.rows) == 3


def tried(path: Path, values: list[dict[tuple[int, int], float]]) -> Path:
    """What a race writes for candidates with these values by fold and repeat."""
    board = Board(1)
    for several in values:
        number = board.add(Candidate(Given(()), Settings()), "chance")
        for turn, value in several.items():
            board.record(number, Turn(*turn), Outcome(value, best_epoch=1))
    path.write_text("".join(json.dumps(line) + "\n" for line in board.plain()), encoding="utf-8")
    return path


def test_budget_is_the_best_so_far_of_first_trainings(tmp_path: Path) -> None:
    values = [{(0, 0): 0.3, (0, 1): 0.9}, {(0, 0): math.nan}, {(0, 0): 0.5}, *[{(0, 0): 0.4}] * 8]
    line = budget_line(tried(tmp_path / "tried.jsonl", values))
    assert line == {"candidates": 11, "curve": {"10": 0.5, "11": 0.5}}
    with pytest.raises(DiffmgError, match="no file at"):
        budget_line(tmp_path / "nothing")


def test_folds_of_races_are_compared(tmp_path: Path) -> None:
    values = [{(0, 0): n / 10, (1, 0): n / 10, (2, 0): n / 10 + 0.2} for n in range(8)] + [{(0, 0): 0.9}]
    found = fold_values(tried(tmp_path / "tried.jsonl", values))
    assert len(found) == 8, "those without folds are left out"
    line = fold_line(found)
    assert (line["own_and_folds"], line["folds_and_folds_better_half"]) == (1.0, 1.0)
    assert line["sd_of_a_fold"] == pytest.approx(0.2 / math.sqrt(2), abs=1e-5)


def test_folds_of_random_candidates_are_trained(subject: Subject) -> None:
    (sheet,) = measure_folds(replace(subject, candidates=3), [])
    (line,) = read_lines(subject.path)
    assert line["used"] == len(line["values"]) == 3
    assert all(len(folds) == 5 for _, folds in line["values"])
    assert sheet.rows[0][:2] == ("academic:120, draws", "3")


def test_low_ranks_stand_beside_the_exact_solution(pairs: Subject) -> None:
    """All ranks are above the number of users, so the scores are those of the exact solution."""
    (sheet,) = measure_low_rank(pairs)
    assert [row[0] for row in sheet.rows] == [f"shop:160, {w}" for w in ("exact", "rank 1024", "rank 512", "rank 256")]
    scores = [line["score"] for line in read_lines(pairs.path)]
    assert scores == pytest.approx([scores[0]] * 4, abs=1e-3)
    assert scores[0] > 0


def test_the_command(experiment: Callable[..., Any], tmp_path: Path, classification: Problem) -> None:
    tried(tmp_path / "tried.jsonl", [{(0, 0): n / 20} for n in range(12)])
    answer = experiment("study", "budget", "academic:120", tmp_path, "--out", tmp_path, "--device", "cpu")
    assert "| academic:120 | 1 | 45.00 |" in answer.out
    assert "name Parquet files" in experiment("study", "found", "academic:120", "--out", tmp_path).err
    write_table(tmp_path / "made.parquet", made_table(classification))
    assert experiment("study", "nothing", "academic:120").code == 2
