from __future__ import annotations

from pathlib import Path

import pytest
import torch

from diffmg.core.errors import DiffmgError
from diffmg.core.method import MethodSpec
from diffmg.core.plan import Plan
from diffmg.core.run import read_run
from diffmg.core.settings import Settings
from diffmg.runs.folder import RunFolder
from diffmg.runs.model import Model
from diffmg.runs.runner import run
from diffmg.tasks.problem import Problem
from diffmg.training import Epoch, Quiet

QUICK = Settings(dim=8, max_epochs=4, patience=None)


def plan_of(name: str, seed: int = 0, **options) -> Plan:
    return Plan(MethodSpec(name, options), repeats=2, settings=QUICK, seed=seed, device="cpu")


class Interrupt(Quiet):
    """Presses Ctrl-C in a certain epoch of a certain phase."""

    def __init__(self, phase: str, epoch: int) -> None:
        self.phase, self.at, self.now = phase, epoch, ""

    def begin(self, phase: str, job) -> None:
        self.now = phase

    def epoch(self, record: Epoch) -> None:
        if (self.now, record.epoch) == (self.phase, self.at):
            raise KeyboardInterrupt


def test_the_kept_training_is_built_from_its_own_seed(problem: Problem, tmp_path: Path) -> None:
    """Methods that draw samples when they are built must draw the same ones again."""
    for seed in range(4):
        folder = RunFolder.create(tmp_path / str(seed))
        _, model = run(plan_of("han", seed, most_pairs=1, sampled=2), problem, folder)
        again = Model.load(tmp_path / str(seed), problem)
        assert all(torch.equal(a, b) for a, b in zip(again.outputs, model.outputs, strict=True))


def test_an_interrupted_baseline_is_usable_and_ends_as_if_it_had_not_been(problem: Problem, tmp_path: Path) -> None:
    whole, _ = run(plan_of("gcn"), problem)
    path = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(plan_of("gcn"), problem, RunFolder.create(path, 0.0), Interrupt("repeat-1", 2))
    assert read_run(path).status == "interrupted"
    assert Model.load(path, problem).scores("val")
    resumed, _ = run(plan_of("gcn"), problem, RunFolder.unfinished(path, 0.0))
    assert resumed.trained == whole.trained


def test_a_method_that_cannot_do_the_task_is_refused_before_anything_is_written(classification, tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match="'popularity' serves 2 target types"):
        run(plan_of("popularity"), classification, RunFolder.create(tmp_path / "run"))
    assert list((tmp_path / "run").iterdir()) == []
