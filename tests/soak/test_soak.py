"""A handful of stopped runs: each comes to the same end as one that nothing happened to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from fuzz.telling import PAGE
from soak.__main__ import RESULTS, rendered
from soak.access import read_only, two_writers
from soak.disk import can_mount, disk_full
from soak.endurance import is_flat, many_fits, recommending
from soak.power import Synced, power_lost, rebuild
from soak.signals import interrupted, interrupted_twice, killed
from soak.telling import rows_of
from soak.trial import Ground, Happened, Trial, trials
from soak.work import SETTINGS, Work

SHORT = Work("short", ("--method", "diffmg", "-o", "epochs=5", "--beside", "none", *SETTINGS))
QUICK_RACE = Work("race", ("--budget", "4", "--batch", "2", "--beside", "none", *SETTINGS))
FAULTS = (killed, interrupted, interrupted_twice, power_lost, two_writers, read_only)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground(tmp_path_factory.mktemp("soak"))


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
def test_a_run_that_something_happened_to(fault: Trial, ground: Ground) -> None:
    done = [*trials(fault.__name__, fault, 2, ground, (SHORT, QUICK_RACE))]
    assert [one for one in done if one.problems] == []
    assert sum(one.hit for one in done) == 2


@pytest.mark.slow
def test_a_run_on_a_full_disk(ground: Ground) -> None:
    if not can_mount(ground.place / "mount"):
        pytest.skip("no file system can be mounted here")
    done = [*trials("disk full", disk_full, 2, ground, (SHORT,))]
    assert [one for one in done if one.problems] == []


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "now" / "inner").mkdir(parents=True)
    (tmp_path / "now" / "kept").write_bytes(b"old and new")
    (tmp_path / "now" / "inner" / "file").write_bytes(b"inner")
    yield tmp_path


def test_what_was_synced_is_there_after_a_power_cut(folder: Path) -> None:
    now = folder / "now"
    numbers = {path.name: path.stat().st_ino for path in (now, *now.rglob("*"))}
    entries = {name: numbers[name] for name in ("kept", "inner")}
    synced = Synced(
        {numbers["kept"]: b"old and new", numbers["file"]: b"inner"},
        {numbers["now"]: entries, numbers["inner"]: {"file": numbers["file"]}},
    )
    for seed in range(20):
        rebuild(now, folder / str(seed), synced, Random(seed))
        assert (folder / str(seed) / "kept").read_bytes() == b"old and new"
        assert (folder / str(seed) / "inner" / "file").read_bytes() == b"inner"


def test_what_was_not_synced_may_be_lost(folder: Path) -> None:
    now = folder / "now"
    number = (now / "kept").stat().st_ino
    synced = Synced({number: b"old"}, {now.stat().st_ino: {"kept": number}})
    found, inner = set(), set()
    for seed in range(60):
        rebuild(now, folder / str(seed), synced, Random(seed))
        found.add((folder / str(seed) / "kept").read_bytes())
        inner.add((folder / str(seed) / "inner").exists())
    assert {b"old", b"old and"} < found
    assert all(content.startswith(b"old") for content in found)
    assert inner == {True, False}


def test_rows_count_what_hit() -> None:
    happened = [
        Happened("killed", "fit", 0, hit=False),
        Happened("killed", "fit", 1),
        Happened("killed", "fit", 2, ("history.jsonl differs",)),
    ]
    assert rows_of(happened) == [{"fault": "killed", "of": "fit", "times": 2, "same": 1, "missed": 1}]


def test_growth_is_no_flat_line() -> None:
    flat = [{"fits": n, "bytes": 1000 + n, "files": 7} for n in range(10)]
    assert is_flat(flat)
    assert not is_flat([{**row, "files": row["fits"]} for row in flat])
    assert not is_flat([{**row, "bytes": 1000 + 200 * row["fits"]} for row in flat])


@pytest.mark.slow
def test_open_files_do_not_grow_with_fits() -> None:
    rows = many_fits(6, steps=6)
    assert rows[-1]["files"] <= rows[2]["files"]


def test_memory_does_not_grow_with_those_who_are_answered() -> None:
    few, many = recommending(2000, 500), recommending(8000, 500)
    assert many["peak"] - many["base"] < few["peak"] - few["base"] + 16 * 2**20
    assert (few["rows"], many["rows"]) == (2000 * 20, 8000 * 20)


def test_the_page_shows_the_committed_results() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert rendered(page) == page
    rows = json.loads((RESULTS / "soak.json").read_text(encoding="utf-8"))["rows"]
    assert all(row["times"] == row["same"] for row in rows)
    assert sum(row["times"] for row in rows if row["fault"] == "killed") >= 50
