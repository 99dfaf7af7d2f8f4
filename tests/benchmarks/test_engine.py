from __future__ import annotations

import pytest
import torch

from benchmarks import engine
from benchmarks.engine import EngineOptions, ReferenceRunner, Work, measure_engine
from diffmg.core.errors import DiffmgError, MissingDataError
from diffmg.core.settings import Settings
from diffmg.training import Training
from diffmg.training.job import Search
from real_data import needs_data, published

CPU = torch.device("cpu")
QUICK = EngineOptions(epochs=3, block=2, warm_up=1)


class Count:
    """A reference that only counts."""

    def __init__(self) -> None:
        self.epochs = 0

    def epoch(self) -> dict[str, float]:
        self.epochs += 1
        return {}


def assert_timing(found: dict, epochs: int) -> None:
    assert 0 < found["low"] <= found["median"] <= found["high"]
    assert found["epochs"] == epochs
    assert found["peak_bytes"] is None or found["peak_bytes"] >= 0


@pytest.mark.parametrize("name", ["academic:120", "shop:160"])
def test_both_programs_are_measured_in_both_kinds_of_work(name):
    found = measure_engine(name, CPU, QUICK)
    assert list(found) == ["nodes", "edges", "least_per_retraining_epoch", "search", "retrain"]
    assert all(number > 0 for number in found["least_per_retraining_epoch"].values())
    assert found["nodes"] > 100
    for work in ("search", "retrain"):
        assert set(found[work]) == {"ours", "yardstick", "ratio"}
        assert_timing(found[work]["ours"], 3)
        assert_timing(found[work]["yardstick"], 3)
        assert set(found[work]["ours"]) == {"median", "low", "high", "epochs", "peak_bytes"}
        assert found[work]["ratio"] == found[work]["yardstick"]["median"] / found[work]["ours"]["median"]


@pytest.fixture
def no_peak(monkeypatch):
    """Peak memory has its own tests, and collecting garbage takes time."""
    monkeypatch.setattr(engine, "peak_bytes", lambda start, device: None)


def test_without_the_reference_there_is_no_ratio(no_peak):
    found = measure_engine("academic:120", CPU, EngineOptions(epochs=1, warm_up=0, yardstick=False))
    for work in ("search", "retrain"):
        assert set(found[work]) == {"ours", "ratio"}
        assert found[work]["ratio"] is None


def test_whole_jobs_are_timed_from_a_fresh_start(no_peak, monkeypatch):
    lengths: list[tuple[int, int]] = []
    plain = engine.advance_to

    def noted(job, goal):
        lengths.append((job.epoch, goal))
        plain(job, goal)

    monkeypatch.setattr(engine, "advance_to", noted)
    monkeypatch.setattr(engine, "WHOLE_SEARCH", 3)
    monkeypatch.setattr(engine, "WHOLE_TRAINING", 2)
    found = measure_engine("academic:120", CPU, EngineOptions(1, 1, 0, yardstick=False, whole=True))
    assert lengths == [(0, 3)] * 4 + [(0, 2)] * 4
    for work in ("search", "retrain"):
        ours = found[work]["ours"]
        assert len(ours["whole_seconds"]) == 3
        assert ours["whole_median"] == sorted(ours["whole_seconds"])[1]
        assert all(s > 0 for s in ours["whole_seconds"])


def test_work_on_made_data_uses_the_defaults_and_a_random_meta_graph():
    work = Work.on("academic:120", CPU)
    assert work.search == engine.DiffMG()
    assert work.settings == Settings(patience=None)
    assert [m.depth for m in work.metagraphs] == [4]
    assert work.metagraphs == Work.on("academic:120", CPU).metagraphs


@needs_data
@pytest.mark.parametrize("name", ["amazon", "dblp"])
def test_work_on_the_papers_data_uses_what_the_authors_published(name):
    work, there = Work.on(name, CPU), published(name)
    assert {m.target: m for m in work.metagraphs} == {m.target: m for m in there.metagraphs}
    assert vars(work.search).items() >= there.search.items()
    assert vars(work.settings).items() >= (there.train | {"patience": None}).items()


def test_the_phases_are_a_search_and_a_training_of_full_length():
    phases = dict(Work.on("academic:120", CPU).phases(seed=0))
    assert list(phases) == ["search", "retrain"]
    search, training = (phases[work].whole(0) for work in ("search", "retrain"))
    assert isinstance(search, Search)
    assert isinstance(training, Training)
    assert (search.total, training.total) == (100, 200)
    assert training.settings.patience is None


def test_the_reference_is_started_once_and_warmed():
    live: list[Count] = []
    runner = ReferenceRunner(lambda: live.append(Count()) or live[-1], warm_up=2)
    for _ in range(3):
        runner.prepare(4)
        assert runner.run(4) == 4
    assert [x.epochs for x in live] == [2 + 3 * 4]


@pytest.mark.parametrize(("wrong", "rule"), [("epochs", 1), ("block", 1), ("warm_up", 0)])
def test_rules_of_the_options(wrong, rule):
    with pytest.raises(DiffmgError, match=rf"`{wrong} >= {rule}` must hold, but got .*{wrong}=-1"):
        EngineOptions(**{wrong: -1})


def test_missing_files_are_said(tmp_path):
    with pytest.raises(MissingDataError, match="but got none in"):
        measure_engine("amazon", CPU, QUICK, tmp_path)
