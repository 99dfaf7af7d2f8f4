from __future__ import annotations

import pickle
import shutil
import signal
import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diffmg.core.errors import DiffmgError, MissingDataError
from diffmg.core.run import Run
from diffmg.runs.runner import run
from diffmg.runs.sources import open_problem
from diffmg.training import Quiet
from experiments import parallel, runner
from experiments.bootstrap import drawn_scores
from experiments.cells import Cell
from experiments.comparing import Place, compare, kept_differences, truth_of
from experiments.merging import merge_results
from experiments.pipelines import pipelines_markdown
from experiments.results import Results
from experiments.runner import cell_keys, done_cells, run_table
from experiments.spec import Row, Table
from experiments.votes import add_votes, decided, read_votes
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


RACES = Table(
    "races",
    "search",
    ("academic:120", "shop:160"),
    1,
    (Row("gcn", budget="4"), Row("mlp"), Row("ease", budget="3", data=("shop:160",))),
    QUICK,
    pipelines=2,
)


@pytest.fixture(scope="module")
def raced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Cells]:
    """The folder of a table of races, not to be changed, and its cells."""
    folder = tmp_path_factory.mktemp("races")
    return folder, ran(RACES, folder)


def test_a_row_with_a_budget_is_a_race_from_every_seed(raced: tuple[Path, Cells]) -> None:
    folder, cells = raced
    assert list(cells) == [(row.name, data) for row, data in RACES.cells]
    assert [key.timed for key in Results(folder)] == [True] * 10
    for (name, data), cell in cells.items():
        assert [run.plan.seed for run in cell.runs] == [0, 1]
        assert [run.evidence is not None for run in cell.runs] == [name != "mlp"] * 2
        assert (len(cell.ensemble), len(cell.single)) == (0 if name == "mlp" else 2, 2)
        assert cell == done_cells(RACES, folder)[name, data]
    (first, _) = cells["gcn", "academic:120"].runs
    assert first.spent is not None
    assert first.spent.trainings is not None
    assert first.spent.trainings <= 4


def test_votes_give_the_scores_of_the_run(raced: tuple[Path, Cells]) -> None:
    """Exactly for classes; ranks of pairs are rounded."""
    folder, cells = raced
    votes = read_votes(folder)
    assert set(votes) == set(Results(folder))
    for row, data in RACES.cells:
        truth = truth_of(open_problem(data))
        for key, done in zip(cell_keys(RACES, row, data), cells[row.name, data].runs, strict=True):
            used = done.scores("test")[done.metric]
            wanted = {"single": used} if done.single is None else {"ensemble": used}
            if done.single is not None and truth.classes:
                wanted["single"] = done.single.test[done.metric]
            found = {
                model: drawn_scores([decided(text, truth.classes)], truth, draws=0)
                for model, text in votes[key].items()
            }
            assert {m: s.item() for m, s in found.items()} == pytest.approx(wanted, abs=1e-9 if truth.classes else 5e-3)


def test_tables_without_races_keep_no_votes(whole: tuple[Path, Cells]) -> None:
    assert read_votes(whole[0]) == {}


def test_a_race_that_was_stopped_goes_on(raced: tuple[Path, Cells], tmp_path: Path) -> None:
    class Stopping(Quiet):
        def epoch(self, record: Any) -> None:
            stopping()

    table = RACES.part(["academic:120"], ["gcn"], 1)
    with pytest.raises(KeyboardInterrupt):
        ran(table, tmp_path, watch=lambda _name, _metric: Stopping())
    assert len(Results(tmp_path)) == 0
    (found,) = ran(table, tmp_path)["gcn", "academic:120"].runs
    assert found.trained == raced[1]["gcn", "academic:120"].runs[0].trained
    assert read_votes(tmp_path) == {key: v for key, v in read_votes(raced[0]).items() if key in Results(tmp_path)}


