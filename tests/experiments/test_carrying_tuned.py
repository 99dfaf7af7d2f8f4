"""Tables whose settings are chosen first, once for every table that names the folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.plan import Plan
from diffmg.core.run import Run
from diffmg.core.settings import Settings
from diffmg.datasets import Published
from diffmg.methods.search import make_strategy
from diffmg.reproduction import Method, Reproduction, carry_out, carrying, done_runs, spec
from diffmg.runs.sources import open_problem
from diffmg.tasks.problem import Problem
from diffmg.training import Quiet, Watch
from diffmg.tuning import Trial, Tuning, chosen, read_tuned, tune

DATA = "academic:120"
BUDGET = 3
QUICK = {"all": {"dim": 8, "max_epochs": 25, "patience": None, "lr": 1e-7}}
"""Learns so little that what is drawn is better."""
METHODS = (
    Method("gtn", baseline="gtn", baseline_options={"all": {"channels": 1}}, settings=QUICK),
    Method("twin", strategy="random", search_seeds=1, settings=QUICK, tuned_as="random_search"),
    Method("random_search", strategy="random_search", strategy_options={"trials": 2}, search_seeds=1, settings=QUICK),
)


def table(folder: Path, *methods: Method, budget: int = BUDGET) -> Reproduction:
    return Reproduction("small", "accuracy", (DATA,), 1, methods or METHODS, {}, budget=budget, tuned=folder / "best")


def carried(of: Reproduction, folder: Path, **options) -> dict[str, Run]:
    return {method.name: run for method, _, run in carry_out(of, folder, device="cpu", **options)}


@pytest.fixture
def tunings(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Plan, Tuning]]:
    """Each tuning that is done from here on."""
    seen = []

    def noted(problem: Problem, plan: Plan, tuning: Tuning, _watch: Watch) -> list[Trial]:
        seen.append((plan, tuning))
        return tune(problem, plan, tuning)

    monkeypatch.setattr(carrying, "tune", noted)
    return seen


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1)], ids=["twin before", "twin after"])
def test_each_method_is_tuned_once_with_the_budget_of_the_table(
    order: tuple[int, ...], tmp_path: Path, tunings: list[tuple[Plan, Tuning]]
) -> None:
    carried(table(tmp_path, *(METHODS[n] for n in order)), tmp_path / "runs")
    assert [(plan.baseline or plan.strategy, tuning) for plan, tuning in tunings] == [
        ("gtn", Tuning(BUDGET)),
        ("random_search", Tuning(BUDGET)),
    ]
    files = sorted((tmp_path / "best").iterdir())
    assert [file.name for file in files] == ["gtn-academic-120.toml", "random_search-academic-120.toml"]
    assert {read_tuned(file).budget for file in files} == {BUDGET}


def test_what_was_chosen_is_what_tuning_gives(tmp_path: Path) -> None:
    of = table(tmp_path)
    carried(of, tmp_path / "runs")
    for method in (METHODS[0], METHODS[2]):
        plan = method.plan(DATA, 1, 0, "cpu")
        best = chosen(tune(open_problem(DATA), plan, Tuning(BUDGET)), plan, Tuning(BUDGET))
        assert read_tuned(tmp_path / "best" / f"{method.name}-academic-120.toml") == best
        assert best.settings["lr"] != 1e-7


def test_runs_have_what_was_chosen_above_their_own_options(tmp_path: Path) -> None:
    runs = carried(table(tmp_path), tmp_path / "runs")
    for name, file in (("gtn", "gtn"), ("twin", "random_search"), ("random_search", "random_search")):
        best = read_tuned(tmp_path / "best" / f"{file}-academic-120.toml")
        train = runs[name].plan["train"]
        assert {setting: train[setting] for setting in best.settings} == best.settings
        assert (train["dim"], train["max_epochs"]) == (8, 25)
    best = read_tuned(tmp_path / "best" / "gtn-academic-120.toml")
    assert "hops" in best.baseline_options
    assert runs["gtn"].plan["baseline_options"] == {"channels": 1, **best.baseline_options}


def test_what_was_chosen_is_not_chosen_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = table(tmp_path)
    runs = carried(of, tmp_path / "runs")
    before = {path: path.read_bytes() for path in (tmp_path / "best").iterdir()}
    monkeypatch.setattr(carrying, "tune", None)
    assert (
        carried(of, tmp_path / "runs")
        == runs
        == {name: run for (name, _), run in done_runs(of, tmp_path / "runs").items()}
    )
    again = carried(of, tmp_path / "other", seed=1)
    assert [run.plan["train"] for run in again.values()] == [run.plan["train"] for run in runs.values()]
    assert {path: path.read_bytes() for path in (tmp_path / "best").iterdir()} == before


def test_another_table_that_names_the_folder_takes_what_was_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = carried(table(tmp_path, METHODS[0]), tmp_path / "runs")["gtn"]
    monkeypatch.setattr(carrying, "tune", None)
    curves = replace(table(tmp_path, METHODS[0]), kind="curves", seeds=2)
    other = carried(curves, tmp_path / "runs")["gtn"]
    assert other.plan["train"] == one.plan["train"]
    assert other.trained[0] == one.trained[0]


def test_without_a_budget_nothing_is_tuned(tmp_path: Path, tunings: list[tuple[Plan, Tuning]]) -> None:
    run = carried(table(tmp_path, METHODS[0], budget=0), tmp_path / "runs")["gtn"]
    assert run.plan["train"]["lr"] == 1e-7
    assert tunings == []
    assert not (tmp_path / "best").exists()


def test_the_authors_rows_are_never_tuned(
    tmp_path: Path, tunings: list[tuple[Plan, Tuning]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A random meta graph stands for the authors'."""
    found = make_strategy("random").start(open_problem(DATA), 4, Settings(), 0).found()
    monkeypatch.setattr(spec, "published_for", lambda _data: Published(found, {}, {}, {}))
    rows = Method("published", published=True, settings=QUICK), METHODS[0]
    runs = carried(table(tmp_path, *rows), tmp_path / "runs")
    assert runs["published"].plan["train"]["lr"] == 1e-7
    assert [plan.baseline for plan, _ in tunings] == ["gtn"]
    assert [file.name for file in (tmp_path / "best").iterdir()] == ["gtn-academic-120.toml"]


