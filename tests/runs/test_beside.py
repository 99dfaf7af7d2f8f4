from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core import DiffmgError, MethodSpec, Plan, Run, Settings, Source
from diffmg.core.details import Beside
from diffmg.core.rivals import check_rivals
from diffmg.core.run import read_run
from diffmg.runs.beside import Rivals, compared
from diffmg.runs.folder import RunFolder
from diffmg.runs.runner import run
from diffmg.runs.sources import make_plan, open_problem
from diffmg.tasks.problem import Problem
from diffmg.tasks.resampling import Resampled
from diffmg.training.job import Epoch, Job, Quiet

SETTINGS = {"max_epochs": 3, "dim": 8}


@pytest.fixture(scope="module")
def academic() -> Problem:
    return open_problem("academic:120")


@pytest.fixture(scope="module")
def done(academic: Problem) -> Run:
    return run(plan_of("usual"), academic)[0]


def plan_of(*beside: str, method: str = "features") -> Plan:
    return make_plan(Source("academic:120"), method, None, SETTINGS, beside=beside, device="cpu")


class StopIn(Quiet):
    """Presses Ctrl-C in one phase."""

    def __init__(self, phase: str) -> None:
        self.wanted, self.phase = phase, ""

    def begin(self, phase: str, job: Job) -> None:
        self.phase = phase

    def epoch(self, record: Epoch) -> None:
        if self.phase == self.wanted:
            raise KeyboardInterrupt


def test_two_usual_rivals_are_trained_and_compared(done: Run) -> None:
    assert [rival.method for rival in done.beside] == ["mlp", "label_propagation"]
    score = done.scores("test")[done.metric]
    for rival in done.beside:
        assert rival.lead == pytest.approx(score - rival.test[done.metric])
        assert rival.summary
        assert rival.wins is not None
        assert 0 <= rival.wins <= 1
        assert done.seconds[f"beside-{rival.method}"] > 0


def test_a_rival_has_the_scores_of_a_run_of_its_own(academic: Problem, done: Run) -> None:
    alone = run(plan_of(method="label_propagation"), academic)[0]
    (rival,) = (r for r in done.beside if r.method == "label_propagation")
    assert dict(rival.test) == dict(alone.scores("test"))
    assert dict(rival.val) == dict(alone.scores("val"))
    assert alone.certainty is not None
    assert rival.error == pytest.approx(alone.certainty.error)


def test_nothing_is_trained_beside_a_model_unless_it_is_asked_for(academic: Problem, done: Run) -> None:
    alone = run(plan_of(), academic)[0]
    assert alone.beside == ()
    assert alone.trained == done.trained
    assert alone.certainty == done.certainty


def test_the_models_own_method_is_no_rival(academic: Problem) -> None:
    rivals = Rivals(plan_of("usual", method="mlp"), academic, None, Quiet())
    rivals.train()
    assert list(rivals.trained) == ["label_propagation", "boosting"]


def test_the_next_one_is_taken_for_a_usual_rival_that_does_not_serve_the_problem(
    academic: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(academic.task), "rivals", ("item_knn", "label_propagation", "mlp", "boosting"))
    rivals = Rivals(plan_of("usual"), academic, None, Quiet())
    rivals.train()
    assert list(rivals.trained) == ["label_propagation", "mlp"]
    assert rivals.refused == {}


def test_a_rival_that_was_asked_for_and_refuses_is_noted(academic: Problem) -> None:
    rivals = Rivals(plan_of("item_knn"), academic, None, Quiet())
    rivals.train()
    (refused,) = rivals.judged(None, None)
    assert (refused.method, refused.test) == ("item_knn", {})
    assert "target types" in refused.refused


def test_rivals_have_no_more_epochs_than_the_model(academic: Problem) -> None:
    rivals = Rivals(plan_of("mlp"), academic, None, Quiet())
    rivals.train()
    assert rivals.trained["mlp"].epoch == SETTINGS["max_epochs"] < Settings().max_epochs


@pytest.mark.parametrize("name", ["auto", "diffmg", "given", "ensemble"])
def test_methods_that_search_are_refused(name: str) -> None:
    with pytest.raises(DiffmgError, match=f"without a search, but got '{name}'"):
        check_rivals([name])


def test_names_of_rivals() -> None:
    assert check_rivals(["gcn", "usual", "gcn"]) == ("gcn", "usual")
    assert check_rivals(["none"]) == ()
    with pytest.raises(DiffmgError, match=r"unknown method 'gnc'.*gcn"):
        check_rivals(["gnc"])
    with pytest.raises(DiffmgError, match="but got none, gcn"):
        check_rivals(["none", "gcn"])


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=50), st.sampled_from([1, -1]))
def test_a_lead_is_compared_resample_by_resample(pairs: list[tuple[float, float]], sign: int) -> None:
    model, rival = np.array(pairs).T
    found = compared(Beside("mlp", ""), Resampled(model, 9, "a"), Resampled(rival, 9, "a"), sign)
    leads = [sign * (m - r) for m, r in pairs]
    mean = sum(leads) / len(leads)
    assert found.wins == pytest.approx(sum(1.0 if x > 0 else 0.5 if x == 0 else 0.0 for x in leads) / len(leads))
    spread = (sum((x - mean) ** 2 for x in leads) / (len(leads) - 1)) ** 0.5
    assert found.lead_error == pytest.approx(spread, abs=1e-12)


@pytest.mark.parametrize("phase", ["beside-mlp", "beside-label_propagation"])
@pytest.mark.parametrize("budget", [None, 2])
def test_a_run_that_was_stopped_beside_goes_on_to_the_same_end(
    phase: str, budget: int | None, academic: Problem, tmp_path: Path
) -> None:
    plan = make_plan(Source("academic:120"), "features", None, SETTINGS, beside="usual", device="cpu", budget=budget)
    with pytest.raises(KeyboardInterrupt):
        run(plan, academic, RunFolder.create(tmp_path / "run", 0.0), StopIn(phase))
    stopped = read_run(tmp_path / "run")
    assert stopped.status == "interrupted"
    assert stopped.scores("test") == {}
    assert stopped.beside == ()
    again = run(plan, academic, RunFolder.unfinished(tmp_path / "run", 0.0))[0]
    straight = run(plan, academic)[0]
    assert again.trained == straight.trained
    assert again.details == straight.details
    assert again.certainty == straight.certainty
    assert again.beside == straight.beside
    written = read_run(tmp_path / "run")
    assert (written.beside, written.details, written.certainty) == (again.beside, again.details, again.certainty)


def test_a_plan_remembers_its_rivals() -> None:
    assert Plan(MethodSpec("features"), beside=("gcn",)).beside == ("gcn",)
    assert plan_of("gcn", "mlp").beside == ("gcn", "mlp")
