from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.run import Run, read_run
from diffmg.reproduction import Method, Reproduction, carry_out, done_runs, read_reproduction, sheets
from diffmg.training import Quiet

SETTINGS = {"all": {"dim": 8, "max_epochs": 3, "patience": None}}
METHODS = (
    Method("random", strategy="random", search_seeds=2, settings=SETTINGS),
    Method("gcn", baseline="gcn", settings=SETTINGS, pipelines=2),
)
TABLE = Reproduction("whole pipelines", "accuracy", ("academic:120",), 1, METHODS, {}, pipelines=3)


def carried(folder: Path, table: Reproduction = TABLE, **options) -> dict[str, Run]:
    return {method.name: run for method, _, run in carry_out(table, folder, device="cpu", **options)}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Run]]:
    folder = tmp_path_factory.mktemp("runs")
    return folder, carried(folder)


def alone(folder: Path, method: str) -> list[Run]:
    """The single runs of a row, by seed."""
    return sorted((read_run(path) for path in folder.glob(f"{method}-*")), key=lambda run: run.plan["seed"])


def test_every_run_is_whole_and_from_a_seed_of_its_own(done):
    folder, runs = done
    for name, number, searches in (("random", 3, 2), ("gcn", 2, 0)):
        single = alone(folder, name)
        assert [run.plan["seed"] for run in single] == list(range(number))
        assert [len(run.candidates) for run in single] == [searches] * number
        assert runs[name].values("test") == [run.mean("test") for run in single]
        assert runs[name].candidates == sum((run.candidates for run in single), ())
    assert len({tuple(run.metagraphs) for run in alone(folder, "random")}) > 1


def test_each_is_what_a_table_of_one_run_gives_from_that_seed(done, tmp_path):
    _, runs = done
    once = replace(TABLE, methods=METHODS[:1], pipelines=1)
    found = [carried(tmp_path, once, seed=seed)["random"] for seed in range(3)]
    assert [run.mean("test") for run in found] == runs["random"].values("test")


def test_the_table_is_over_all_of_them(done):
    folder, runs = done
    by_cell = {(name, "academic:120"): run for name, run in runs.items()}
    figures, spread = sheets(TABLE, by_cell)
    values = [100 * run.mean("test") for run in alone(folder, "random")]
    assert [row[1] for row in figures.rows] == ["3", "2"]
    assert figures.rows[0][2].startswith(f"{sum(values) / 3:.2f} ± ")
    assert spread.rows[0][1].endswith("(6)")
    assert done_runs(TABLE, folder) == by_cell


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_missing_is_done_and_nothing_else(done, jobs, tmp_path):
    folder, runs = done
    again = shutil.copytree(folder, tmp_path / "again")
    lost = next(path for path in again.glob("random-*") if read_run(path).plan["seed"] == 1)
    kept = {path: (path / "run.json").stat().st_mtime_ns for path in again.glob("*-*") if path != lost}
    shutil.rmtree(lost)
    assert ("random", "academic:120") not in done_runs(TABLE, again)
    told = []
    found = carried(again, jobs=jobs, watch=lambda name, _metric: told.append(name) or Quiet())
    assert found["random"].values("test") == runs["random"].values("test")
    assert told == (["random on academic:120, seed 1"] if jobs == 1 else [])
    assert {path: (path / "run.json").stat().st_mtime_ns for path in kept} == kept


def test_a_table_that_shows_seconds_has_runs_of_its_own(done, tmp_path):
    """Another table may have done the same plan beside other work."""
    folder, _ = done
    again = shutil.copytree(folder, tmp_path / "again")
    once = replace(TABLE, methods=METHODS[:1], pipelines=1)
    assert list(done_runs(once, again)) == [("random", "academic:120")]
    cost = replace(once, kind="cost")
    assert done_runs(cost, again) == {}
    before = set(again.iterdir())
    carried(again, cost)
    (own,) = set(again.iterdir()) - before
    assert own.name.endswith("-timed")
    assert len(done_runs(cost, again)) == 1


def test_all_devices_are_named(done, tmp_path):
    folder, _ = done
    again = shutil.copytree(folder, tmp_path / "again")
    for path in again.glob("gcn-*"):
        if read_run(path).plan["seed"] == 1:
            file = path / "run.json"
            file.write_text(json.dumps(json.loads(file.read_text()) | {"device": "an abacus"}))
    runs = done_runs(TABLE, again)
    assert runs["gcn", "academic:120"].device == f"{runs['random', 'academic:120'].device} and an abacus"


def test_a_row_comes_when_all_of_it_is_there(tmp_path):
    told: list[str] = []
    for method, _, run in carry_out(
        TABLE, tmp_path, device="cpu", watch=lambda name, _metric: told.append(name) or Quiet()
    ):
        told.append(f"{method.name} {len(run.trained)}")
    assert told == [
        "random on academic:120",
        "random on academic:120, seed 1",
        "random on academic:120, seed 2",
        "random 3",
        "gcn on academic:120",
        "gcn on academic:120, seed 1",
        "gcn 2",
    ]


def test_the_number_is_read_from_a_plan_file(tmp_path):
    text = 'title = "t"\nkind = "accuracy"\ndata = ["shop:90"]\nseeds = 1\npipelines = {}\n'
    text += '[methods.gcn]\nbaseline = "gcn"\n'
    (tmp_path / "plan.toml").write_text(text.format(4))
    assert read_reproduction(tmp_path / "plan.toml").pipelines == 4
    (tmp_path / "plan.toml").write_text(text.format(0))
    with pytest.raises(DiffmgError, match=r"`pipelines >= 1` must hold, but got .*pipelines=0"):
        read_reproduction(tmp_path / "plan.toml")
