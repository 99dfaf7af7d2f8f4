from __future__ import annotations

import io

import pytest
from rich.console import Console

from diffmg.core.steps import listening, step
from diffmg.datasets import load_dataset
from diffmg.runs.runner import phases_of, run
from diffmg.runs.sources import make_plan
from diffmg.training import Epoch
from diffmg.viz.progress import ProgressWatch, spinning


@pytest.fixture
def terminal() -> Console:
    return Console(file=io.StringIO(), width=150, force_terminal=True)


class Unfinished:
    """What a watch needs to know of a job."""

    epoch, total, done = 0, 3, False

    def seconds_left(self) -> None:
        return None


def text(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_steps_are_told_to_who_listens_and_to_nobody_else() -> None:
    told: list[str] = []
    step("before")
    with listening(told.append):
        step("within")
    step("after")
    assert told == ["within"]


def test_a_terminal_shows_the_step_and_a_file_does_not(terminal: Console) -> None:
    plain = Console(file=io.StringIO(), width=150)
    for console in (terminal, plain):
        with spinning(console):
            step("reading [red]orders.csv")
    assert "reading [red]orders.csv" in text(terminal), "text from data is no markup"
    assert text(plain) == ""


def test_a_quiet_terminal_shows_nothing() -> None:
    quiet = Console(file=io.StringIO(), force_terminal=True, quiet=True)
    with spinning(quiet):
        step("reading")
    assert text(quiet) == ""


def test_every_phase_of_a_run_has_a_bar_and_scoring_is_told(terminal: Console) -> None:
    problem = load_dataset("academic:120")
    settings = {"dim": 8, "max_epochs": 3}
    plan = make_plan(problem.source, "diffmg", {"search_seeds": 2, "epochs": 2}, settings, repeats=2)
    watch = ProgressWatch("macro_f1", 1, terminal, phases_of(plan))
    seen: list[str] = []
    begin = watch.begin
    watch.begin = lambda phase, job: (seen.append(phase), begin(phase, job))  # type: ignore[method-assign,assignment]
    with watch.listening():
        run(plan, problem, watch=watch)
    assert set(seen) <= set(phases_of(plan))
    assert seen[0] == "search-0"
    assert all(phase in text(terminal) for phase in seen)
    assert "scoring" in text(terminal)


def test_the_phases_of_a_plan() -> None:
    source = load_dataset("academic:120").source
    assert phases_of(make_plan(source, budget=5)) == ("race",)
    assert phases_of(make_plan(source, "gcn", repeats=2)) == ("search-0", "train-0", "repeat-1")


def test_the_best_is_that_of_the_whole_run_and_not_of_searches(terminal: Console) -> None:
    watch = ProgressWatch("auc", 1, terminal)
    for phase, score in (("search-0", 0.9), ("train-0", 0.7), ("train-1", 0.6)):
        watch.begin(phase, Unfinished())  # type: ignore[arg-type]
        watch.epoch(Epoch(1, 0.1, 0.1, score))
        watch.end()
    assert watch.best == {"search": 0.9, "train": 0.7}
    last = text(terminal).rpartition("train-1")[2]
    assert "best validation auc 0.7000" in last


def test_the_best_of_a_method_beside_the_model_is_its_own(terminal: Console) -> None:
    watch = ProgressWatch("auc", 1, terminal)
    for phase, score in (("race", 0.9), ("beside-mlp", 0.7), ("beside-svd", 0.6)):
        watch.begin(phase, Unfinished())  # type: ignore[arg-type]
        watch.epoch(Epoch(1, 0.1, 0.1, score))
        watch.end()
    assert watch.best == {"race": 0.9, "beside": 0.6}
    assert "best validation auc 0.6000" in text(terminal).rpartition("beside-svd")[2]
