from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks import measure
from benchmarks.measure import Block, JobRunner, advance_to, alternate, machine, peak_bytes, report, summary, timed

CPU = torch.device("cpu")


class FakeJob:
    """A job that does several epochs at once, and never past its end."""

    def __init__(self, seed: int, total: int, at_once: int) -> None:
        self.seed, self.total, self.at_once, self.epoch = seed, total, at_once, 0

    def advance(self) -> None:
        assert self.epoch < self.total, "a job that is done must not be advanced"
        self.epoch = min(self.epoch + self.at_once, self.total)


class Jobs:
    """Starts jobs and remembers them."""

    def __init__(self, total: int, at_once: int = 1) -> None:
        self.total, self.at_once = total, at_once
        self.started: list[FakeJob] = []

    def __call__(self, seed: int) -> FakeJob:
        self.started.append(FakeJob(seed, self.total, self.at_once))
        return self.started[-1]


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


class Noted:
    """A runner that notes what it is asked for and takes its time."""

    def __init__(self, name: str, log: list[str], clock: Clock, per_epoch: float) -> None:
        self.name, self.log, self.clock, self.per_epoch = name, log, clock, per_epoch

    def prepare(self, epochs: int) -> None:
        self.clock.now += 1000

    def run(self, epochs: int) -> int:
        self.log.append(f"{self.name}{epochs}")
        self.clock.now += self.per_epoch * epochs
        return epochs


class Holder:
    """A runner that holds memory while it works."""

    def __init__(self, count: int) -> None:
        self.count = count

    def prepare(self, epochs: int) -> None:
        np.ones(self.count)

    def run(self, epochs: int) -> int:
        return epochs


@pytest.mark.parametrize(("goal", "at_once", "reached"), [(0, 1, 0), (3, 1, 3), (3, 2, 4), (3, 50, 10), (10, 4, 10)])
def test_a_job_is_advanced_to_its_goal_or_a_little_further(goal, at_once, reached):
    job = FakeJob(0, 10, at_once)
    advance_to(job, goal)
    assert job.epoch == reached


def test_a_runner_warms_its_job_and_starts_the_next_when_it_is_used_up():
    jobs = Jobs(total=10)
    runner = JobRunner(jobs, seed=7, warm_up=3)
    done = []
    for _ in range(4):
        runner.prepare(3)
        done.append((runner.run(3), len(jobs.started), jobs.started[-1].epoch))
    assert done == [(3, 1, 6), (3, 1, 9), (3, 2, 6), (3, 2, 9)]
    assert [job.seed for job in jobs.started] == [7, 8]


def test_a_runner_counts_the_epochs_that_were_done():
    runner = JobRunner(Jobs(total=100, at_once=8), seed=0, warm_up=0)
    runner.prepare(5)
    assert runner.run(5) == 8


@pytest.mark.parametrize("at_once", [1, 50])
def test_a_job_that_is_too_short_to_be_warmed_is_timed_whole(at_once):
    jobs = Jobs(total=6, at_once=at_once)
    runner = JobRunner(jobs, seed=0, warm_up=3)
    for _ in range(3):
        runner.prepare(6)
        assert runner.run(6) == 6


def test_a_block_longer_than_a_job_is_the_whole_job():
    runner = JobRunner(Jobs(total=4), seed=0, warm_up=10)
    runner.prepare(9)
    assert runner.run(9) == 4


def test_runners_take_turns_and_preparing_is_not_timed(monkeypatch):
    log, clock = [], Clock()
    monkeypatch.setattr(measure, "time", clock)
    runners = [Noted("a", log, clock, 1.0), Noted("b", log, clock, 3.0)]
    blocks = alternate(runners, epochs=7, block=3, device=CPU)
    assert log == ["a3", "b3", "a3", "b3", "a1", "b1"]
    assert blocks == [[Block(3.0, 3), Block(3.0, 3), Block(1.0, 1)], [Block(9.0, 3), Block(9.0, 3), Block(3.0, 1)]]


def test_seconds_are_seconds():
    assert 0.03 <= timed(lambda: time.sleep(0.03) or 2, CPU).seconds < 3


def test_a_summary_has_the_median_and_the_quartiles_per_epoch():
    blocks = [Block(2.0, 2), Block(6.0, 2), Block(2.0, 1), Block(8.0, 2), Block(5.0, 1)]
    assert summary(blocks) == {"median": 3.0, "low": 2.0, "high": 4.0, "epochs": 8}


def test_peak_memory_is_what_the_work_holds_beyond_what_was_held():
    held = np.ones(10**6)
    peak = peak_bytes(lambda: Holder(5 * 10**6), CPU)
    if peak is None:
        pytest.skip("this system does not tell a process's peak memory")
    assert peak == pytest.approx(40e6, rel=0.1)
    assert peak_bytes(lambda: Holder(10), CPU) < 5e6, "the peak starts anew"
    assert held.sum() == 10**6


def test_peak_memory_is_unknown_where_the_system_does_not_tell(monkeypatch, tmp_path):
    ran: list[int] = []
    monkeypatch.setattr(measure, "PROCESS", tmp_path / "none")
    assert peak_bytes(lambda: ran.append(1) or Holder(10), CPU) is None
    assert ran == [1]


def test_on_a_gpu_its_own_peak_counts_and_the_clock_waits_for_it(monkeypatch):
    calls: list[str] = []
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda device: calls.append("reset"))
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: calls.append("read") or 123)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: calls.append("wait"))
    gpu = torch.device("cuda")
    assert peak_bytes(lambda: calls.append("work") or Holder(10), gpu) == 123
    timed(lambda: calls.append("work") or 1, gpu)
    assert calls == ["reset", "work", "read", "wait", "work", "wait"]


def test_the_machine_is_described():
    found = machine(CPU)
    assert set(found) == {"cpu", "cores", "threads", "memory_bytes", "load_before", "device", "gpu"}
    assert found["threads"] == torch.get_num_threads()
    assert found["device"].startswith("cpu")
    assert found["gpu"] is None
    assert found["cpu"]
    assert found["memory_bytes"] > 1e8


def test_a_report_says_what_how_and_with_what():
    found = report("speed", "python -m benchmarks", {"cores": 2}, {"a": 1})
    assert {k: found[k] for k in ("what", "command", "machine", "results")} == {
        "what": "speed",
        "command": "python -m benchmarks",
        "machine": {"cores": 2},
        "results": {"a": 1},
    }
    assert found["versions"]["torch"] == torch.__version__


def test_size_of_a_network_counts_all_nodes_and_edges(classification):
    graph = classification.graph
    edges = sum(graph.edge_index(relation).shape[1] for relation in graph.schema.relations)
    assert measure.size_of(classification) == {"nodes": sum(graph.num_nodes.values()), "edges": edges}


def test_a_file_of_fields_is_read(tmp_path: Path):
    file = tmp_path / "status"
    file.write_text("Name:\tx\nVmRSS:\t  12 kB\n")
    assert measure._field(file, "VmRSS") == "12 kB"
    assert measure._field(file, "VmHWM") is None
    assert measure._field(tmp_path / "none", "VmRSS") is None
