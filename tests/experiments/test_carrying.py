from __future__ import annotations

import itertools
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from diffmg.core.engine import Engine
from diffmg.core.errors import DiffmgError, MissingDataError
from diffmg.core.plan import Plan
from diffmg.core.run import Run, read_run
from diffmg.reproduction import Method, Reproduction, carry_out, carrying, done_runs, read_reproduction
from diffmg.runs.runner import Experiment
from diffmg.runs.sources import open_problem
from diffmg.training import Quiet, Watch
from run_files import At, content

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
QUICK = {"all": {"dim": 8, "max_epochs": 4, "patience": None}}
METHODS = (
    Method("mlp", baseline="mlp", settings=QUICK),
    Method("random", strategy="random", search_seeds=2, settings=QUICK),
)
TABLE = Reproduction("small", "accuracy", ("academic:120", "shop:160"), 2, METHODS, {})
ORDER = [(method, data) for data in ("academic:120", "shop:160") for method in ("mlp", "random")]
ONE = TABLE.part(["academic:120"], [], None)


def name_of(method: str, data: str, seeds: int = 2) -> str:
    """The name of a run folder."""
    plan = next(m for m in METHODS if m.name == method).plan(data, seeds, 0, "cpu")
    return carrying.folder_of(Path(), method, plan).name


FOLDERS = [name_of(method, data) for method, data in ORDER]


def carried(table: Reproduction, folder: Path, **options) -> dict[tuple[str, str], Run]:
    return {(m.name, data): run for m, data, run in carry_out(table, folder, device="cpu", **options)}


