"""The engine of a run: chosen before anything is written, part of the plan, no part of the result."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from diffmg.core.engine import Engine
from diffmg.core.errors import DiffmgError
from diffmg.core.method import MethodSpec
from diffmg.core.plan import Plan, Source
from diffmg.core.run import Run, read_history, read_run
from diffmg.core.settings import Settings
from diffmg.datasets import DATASETS
from diffmg.engine import memory
from diffmg.methods.given import Given
from diffmg.runs.folder import RunFolder
from diffmg.runs.runner import place, run
from diffmg.tasks.problem import Problem
from run_files import read

PLANS = {
    name: Plan(
        MethodSpec("diffmg", {"epochs": 3, "search_seeds": 1}),
        Source(name),
        Settings(dim=12, max_epochs=6, patience=None),
        device="cpu",
    )
    for name in ("academic:120", "shop:160")
}


def plan_of(problem: Problem, **changes: Any) -> Plan:
    kind = "academic:120" if problem.task.outputs else "shop:160"
    return replace(PLANS[kind], **changes)


def planted(problem: Problem) -> tuple:
    return DATASETS.get("academic" if problem.task.outputs else "shop").planted


def given_plan(problem: Problem, **changes: Any) -> Plan:
    return plan_of(problem, method=Given(planted(problem)).spec(), **changes)


def executed(plan: Plan, problem: Problem) -> Run:
    return run(plan, problem)[0]


def placed(plan: Plan, problem: Problem) -> tuple[Plan, Problem]:
    return place(plan, problem, plan.method.make())


@pytest.fixture
def no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda device: 10_000)


@pytest.mark.parametrize("given", [False, True], ids=["search", "training"])
def test_what_does_not_fit_raises_before_anything_is_written(no_memory, problem, tmp_path: Path, given: bool) -> None:
    plan = given_plan(problem) if given else plan_of(problem)
    word = "training" if given else "(search|training)"
    with pytest.raises(DiffmgError, match=rf"the {word} must fit into 10.0 kB of free memory \(cpu\)"):
        run(plan, problem, RunFolder.create(tmp_path / "run", 0.0))
    assert [p.name for p in (tmp_path / "run").iterdir()] == []


def test_a_short_memory_is_met_with_fewer_columns(problem, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(problem)
    both = [memory.needs(problem, plan.settings, 4, problem.graph.device, search=s).total for s in (True, False)]
    monkeypatch.setattr(memory, "free_bytes", lambda device: max(both))
    fitting, placed_problem = placed(plan, problem)
    assert placed_problem.graph.engine.columns == fitting.engine.columns == 4


def test_given_meta_graphs_are_estimated_by_their_own_depth(problem, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = given_plan(problem)
    depth = max(m.depth for m in planted(problem))
    needed = memory.needs(problem, plan.settings, depth, problem.graph.device, search=False).total
    monkeypatch.setattr(memory, "free_bytes", lambda device: needed / 0.9 + 1)
    assert placed(plan, problem)[0].engine.columns == 0


def test_a_method_that_does_not_search_needs_no_memory_for_it(problem, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    fit = "diffmg.runs.runner.fit_engine_to_memory"
    monkeypatch.setattr(fit, lambda *_, search, training: asked.append((search, training)) or Engine())
    for name in ("diffmg", "random", "features", "gcn"):
        placed(plan_of(problem, method=MethodSpec(name)), problem)
    assert asked == [(True, True), (False, True), (False, True), (False, False)]


@pytest.mark.parametrize("given", [False, True], ids=["search", "training"])
def test_columns_at_a_time_give_the_scores_of_all_at_once(problem, given: bool) -> None:
    plan = given_plan(problem) if given else plan_of(problem)
    whole = executed(plan, problem)
    some = executed(replace(plan, engine=Engine(columns=8)), problem)
    assert some.metagraphs == whole.metagraphs
    for one, other in zip(some.trained, whole.trained, strict=True):
        assert (one.epochs, one.best_epoch) == (other.epochs, other.best_epoch)
        assert one.val == pytest.approx(other.val, abs=2e-3)
        assert one.test == pytest.approx(other.test, abs=2e-3)


def losses(problem: Problem, folder: Path, engine: Engine) -> list[float]:
    """Training losses of a whole run, in order."""
    run(given_plan(problem, engine=engine), problem, RunFolder.create(folder, 0.0))
    return [record["train_loss"] for record in read_history(folder)]


def test_states_in_bfloat16_change_the_losses_by_rounding_alone(problem, tmp_path: Path) -> None:
    whole = losses(problem, tmp_path / "whole", Engine())
    half = losses(problem, tmp_path / "half", Engine(storage="bfloat16"))
    assert read(tmp_path / "half")["status"] == "done"
    assert half != whole, "the switch is not ignored"
    assert half == pytest.approx(whole, rel=0.01)


@pytest.mark.parametrize("engine", [Engine(), Engine(fused=False, capture=False, storage="bfloat16", columns=4)])
def test_the_plan_in_the_folder_holds_the_engine(classification, tmp_path: Path, engine: Engine) -> None:
    plan = given_plan(classification, engine=engine)
    run(plan, classification, RunFolder.create(tmp_path / "run", 0.0))
    assert read(tmp_path / "run")["plan"]["engine"] == asdict(engine)
    assert read_run(tmp_path / "run").plan == plan


def test_the_problem_is_computed_with_the_engine_of_the_plan(problem) -> None:
    engine = Engine(storage="bfloat16", columns=4)
    assert placed(plan_of(problem, engine=engine), problem)[1].graph.engine == engine
    assert problem.graph.engine == Engine(), "the problem that was given stays as it is"