def test_parts_that_were_run_elsewhere_are_merged(raced: tuple[Path, Cells], tmp_path: Path) -> None:
    table = RACES.part(["shop:160"], ["ease"], 1)
    for seed in (0, 1):
        ran(table, tmp_path / str(seed), seed=seed)
        assert len(merge_results(tmp_path / str(seed), tmp_path)) == 1
        assert merge_results(tmp_path / str(seed), tmp_path) == []
    found, wanted = done_cells(RACES, tmp_path)["ease", "shop:160"], raced[1]["ease", "shop:160"]
    assert (found.ensemble, found.single) == (wanted.ensemble, wanted.single)
    assert read_votes(tmp_path) == {key: v for key, v in read_votes(raced[0]).items() if key.method == "ease"}
    with pytest.raises(DiffmgError, match=r"must have a runs\.jsonl"):
        merge_results(tmp_path / "gone", tmp_path)


def test_rows_are_compared_with_the_first(raced: tuple[Path, Cells], tmp_path: Path) -> None:
    folder = shutil.copytree(raced[0], tmp_path / "copy")
    assert kept_differences(RACES, folder) == {}
    found = compare(RACES, folder)
    assert kept_differences(RACES, folder) == found
    assert set(found) == {
        Place("mlp", "academic:120", "used"),
        Place("mlp", "academic:120", "single"),
        Place("mlp", "shop:160", "used"),
        Place("ease", "shop:160", "used"),
    }
    cells = raced[1]
    for (name, data, model), gap in found.items():
        one, other = cells["gcn", data], cells[name, data]
        wanted = one.mean - other.mean if model == "used" else statistics.fmean(one.single) - other.mean
        assert gap.value == pytest.approx(wanted, abs=5e-3)
        assert gap.low <= gap.high
    assert str(found["mlp", "shop:160", "used"]) in pipelines_markdown(RACES, cells, found)


def test_differences_of_other_votes_are_not_shown(raced: tuple[Path, Cells], tmp_path: Path) -> None:
    folder = shutil.copytree(raced[0], tmp_path / "copy")
    compare(RACES, folder)
    key = next(key for key in read_votes(folder) if key[:2] == ("mlp", "shop:160"))
    other = next(v for k, v in read_votes(folder).items() if k[:2] == ("ease", "shop:160"))
    add_votes(folder, {key: {"single": other["ensemble"]}})
    assert Place("mlp", "shop:160", "used") not in kept_differences(RACES, folder)
    assert Place("ease", "shop:160", "used") in kept_differences(RACES, folder)


def test_votes_on_other_examples_are_named(raced: tuple[Path, Cells], tmp_path: Path) -> None:
    folder = shutil.copytree(raced[0], tmp_path / "copy")
    key = next(key for key in read_votes(folder) if key[:2] == ("mlp", "academic:120"))
    add_votes(folder, {key: {"single": "012"}})
    with pytest.raises(DiffmgError, match="but got 3 for mlp on academic:120"):
        compare(RACES, folder)


def test_two_at_a_time_it_is_the_same_and_one_that_fails_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In threads, which start at once; what is given to a process must survive the way there."""

    class Pool(ThreadPoolExecutor):
        def submit(self, work: Any, *given: Any) -> Any:  # type: ignore[override]
            return super().submit(pickle.loads(pickle.dumps(work)), *given)

    monkeypatch.setattr(parallel, "_pool", Pool)
    rows = Row("mlp"), Row("wild", "mlp", settings={"lr": 1e30})
    both, seen = replace(MLP, methods=rows), []
    with pytest.raises(DiffmgError, match="1 failed: wild on academic:120: training"):
        seen.extend(run_table(both, tmp_path / "two", device="cpu", jobs=2))
    ((_, _, cell),) = seen
    (found,) = ran(MLP, tmp_path / "one").values()
    assert [bare(r) for r in cell.runs] == [bare(r) for r in found.runs]
