from __future__ import annotations

import pickle
import shutil
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diffmg.core.errors import DiffmgError, MissingDataError
from diffmg.core.plan import Plan
from diffmg.core.run import Run
from diffmg.datasets import Published
from diffmg.runs.runner import run
from diffmg.runs.sources import open_problem
from diffmg.training import Quiet
from experiments import parallel, runner, spec
from experiments.jsonl import read_lines
from experiments.results import Cell, Results
from experiments.runner import done_cells, run_table
from experiments.spec import Row, Table
from experiments.tuned import Tuned, Tuning, find_tuned
from experiments.tuning import chosen, tune
from run_files import At

QUICK = {"dim": 8, "max_epochs": 4, "patience": None}
ROWS = (Row("mlp"), Row("random", options={"search_seeds": 2}))
TABLE = Table("small", "accuracy", ("academic:120", "shop:160"), 2, ROWS, QUICK)
ORDER = [(row, data) for data in TABLE.data for row in ("mlp", "random")]
ONE = TABLE.part(["academic:120"], [], None)
MLP = ONE.part([], ["mlp"], None)
Cells = dict[tuple[str, str], Cell]


def ran(table: Table, folder: Path, **options: Any) -> Cells:
    return {(row.name, data): cell for row, data, cell in run_table(table, folder, device="cpu", **options)}


def bare(run: Run) -> Run:
    """A run without what a file of results leaves out, and without what depends on when it was computed."""
    chosen = run.metagraphs
    candidates = tuple(replace(c, metagraphs=c.metagraphs if c.metagraphs == chosen else ()) for c in run.candidates)
    return replace(run, files={}, data=replace(run.data, digests={}, facts={}), candidates=candidates, seconds={})


def stopping() -> None:
    signal.raise_signal(signal.SIGINT)


def telling(told: list[str]) -> Callable[[str, str], Quiet]:
    return lambda name, _metric: told.append(name) or Quiet()  # type: ignore[func-returns-value]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Cells]:
    """The folder of the whole table, not to be changed, and its cells."""
    folder = tmp_path_factory.mktemp("table")
    return folder, ran(TABLE, folder)