def times(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the whole table; not to be changed."""
    folder = tmp_path_factory.mktemp("table")
    carried(TABLE, folder)
    return folder


def test_each_method_on_each_data_set_has_a_run_folder(whole: Path) -> None:
    assert sorted(path.name for path in whole.iterdir()) == sorted(FOLDERS)
    for name in FOLDERS:
        run = read_run(whole / name)
        assert (run.status, len(run.trained)) == ("done", 2)
        assert not (whole / name / "checkpoints").exists()
    assert [len(read_run(whole / name).candidates) for name in FOLDERS] == [0, 2, 0, 2]


def test_a_run_is_that_of_its_plan(whole: Path) -> None:
    for (method, data), name in zip(ORDER, FOLDERS, strict=True):
        plan = next(m for m in METHODS if m.name == method).plan(data, 2, 0, "cpu")
        assert read_run(whole / name).trained == Experiment(plan, open_problem(data)).execute().run.trained


def test_runs_come_in_order_each_as_soon_as_it_is_there(tmp_path: Path) -> None:
    table = replace(TABLE, seeds=1)
    seen = []
    for method, data, run in carry_out(table, tmp_path, device="cpu"):
        seen.append((method.name, data))
        assert len(list(tmp_path.iterdir())) == len(seen)
        assert run == read_run(tmp_path / name_of(method.name, data, 1))
    assert seen == ORDER


def test_what_is_done_is_read(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_given: object, **_named: object) -> None:
        raise AssertionError("nothing is left to do")

    before = times(whole)
    monkeypatch.setattr(carrying, "Experiment", fail)
    monkeypatch.setattr(carrying, "open_problem", fail)
    runs = carried(TABLE, whole)
    assert list(runs) == ORDER
    assert list(runs.values()) == [read_run(whole / name) for name in FOLDERS]
    assert times(whole) == before


def test_runs_that_are_done_can_be_asked_for(whole: Path, tmp_path: Path) -> None:
    assert done_runs(TABLE, whole) == {key: read_run(whole / name) for key, name in zip(ORDER, FOLDERS, strict=True)}
    assert set(done_runs(ONE.part([], ["mlp"], None), whole)) == {ORDER[0]}
    assert done_runs(replace(TABLE, seeds=1), whole) == done_runs(TABLE, whole, seed=1) == {}
    with pytest.raises(KeyboardInterrupt):
        carried(ONE, tmp_path, watch=lambda *_: At("train-1", 2, lambda: signal.raise_signal(signal.SIGINT)))
    assert set(done_runs(ONE, tmp_path)) == {ORDER[0]}


def test_only_what_is_missing_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carried(ONE.part([], ["random"], None), tmp_path)
    plans = []

    class Counted(Experiment):
        def __init__(self, plan, *given) -> None:
            plans.append((plan.baseline, plan.data))
            super().__init__(plan, *given)

    monkeypatch.setattr(carrying, "Experiment", Counted)
    assert list(carried(ONE, tmp_path)) == [ORDER[1], ORDER[0]]
    assert plans == [("mlp", "academic:120")]


@pytest.mark.parametrize(
    ("method", "phase"),
    [("mlp", "repeat-0"), ("mlp", "repeat-1"), ("random", "train-1"), ("random", "repeat-1")],
)
@pytest.mark.parametrize("how", ["Ctrl-C", "killed"])
def test_an_interrupted_run_is_taken_up_and_ends_as_if_it_had_not_been(
    method: str, phase: str, how: str, whole: Path, tmp_path: Path
) -> None:
    def stop() -> None:
        if how == "killed":
            raise OSError("the machine is gone")
        signal.raise_signal(signal.SIGINT)

    table = ONE.part([], [method], None)
    with pytest.raises((KeyboardInterrupt, OSError)):
        carried(table, tmp_path, watch=lambda _name, _metric: At(phase, 2, stop))
    path = tmp_path / name_of(method, "academic:120")
    assert read_run(path).status == ("interrupted" if how == "Ctrl-C" else "running")
    run = carried(table, tmp_path)[method, "academic:120"]
    assert run == read_run(path)
    assert run.status == "done"
    assert content(path) == content(whole / path.name)


def test_epochs_before_an_interruption_are_not_done_again(tmp_path: Path) -> None:
    table = ONE.part([], ["mlp"], None)
    begun: list[tuple[str, int]] = []

    class Noting(Quiet):
        def begin(self, phase, job) -> None:
            begun.append((phase, job.epoch))

    with pytest.raises(KeyboardInterrupt):
        carried(table, tmp_path, watch=lambda *_: At("repeat-1", 3, lambda: signal.raise_signal(signal.SIGINT)))
    carried(table, tmp_path, watch=lambda *_: Noting())
    assert begun == [("repeat-0", 4), ("repeat-1", 3)]


def test_a_watch_is_made_for_every_run_with_its_name_and_score(tmp_path: Path) -> None:
    asked = []

    def watch(name: str, metric: str) -> Watch:
        asked.append((name, metric))
        return Quiet()

    carried(TABLE.part([], ["mlp"], 1), tmp_path, watch=watch)
    assert asked == [("mlp on academic:120", "macro_f1"), ("mlp on shop:160", "auc")]


def test_another_number_of_seeds_is_another_run(tmp_path: Path) -> None:
    table = ONE.part([], ["mlp"], 1)
    one, two = (carried(replace(table, seeds=n), tmp_path)["mlp", "academic:120"] for n in (1, 2))
    assert [len(one.trained), len(two.trained)] == [1, 2]
    assert one.trained == two.trained[:1]


def test_another_seed_is_another_run(tmp_path: Path) -> None:
    table = ONE.part([], ["mlp"], 1)
    one, other = (carried(table, tmp_path, seed=seed)["mlp", "academic:120"] for seed in (0, 1))
    assert [one.plan["seed"], other.plan["seed"]] == [0, 1]


def test_changed_settings_are_not_answered_with_the_old_run(tmp_path: Path) -> None:
    table = ONE.part([], ["mlp"], 1)
    carried(table, tmp_path)
    changed = replace(METHODS[0], settings={"all": {**QUICK["all"], "max_epochs": 2}})
    try:
        run = carried(replace(table, methods=(changed,)), tmp_path)["mlp", "academic:120"]
    except DiffmgError:
        return
    assert run.plan["train"]["max_epochs"] == 2


def test_the_device_and_the_engine_make_no_other_run() -> None:
    plan = METHODS[0].plan("academic:120", 1, 0, "cpu")
    others = [replace(plan, device="auto"), replace(plan, engine=Engine(columns=4))]
    assert {carrying.folder_of(Path(), "mlp", p) for p in [plan, *others]} == {carrying.folder_of(Path(), "mlp", plan)}


def test_tables_that_share_a_folder_share_only_runs_of_the_same_plan() -> None:
    """Unless `--out` is given, all tables lie in one folder, and a run that is done is taken from there."""
    tables = [read_reproduction(path) for path in sorted(BENCHMARKS.glob("ding2021_*.toml"))]
    found: dict[Path, Plan] = {}
    for table in tables:
        for method, data in itertools.product(table.methods, table.data):
            plan = table.plan(method, data, 0, "cpu")
            path = carrying.folder_of(Path(), method.name, plan)
            assert found.setdefault(path, plan) == plan
    assert len(found) > 60


def test_every_method_is_looked_at_before_the_first_is_trained(tmp_path: Path) -> None:
    methods = (METHODS[0], Method("popularity", baseline="popularity"))
    with pytest.raises(DiffmgError, match="'popularity' can do Recommendation"):
        carried(replace(ONE, methods=methods), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_data_that_are_not_there_are_missing_and_leave_no_folder(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="must be under --data-root"):
        carried(replace(ONE, data=("acm",)), tmp_path, root=tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (Method("row", baseline="metapth2vec"), "unknown baseline 'metapth2vec'; did you mean 'metapath2vec'"),
        (
            Method("row", baseline="gcn", baseline_options={"all": {"layer": 2}}),
            "unknown option of baseline 'gcn': 'layer'",
        ),
        (Method("row", strategy="dart"), "unknown strategy 'dart'; did you mean 'darts'"),
        (Method("row", baseline="popularity"), "'popularity' can do Recommendation, but got NodeClassification"),
    ],
)
def test_a_method_that_cannot_be_made_is_named(method: Method, words: str, tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=words):
        carried(replace(ONE, methods=(method,)), tmp_path)
    assert not list(tmp_path.rglob("run.json"))
