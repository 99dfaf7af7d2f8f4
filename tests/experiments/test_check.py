from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_cells import cell_of, run_of

from experiments import check
from experiments.cells import StoredRun
from experiments.check import faults, not_run_yet, problems
from experiments.documents import Done
from experiments.results import Key, Results, mark_of
from experiments.spec import Row, Table

RUN = run_of(0.5, 0.75)
TABLE = Table("t", "accuracy", ("acm",), 2, (Row("gcn", options={"layers": 3}),), paper={"gcn": {"acm": (90.0, 0.5)}})


def of(*runs: object, table: Table = TABLE) -> list[str]:
    return list(faults("it", Done(table, {("gcn", "acm"): cell_of(*runs)} if runs else {})))  # type: ignore[arg-type]


def test_a_table_with_the_runs_of_its_plans_has_no_fault() -> None:
    assert of(RUN) == []
    assert of(replace(RUN, plan=replace(RUN.plan, device="cuda")), table=TABLE) == []


def test_runs_of_another_plan_are_faults() -> None:
    others = [
        replace(RUN, status="interrupted"),
        replace(RUN, trained=RUN.trained[:1]),
        replace(RUN, plan=replace(RUN.plan, seed=1)),
        replace(RUN, plan=replace(RUN.plan, settings=RUN.plan.settings.changed({"lr": 0.5}))),
    ]
    for other in others:
        assert of(other) == ["table it has a run of gcn on acm that is not of its plan"]


def test_only_a_race_against_time_may_choose_its_batches() -> None:
    for budget, expected in (("4m", 0), ("12", 1)):
        table = replace(TABLE, methods=(replace(TABLE.methods[0], budget=budget),), pipelines=1, seeds=1)
        planned = table.plan(table.methods[0], "acm", 0, "auto")
        raced = replace(run_of(0.5), plan=replace(planned, batch=4))
        assert len(of(raced, table=table)) == expected


def test_runs_that_are_missing_are_no_fault_but_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of() == []
    table = replace(TABLE, pipelines=2, methods=(*TABLE.methods, Row("mlp", data=("imdb",)), Row("gat", pipelines=1)))
    done = {"it": Done(table, {("gcn", "acm"): cell_of(RUN)})}
    monkeypatch.setattr(check, "done_tables", lambda _folder: done)
    assert list(not_run_yet()) == ["table it: 1 of 2 runs of gcn on acm", "table it: 0 of 1 runs of gat on acm"]
    assert of(RUN, table=replace(TABLE, pipelines=2)) == []


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose pages are up to date and whose only claim holds."""
    empty = Done(Table("t", "accuracy", (), 1, (Row("diffmg"),), paper={"diffmg": {}}), {})
    done = {"classification": empty, "recommendation": empty, "cost": Done(TABLE, {("gcn", "acm"): cell_of(RUN)})}
    monkeypatch.setattr(check, "done_tables", lambda _folder: done)
    monkeypatch.setattr(check, "CLAIMS", {"it is so": lambda s: s.done["cost"].cells["gcn", "acm"].mean > 0.5})
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("it is so", encoding="utf-8")
    (tmp_path / "docs" / "results.md").write_text("<!-- table: cost -->\n<!-- end -->\n", encoding="utf-8")
    for path, text in check.wanted(tmp_path, done, tmp_path).items():
        path.write_text(text, encoding="utf-8")
    Results(tmp_path).add(Key("gcn", "acm", False, mark_of(RUN.plan)), StoredRun(RUN))
    return tmp_path


def test_where_all_holds_there_is_nothing_to_say(root: Path) -> None:
    assert list(problems(root, root)) == []


def test_a_page_that_is_not_up_to_date_is_told_and_left(root: Path) -> None:
    page = root / "docs" / "results.md"
    page.write_text("<!-- table: cost -->\n<!-- end -->\n", encoding="utf-8")
    (problem,) = problems(root, root)
    assert problem.startswith("docs/results.md is not up to date")
    assert page.read_text(encoding="utf-8") == "<!-- table: cost -->\n<!-- end -->\n"


def test_a_claim_that_does_not_hold_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "CLAIMS", {"it is so": lambda _: False, "it is not": lambda _: True})
    assert [problem.partition(":")[0] for problem in problems(root, root)] == ["not so", "not written any more"]


def test_a_mark_that_is_not_of_its_plan_is_told(root: Path) -> None:
    Results(root).add(Key("gat", "acm", False, "0123abcd"), StoredRun(RUN))
    (problem,) = problems(root, root)
    assert "gat on acm has mark 0123abcd" in problem
