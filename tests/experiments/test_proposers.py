from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from diffmg.core.metagraph import EMPTY
from diffmg.core.settings import Settings
from diffmg.tasks.problem import Problem
from experiments.jsonl import read_lines
from experiments.proposers import CONTESTANTS, Contest, contest_line, proposers_sheet
from experiments.wide_genome import suggested
from race.fake import Fake
from small_networks import small_classification

QUICK = Settings(dim=4, max_epochs=2)


class Suggestions:
    """Answers as one of Optuna's trials would, at random; remembers the choices by name."""

    def __init__(self, seed: int) -> None:
        self.rng, self.given = random.Random(seed), dict[str, Any]()

    def suggest_int(self, name: str, low: int, high: int) -> int:
        return self.suggest_categorical(name, range(low, high + 1))

    def suggest_categorical(self, name: str, choices: Any) -> Any:
        assert name not in self.given, "every choice has a name of its own"
        self.given[name] = self.rng.choice(list(choices))
        return self.given[name]


def test_suggestions_are_candidates_of_the_space(problem: Problem) -> None:
    space = Contest(problem, 1, 1, QUICK).space()
    names: dict[str, set[int]] = {}
    for seed in range(40):
        trial = Suggestions(seed)
        candidate = suggested(space, trial)
        candidate.method.check(problem, candidate.settings)
        towers = space.targets[trial.given["depth"] - 1]
        for metagraph, tower in zip(candidate.metagraphs, towers, strict=True):
            assert tower.contains(metagraph)
            assert all(EMPTY not in ops or len(ops) == 1 for ops in metagraph.operations)
        assert (candidate.settings.dim, candidate.settings.lr) == (4, trial.given["lr"]), "dim was given"
        for name in trial.given:
            names.setdefault(name, set()).add(trial.given["depth"])
    assert any(len(depths) == len(space.targets) for name, depths in names.items() if "<-" in name)


@pytest.mark.parametrize("name", CONTESTANTS)
def test_every_proposer_uses_as_many_trainings(name: str) -> None:
    if name.startswith("optuna"):
        pytest.importorskip("optuna")
    contest = Contest(small_classification(), 22, 6, QUICK)
    fake = Fake(lambda candidate: candidate.settings.lr)
    line = contest_line(contest, name, 0, fake)
    assert line["values"] == [trial.candidate.settings.lr for trial in fake.trials]
    assert len(line["values"]) == 22
    assert len({trial.seed for trial in fake.trials}) == 1, "only the candidates differ"
    space = contest.space()
    keys = {frozenset(space.genes(t.candidate).items()) for t in fake.trials}
    assert len(keys) == 22, "nothing is trained twice"


def test_all_are_trained_from_the_same_seed() -> None:
    pytest.importorskip("optuna")
    seeds = set()
    for name in ("chance", "optuna tpe"):
        fake = Fake(lambda _: 0.5)
        contest_line(Contest(small_classification(), 2, 2, QUICK), name, 3, fake)
        seeds |= {trial.seed for trial in fake.trials}
    assert len(seeds) == 1


def test_failures_are_no_scores() -> None:
    fake = Fake(lambda candidate: float("nan") if candidate.settings.tanh else 0.5)
    line = contest_line(Contest(small_classification(), 20, 5, QUICK), "chance", 0, fake)
    assert line["values"] == [None if t.candidate.settings.tanh else 0.5 for t in fake.trials]
    assert None in line["values"]


def test_the_sheet_shows_the_best_so_far() -> None:
    lines = [
        {"data": "acm", "metric": "f1", "proposer": "mix", "values": [None] * 4 + [0.25] * 6 + [best] * 10}
        for best in (0.5, 0.7)
    ]
    lines += [{"data": "acm", "metric": "f1", "proposer": "chance", "values": [None] * 20}, {"error": "no memory"}]
    sheet = proposers_sheet(lines)
    assert sheet.heads == ("proposer", "10", "20")
    assert sheet.rows == (("mix", "25.00 ± 0.00", "60.00 ± 14.14"), ("chance", "-", "-"))


def test_the_command_trains_for_real_and_only_once(experiment: Callable[..., Any], tmp_path: Path) -> None:
    words = ("proposers", "academic:120", "--trainings", 2, "--batch", 2, "--seeds", 1, "--device", "cpu")
    answer = experiment(*words, "--proposers", "chance", "--out", tmp_path)
    (line,) = read_lines(tmp_path / "proposers.jsonl")
    assert (answer.code, len(line["values"]), line["metric"]) == (0, 2, "macro_f1")
    assert experiment(*words, "--proposers", "chance", "--out", tmp_path).err == ""
