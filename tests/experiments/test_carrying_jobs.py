"""Runs in processes beside each other: the same runs, and one that fails leaves the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.run import Run
from diffmg.reproduction import Method, Reproduction, carry_out, carrying, done_runs, tasks
from diffmg.training import Quiet, Watch

DATA = "academic:120"
QUICK = {"dim": 8, "max_epochs": 4, "patience": None}
METHODS = (
    Method("mlp", baseline="mlp", settings={"all": QUICK}),
    Method("random", strategy="random", search_seeds=2, settings={"all": QUICK}),
    Method("wild", baseline="mlp", settings={"all": {**QUICK, "lr": 1e30}}),
)
"""The last has no epoch with a score."""


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the processes that are started too: the order of a sum is that of one thread."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def table(folder: Path, *methods: Method, budget: int = 0, seeds: int = 1) -> Reproduction:
    tuned = folder / "best"
    return Reproduction("small", "accuracy", (DATA,), seeds, methods, {}, budget=budget, tuned=tuned)


def carried(of: Reproduction, folder: Path, jobs: int, **options) -> dict[str, Run]:
    return {m.name: run for m, _, run in carry_out(of, folder, device="cpu", jobs=jobs, **options)}


def test_two_at_a_time_give_the_same_as_one(tmp_path: Path) -> None:
    found = []
    for jobs in (1, 2):
        place = tmp_path / str(jobs)
        runs = carried(table(place, *METHODS[:2], budget=2, seeds=2), place / "runs", jobs)
        files = {path.name: path.read_text() for path in (place / "best").iterdir()}
        shown = {name: (run.status, run.plan, run.candidates, run.chosen, run.trained) for name, run in runs.items()}
        found.append((files, shown, sorted(path.name for path in (place / "runs").iterdir())))
    assert found[0] == found[1]
    assert set(found[0][1]) == {"mlp", "random"}
    assert all(len(shown[-1]) == 2 for shown in found[0][1].values())


def test_one_that_fails_leaves_the_others_and_is_named(tmp_path: Path) -> None:
    of = table(tmp_path, METHODS[2], *METHODS[:2])
    taken = carrying.folder_of(tmp_path, "mlp", of.plan(METHODS[0], DATA, 0, "cpu"))
    taken.write_text("in the way")
    seen: list[str] = []
    with pytest.raises(DiffmgError) as caught:
        seen.extend(method.name for method, _, _ in carry_out(of, tmp_path, device="cpu", jobs=2))
    assert seen == ["random"]
    assert set(done_runs(of, tmp_path)) == {("random", DATA)}
    words = str(caught.value)
    assert "but 2 failed: " in words
    assert f"wild on {DATA}: training must have an epoch with a validation score" in words
    assert f"mlp on {DATA}: a run needs a new or empty folder, but got {str(taken)!r}" in words
    taken.unlink()
    assert carried(of.part([], ["mlp", "random"], None), tmp_path, 1)["mlp"].status == "done"


def test_a_choice_that_fails_leaves_the_other_choices(tmp_path: Path) -> None:
    of = table(tmp_path, *METHODS[:2], budget=1)
    place = tmp_path / "best" / "mlp-academic-120.toml"
    (tmp_path / "best").symlink_to(tmp_path / "there")
    (tmp_path / "there").mkdir()
    place.symlink_to(tmp_path / "nowhere" / "mlp.toml")
    with pytest.raises(DiffmgError, match=f"settings of mlp on {DATA}: could not write"):
        carried(of, tmp_path / "runs", 2)
    assert (tmp_path / "best" / "random-academic-120.toml").exists()


def test_what_is_done_starts_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = table(tmp_path, METHODS[0], budget=1)
    runs = carried(of, tmp_path / "runs", 1)
    monkeypatch.setattr(carrying, "_choose", None)
    monkeypatch.setattr(carrying, "_run", None)
    assert carried(of, tmp_path / "runs", 2) == runs


def test_whoever_stops_listening_leaves_what_has_not_begun(tmp_path: Path) -> None:
    methods = [Method(f"mlp{n}", baseline="mlp", settings={"all": QUICK}) for n in range(12)]
    told = carry_out(table(tmp_path, *methods), tmp_path, device="cpu", jobs=2)
    next(told)
    told.close()
    assert 1 <= len(list(tmp_path.iterdir())) < 12


def test_processes_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []
    monkeypatch.setattr(tasks.torch, "get_num_threads", lambda: 8)
    monkeypatch.setattr(tasks.torch, "set_num_threads", threads.append)
    for jobs in (2, 3, 20):
        tasks.share_cores(jobs)
    assert threads == [4, 2, 1]


def test_one_at_a_time_stops_at_the_first_that_fails(tmp_path: Path) -> None:
    """In this process, where whoever watches sees it happen."""
    asked = []

    def watch(name: str, _metric: str) -> Watch:
        asked.append(name)
        return Quiet()

    with pytest.raises(DiffmgError, match="training must have an epoch with a validation score"):
        carried(table(tmp_path, METHODS[2], METHODS[0]), tmp_path, 1, watch=watch)
    assert asked == [f"wild on {DATA}"]
