"""The engine of an experiment: chosen before anything is written, part of the plan, no part of the result."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from diffmg import memory
from diffmg.datasets import DATASETS
from diffmg.core.engine import Engine
from diffmg.core.errors import DiffmgError
from diffmg.runs.runner import Experiment
from diffmg.runs.folder import RunFolder
from diffmg.core.plan import Plan
from diffmg.core.run import Run, read_history
from diffmg.core.settings import Settings
from diffmg.tasks.problem import Problem
from run_files import read

PLANS = {
    name: Plan(
        data=name,
        strategy_options={"epochs": 3},
        search_seeds=1,
        repeats=1,
        train=Settings(dim=12, max_epochs=6, patience=None),
        device="cpu",
    )
    for name in ("academic:120", "shop:160")
}


def plan_of(problem: Problem, **changes: Any) -> Plan:
    kind = "academic:120" if problem.task.outputs else "shop:160"
    return replace(PLANS[kind], **changes)


def planted(problem: Problem) -> tuple:
    return DATASETS.get("academic" if problem.task.outputs else "shop").planted


def executed(problem: Problem, **changes: Any) -> Run:
    return Experiment(plan_of(problem, **changes), problem).execute().run


@pytest.fixture
def no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda device: 10_000)


@pytest.mark.parametrize("given", [False, True], ids=["search", "training"])
def test_what_does_not_fit_raises_before_anything_is_written(no_memory, problem, tmp_path: Path, given: bool) -> None:
    plan = plan_of(problem, metagraphs=planted(problem) if given else ())
    word = "training" if given else "(search|training)"
    with pytest.raises(DiffmgError, match=rf"the {word} must fit into 10.0 kB of free memory \(cpu\)"):
        Experiment(plan, problem, RunFolder.create(tmp_path / "run", 0.0)).execute()
    assert [p.name for p in (tmp_path / "run").iterdir()] == []


def test_a_short_memory_is_met_with_fewer_columns(problem, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(problem)
    both = [memory.needs(problem, plan.train, plan.depth, problem.graph.device, search=s).total for s in (True, False)]
    monkeypatch.setattr(memory, "free_bytes", lambda device: max(both))
    experiment = Experiment(plan, problem)
    assert experiment.problem.graph.engine.columns == 4
    assert experiment.start.plan["engine"]["columns"] == 4


def test_given_meta_graphs_are_estimated_by_their_own_depth(problem, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(problem, metagraphs=planted(problem), depth=200)
    depth = max(m.depth for m in plan.metagraphs)
    needed = memory.needs(problem, plan.train, depth, problem.graph.device, search=False).total
    monkeypatch.setattr(memory, "free_bytes", lambda device: needed / 0.9 + 1)
    assert Experiment(plan, problem).problem.graph.engine.columns == 0


def test_a_strategy_that_does_not_search_needs_no_memory_for_it(problem, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr("diffmg.runs.runner.fitted", lambda *_, search, **__: asked.append(search) or Engine())
    for strategy in ("diffmg", "random", "features"):
        Experiment(plan_of(problem, strategy=strategy, strategy_options={}), problem)
    assert asked == [True, False, False]


@pytest.mark.parametrize("given", [False, True], ids=["search", "training"])
def test_columns_at_a_time_give_the_scores_of_all_at_once(problem, given: bool) -> None:
    metagraphs = planted(problem) if given else ()
    whole = executed(problem, metagraphs=metagraphs)
    some = executed(problem, metagraphs=metagraphs, engine=Engine(columns=8))
    assert some.metagraphs == whole.metagraphs
    for one, other in zip(some.trained, whole.trained, strict=True):
        assert (one.epochs, one.best_epoch) == (other.epochs, other.best_epoch)
        assert one.val == pytest.approx(other.val, abs=2e-3)
        assert one.test == pytest.approx(other.test, abs=2e-3)


def losses(problem: Problem, folder: Path, engine: Engine) -> list[float]:
    """Training losses of a whole run, in order."""
    plan = plan_of(problem, metagraphs=planted(problem), engine=engine)
    Experiment(plan, problem, RunFolder.create(folder, 0.0)).execute()
    return [record["train_loss"] for record in read_history(folder)]


def test_states_in_bfloat16_change_the_losses_by_rounding_alone(problem, tmp_path: Path) -> None:
    whole = losses(problem, tmp_path / "whole", Engine())
    half = losses(problem, tmp_path / "half", Engine(storage="bfloat16"))
    assert read(tmp_path / "half")["status"] == "done"
    assert half != whole, "the switch is not ignored"
    assert half == pytest.approx(whole, rel=0.01)


@pytest.mark.parametrize("engine", [Engine(), Engine(fused=False, capture=False, storage="bfloat16", columns=4)])
def test_the_plan_in_the_folder_holds_the_engine(classification, tmp_path: Path, engine: Engine) -> None:
    plan = plan_of(classification, metagraphs=planted(classification), engine=engine)
    Experiment(plan, classification, RunFolder.create(tmp_path / "run", 0.0)).execute()
    assert read(tmp_path / "run")["plan"]["engine"] == asdict(engine)
    assert Plan.from_dict(read(tmp_path / "run")["plan"]) == plan


def test_the_problem_is_computed_with_the_engine_of_the_plan(problem) -> None:
    engine = Engine(storage="bfloat16", columns=4)
    experiment = Experiment(plan_of(problem, engine=engine), problem)
    assert experiment.problem.graph.engine == engine
    assert problem.graph.engine == Engine(), "the problem that was given stays as it is"