def test_a_row_of_another_s_settings_waits_for_that_method(tmp_path: Path) -> None:
    alone = table(tmp_path, METHODS[1])
    with pytest.raises(DiffmgError, match=r"'twin' takes the settings chosen for 'random_search', but got no file"):
        carried(alone, tmp_path / "runs")
    assert list(tmp_path.iterdir()) == []
    carried(table(tmp_path, METHODS[2]), tmp_path / "runs")
    assert carried(alone, tmp_path / "runs")["twin"].status == "done"


def test_every_method_is_looked_at_before_the_first_is_tuned(
    tmp_path: Path, tunings: list[tuple[Plan, Tuning]]
) -> None:
    with pytest.raises(DiffmgError, match="'popularity' can do Recommendation"):
        carried(table(tmp_path, METHODS[0], Method("popularity", baseline="popularity")), tmp_path / "runs")
    assert tunings == []


def test_chosen_settings_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    of = table(tmp_path, METHODS[0])
    carried(of, tmp_path / "runs")
    file = tmp_path / "best" / "gtn-academic-120.toml"
    text = file.read_text()
    for old, new, words in (
        ("hops =", "hop =", "unknown option of baseline 'gtn': 'hop'; did you mean 'hops'"),
        ("lr =", "rate =", "gtn-academic-120.toml.*unknown training setting 'rate'"),
        ("budget =", "budget", "tuned settings must be a TOML file, but got .*gtn-academic-120.toml"),
    ):
        file.write_text(text.replace(old, new))
        with pytest.raises(DiffmgError, match=words):
            carried(of, tmp_path / "runs")


def test_a_watch_is_asked_for_each_choice_too(tmp_path: Path) -> None:
    asked = []

    def watch(name: str, metric: str) -> Watch:
        asked.append((name, metric))
        return Quiet()

    carried(table(tmp_path, METHODS[0]), tmp_path / "runs", watch=watch)
    assert asked == [(f"settings of gtn on {DATA}", "macro_f1"), (f"gtn on {DATA}", "macro_f1")]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "best").write_text("in the way")
    with pytest.raises(DiffmgError, match="could not write"):
        carried(table(tmp_path, METHODS[0]), tmp_path / "runs")