@pytest.fixture
def folder(whole: tuple[Path, Cells], tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(whole[0], tmp_path / "copy")


def test_every_cell_has_the_run_of_its_plan(whole: tuple[Path, Cells]) -> None:
    folder, cells = whole
    assert list(cells) == ORDER
    assert len(Results(folder)) == 4
    assert not list(folder.glob("unfinished/*"))
    for (row, data), cell in cells.items():
        plan = TABLE.plan(next(r for r in ROWS if r.name == row), data, 0, "cpu")
        (found,) = cell.runs
        assert (found.status, len(found.trained)) == ("done", 2)
        assert bare(found) == bare(run(plan, open_problem(data))[0])


def test_what_is_done_is_read(whole: tuple[Path, Cells], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, cells = whole
    before = (folder / "runs.jsonl").stat().st_mtime_ns
    for name in ("run", "open_problem"):
        monkeypatch.setattr(runner, name, None)
    assert ran(TABLE, folder, jobs=2) == cells == done_cells(TABLE, folder)
    assert (folder / "runs.jsonl").stat().st_mtime_ns == before


def test_only_what_is_missing_is_done(folder: Path) -> None:
    told: list[str] = []
    table = replace(ONE, methods=(*ROWS, Row("gcn")))
    assert [name for name, _ in ran(table, folder, watch=telling(told))] == ["mlp", "random", "gcn"]
    assert told == ["gcn on academic:120"]


@pytest.mark.parametrize(
    "other", [{"seeds": 1}, {"settings": {**QUICK, "max_epochs": 2}}, {"methods": (Row("mlp", options={"layers": 3}),)}]
)
def test_another_plan_is_another_run(other: dict[str, Any], folder: Path) -> None:
    table = replace(MLP, **other)
    assert done_cells(table, folder) == {}
    assert ran(table, folder) == done_cells(table, folder) != {}
    assert len(Results(folder)) == 5
    assert len(done_cells(TABLE, folder)) == 4


def test_another_seed_is_another_run(folder: Path) -> None:
    assert done_cells(MLP, folder, seed=1) == {}
    (found,) = ran(MLP, folder, seed=1)["mlp", "academic:120"].runs
    assert found.plan.seed == 1


def test_a_table_that_shows_seconds_has_runs_of_its_own(folder: Path) -> None:
    """Another table may have done the same plan beside other work."""
    cost = replace(MLP, kind="cost")
    assert done_cells(cost, folder) == {}
    assert ran(cost, folder)["mlp", "academic:120"].test == done_cells(MLP, folder)["mlp", "academic:120"].test
    assert [key.timed for key in Results(folder) if key[:2] == ("mlp", "academic:120")] == [False, True]


@pytest.mark.parametrize(("row", "phase"), [("mlp", "repeat-1"), ("random", "train-1")])
@pytest.mark.parametrize("how", ["Ctrl-C", "killed"])
def test_an_interrupted_run_goes_on_and_ends_as_if_it_had_not_been(
    row: str, phase: str, how: str, whole: tuple[Path, Cells], tmp_path: Path
) -> None:
    def kill() -> None:
        raise OSError("the machine is gone")

    table, act, begun = ONE.part([], [row], None), stopping if how == "Ctrl-C" else kill, []

    class Noting(Quiet):
        def begin(self, phase: str, job: Any) -> None:
            begun.append(phase)

    with pytest.raises((KeyboardInterrupt, OSError)):
        ran(table, tmp_path, watch=lambda _name, _metric: At(phase, 2, act))
    assert done_cells(table, tmp_path) == {}
    (found,) = ran(table, tmp_path, watch=lambda _name, _metric: Noting())[row, "academic:120"].runs
    assert bare(found) == bare(whole[1][row, "academic:120"].runs[0])
    assert not list(tmp_path.glob("unfinished/*"))


def test_a_run_that_ended_just_before_it_was_kept_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, pytest.raises(OSError, match="full"):
        patch.setattr(Results, "add", lambda *_: (_ for _ in ()).throw(OSError("full")))
        ran(MLP, tmp_path)
    monkeypatch.setattr(runner, "run", None)
    assert len(ran(MLP, tmp_path)["mlp", "academic:120"].test) == 2


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (Row("popularity"), "'popularity' serves"),
        (Row("row", "metapth2vec"), "did you mean 'metapath2vec'"),
        (Row("gcn", options={"layer": 2}), "did you mean 'layers'"),
    ],
)
def test_every_row_is_looked_at_before_the_first_is_trained(row: Row, words: str, tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=words):
        ran(replace(ONE, methods=(ROWS[0], row)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_data_that_are_not_there_are_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError):
        ran(replace(ONE, data=("acm",)), tmp_path, root=tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_a_row_of_several_runs_is_shown_over_all_of_them(tmp_path: Path) -> None:
    """Each is what a table of one run gives from that seed."""
    rows = Row("random", options={"search_seeds": 2}), Row("mlp", pipelines=2)
    table = replace(ONE, methods=rows, seeds=1, pipelines=3)
    told: list[str] = []
    for row, _, cell in run_table(table, tmp_path, device="cpu", watch=telling(told)):
        told.append(f"{row.name} {len(cell.test)}")
    assert told == [
        *(f"random on academic:120{end}" for end in ("", ", seed 1", ", seed 2")),
        "random 3",
        *(f"mlp on academic:120{end}" for end in ("", ", seed 1")),
        "mlp 2",
    ]
    cells, once = done_cells(table, tmp_path), replace(table, methods=rows[:1], pipelines=1)
    alone = [done_cells(once, tmp_path, seed)["random", "academic:120"] for seed in range(3)]
    assert [value for cell in alone for value in cell.test] == cells["random", "academic:120"].test
    assert [r.plan.seed for r in cells["random", "academic:120"].runs] == [0, 1, 2]
    assert len(cells["random", "academic:120"].candidates) == 6


def test_curves_keep_the_training_of_median_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, histories = replace(MLP, kind="curves", seeds=3), []
    read = runner.read_history

    def noted(folder: Path) -> list[dict[str, Any]]:
        histories.extend(read(folder))
        return read(folder)

    monkeypatch.setattr(runner, "read_history", noted)
    (stored,) = ran(table, tmp_path)["mlp", "academic:120"].stored
    seconds = {phase: s for phase, s in stored.run.seconds.items() if phase != "score"}
    phase = sorted(seconds, key=seconds.__getitem__)[1]
    assert stored.history == {phase: tuple(r["val_score"] for r in histories if r["phase"] == phase)}
    assert [len(scores) for scores in stored.history.values()] == [4]
    assert done_cells(table, tmp_path)["mlp", "academic:120"].stored == (stored,)


SLOW = {"dim": 8, "max_epochs": 15, "patience": None, "lr": 1e-7}
"""Learns so little that what is drawn is better."""
TUNED_ROWS = (
    Row("mlp"),
    Row("twin", "random", {"search_seeds": 1}, tuned_as="drawn"),
    Row("drawn", "random", {"search_seeds": 1}),
)


def tuned_table(folder: Path, *rows: Row) -> Table:
    path = str(folder / "tuned.jsonl")
    return Table("small", "accuracy", ("academic:120",), 1, rows or TUNED_ROWS, SLOW, budget=3, tuned=path)


def test_settings_are_chosen_first_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    table, path = tuned_table(tmp_path), tmp_path / "tuned.jsonl"
    cells = ran(table, tmp_path, watch=telling(told))
    assert told[:2] == ["settings of mlp on academic:120", "settings of drawn on academic:120"]
    assert sorted(told[2:]) == sorted(f"{row.name} on academic:120" for row in TUNED_ROWS)
    for row in (TUNED_ROWS[0], TUNED_ROWS[2]):
        plan = table.untuned_plan(row, "academic:120", 0, "cpu")
        best = chosen(tune(open_problem("academic:120"), plan, Tuning(3)), plan, Tuning(3), row.name)
        assert find_tuned(path, row.name, "academic:120") == best
        for name in (row.name, "twin") if row.name == "drawn" else (row.name,):
            used = cells[name, "academic:120"].runs[0].plan
            assert {setting: getattr(used.settings, setting) for setting in best.settings} == best.settings
            assert used.method.options == plan.method.options | best.options
            assert used.settings.dim == 8
    assert cells["mlp", "academic:120"].runs[0].plan.settings.lr != SLOW["lr"]
    before = path.read_bytes()
    monkeypatch.setattr(runner, "tune", None)
    assert ran(table, tmp_path) == cells
    assert len(ran(tuned_table(tmp_path, TUNED_ROWS[0]), tmp_path / "other", seed=1)) == 1
    assert path.read_bytes() == before


def test_rows_that_are_not_tuned_keep_their_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A random meta graph stands for the authors'."""
    plan = Plan(spec.make_plan(spec.Source("academic:120"), "random").method)
    found = plan.method.make().search(open_problem("academic:120"), plan.settings, 0).found()
    monkeypatch.setattr(spec, "published_for", lambda _data: Published(found, {}, {}, {}))
    monkeypatch.setattr(runner, "tune", None)
    cells = ran(tuned_table(tmp_path, Row("published", published=True), Row("mlp", tune=False)), tmp_path)
    assert {cell.runs[0].plan.settings.lr for cell in cells.values()} == {SLOW["lr"]}
    assert cells["published", "academic:120"].metagraphs == found


def test_a_row_of_another_s_settings_needs_that_row(tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match="'twin' takes the settings chosen for 'drawn'"):
        ran(tuned_table(tmp_path, TUNED_ROWS[1]), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_two_at_a_time_it_is_the_same_and_one_that_fails_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In threads, which start at once; what is given to a process must survive the way there."""

    class Pool(ThreadPoolExecutor):
        def submit(self, work: Any, *given: Any) -> Any:  # type: ignore[override]
            return super().submit(pickle.loads(pickle.dumps(work)), *given)

    monkeypatch.setattr(parallel, "_pool", Pool)
    rows = Row("mlp"), Row("wild", "mlp", settings={"lr": 1e30}, tune=False)
    both = replace(tuned_table(tmp_path / "two", *rows), budget=2)
    seen = []
    with pytest.raises(DiffmgError, match="1 failed: wild on academic:120: training"):
        seen.extend(run_table(both, tmp_path / "two", device="cpu", jobs=2))
    ((_, _, cell),) = seen
    alone = replace(tuned_table(tmp_path / "one", rows[0]), budget=2)
    (found,) = ran(alone, tmp_path / "one").values()
    assert [bare(r) for r in cell.runs] == [bare(r) for r in found.runs]
    assert read_lines(tmp_path / "one" / "tuned.jsonl") == read_lines(tmp_path / "two" / "tuned.jsonl")
    assert isinstance(both.choice(rows[0], "academic:120"), Tuned)
