from __future__ import annotations

from pathlib import Path

import pytest
import torch

from diffmg.core.errors import DiffmgError
from diffmg.runs.runner import Experiment, load_outcome
from diffmg.runs.folder import RunFolder
from diffmg.core.metagraph import MetaGraph
from diffmg.core.plan import Plan
from diffmg.core.settings import Settings
from diffmg.tasks.problem import Problem
from diffmg.training import Epoch, Quiet

QUICK = Settings(dim=8, max_epochs=4, patience=None)


def plan_of(baseline: str, **changes) -> Plan:
    return Plan("", baseline=baseline, repeats=2, train=QUICK, device="cpu", **changes)


class Interrupt(Quiet):
    """Presses Ctrl-C in a certain epoch of a certain phase."""

    def __init__(self, phase: str, epoch: int) -> None:
        self.phase, self.at, self.now = phase, epoch, ""

    def begin(self, phase: str, job) -> None:
        self.now = phase

    def epoch(self, record: Epoch) -> None:
        if (self.now, record.epoch) == (self.phase, self.at):
            raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["mlp", "gcn", "han"])
def test_a_baseline_is_trained_scored_and_read_back(name: str, problem: Problem, tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    outcome = Experiment(plan_of(name), problem, folder).execute()
    assert outcome.run.status == "done"
    assert (outcome.run.metagraphs, len(outcome.run.trained)) == ((), 2)
    assert 0 <= outcome.run.mean("test") <= 1
    again = load_outcome(tmp_path / "run", problem)
    assert all(torch.equal(a, b) for a, b in zip(again.outputs(), outcome.outputs(), strict=True))


def test_the_kept_training_is_built_from_its_own_seed(problem: Problem, tmp_path: Path) -> None:
    """Methods that draw samples when they are built must draw the same ones again."""
    for seed in range(4):
        folder = RunFolder.create(tmp_path / str(seed))
        plan = plan_of("han", baseline_options={"most_pairs": 1, "sampled": 2}, seed=seed)
        outcome = Experiment(plan, problem, folder).execute()
        again = load_outcome(tmp_path / str(seed), problem)
        assert all(torch.equal(a, b) for a, b in zip(again.outputs(), outcome.outputs(), strict=True))


def test_an_interrupted_baseline_is_usable_and_ends_as_if_it_had_not_been(problem: Problem, tmp_path: Path) -> None:
    whole = Experiment(plan_of("gcn"), problem).execute().run
    path = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        Experiment(plan_of("gcn"), problem, RunFolder.create(path, 0.0), Interrupt("repeat-1", 2)).execute()
    assert load_outcome(path, problem).run.status == "interrupted"
    resumed = Experiment(plan_of("gcn"), problem, RunFolder.unfinished(path, 0.0)).execute().run
    assert resumed.trained == whole.trained


def test_a_baseline_has_no_meta_graph() -> None:
    given = (MetaGraph.features_only("author"),)
    with pytest.raises(DiffmgError, match="a baseline has no meta graph, but got 'gcn' and 1 of them"):
        plan_of("gcn", metagraphs=given)


def test_a_plan_with_a_baseline_comes_back_from_json() -> None:
    plan = plan_of("gat", baseline_options={"heads": 2})
    assert Plan.from_dict(plan.to_dict()) == plan


def test_a_method_that_cannot_do_the_task_is_refused_before_anything_is_written(classification, tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match="'popularity' can do Recommendation, but got NodeClassification"):
        Experiment(plan_of("popularity"), classification, RunFolder.create(tmp_path / "run"))
    assert list((tmp_path / "run").iterdir()) == []
