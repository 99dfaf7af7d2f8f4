from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from diffmg.core import Settings
from diffmg.core.candidate import Candidate
from diffmg.methods.baselines.gcn import GCN
from diffmg.methods.baselines.mlp import MLP
from diffmg.methods.baselines.rgcn import RGCN
from diffmg.race.executor import Local, run_here
from diffmg.race.field import Field
from diffmg.race.trial import Trial
from diffmg.race.workers import Workers

SETTINGS = Settings(dim=8, max_epochs=3, patience=None)


@dataclass(frozen=True)
class Deadly(GCN):
    """Kills the process that builds it."""

    def network(self, problem, settings, seed, metagraphs=()):
        os.kill(os.getpid(), signal.SIGKILL)
        return super().network(problem, settings, seed, metagraphs)


@pytest.fixture
def two_cores():
    torch.set_num_threads(2)
    local = Local()
    yield local
    local.close()
    torch.set_num_threads(1)


def trials(count: int) -> list[Trial]:
    return [Trial(Candidate(GCN(layers=1 + n % 2), SETTINGS), seed=n) for n in range(count)]


def test_outcomes_are_those_of_this_process_bit_for_bit(classification, two_cores):
    field, several = Field.of(classification, 3), [*trials(3), Trial(Candidate(GCN(), SETTINGS), 0, fold=2)]
    found, wanted = two_cores.run(field, several), run_here(field, several)
    for one, other in zip(found, wanted, strict=True):
        assert (one.score, one.best_epoch, one.error) == (other.score, other.best_epoch, other.error)
        assert all(torch.equal(one.weights[name], t) for name, t in other.weights.items())
        assert torch.equal(one.votes, other.votes)
    first = two_cores.workers
    two_cores.run(field, several[:1])
    assert two_cores.workers is first, "they are kept for the next batch"


def test_methods_that_are_new_or_slow_begin_first(classification):
    workers = Workers(Field(classification), 2)
    several = [Trial(Candidate(kind(), SETTINGS), 0) for kind in (MLP, GCN, RGCN, MLP)]
    assert workers._longest_first(several) == [0, 1, 2, 3]
    workers.seconds |= {MLP: 1.0, GCN: 3.0}
    assert workers._longest_first(several) == [2, 1, 0, 3]


def test_outcomes_are_in_the_order_of_the_trials_whichever_begin_first(classification, two_cores):
    field = Field(classification)
    several = [Trial(Candidate(kind(), SETTINGS), 0) for kind in (MLP, GCN, MLP)]
    wanted = [outcome.score for outcome in run_here(field, several)]
    assert [outcome.score for outcome in two_cores.run(field, several)] == wanted
    assert set(two_cores.workers.seconds) == {MLP, GCN}
    two_cores.workers.seconds[GCN] = 1e9
    assert [outcome.score for outcome in two_cores.run(field, several)] == wanted


@pytest.mark.slow
def test_a_trial_that_kills_its_process_fails_alone(recommendation):
    workers = Workers(Field(recommendation), 2)
    deadly = Trial(Candidate(Deadly(), SETTINGS), 0)
    try:
        one, dead, other = workers.begin([trials(1)[0], deadly, trials(1)[0]])()
    finally:
        workers.close()
    assert not one.failed
    assert not other.failed
    assert "process died" in dead.error


KILLED = """
import os, signal
from diffmg import load_dataset
from diffmg.core import Settings
from diffmg.core.candidate import Candidate
from diffmg.methods.baselines.gcn import GCN
from diffmg.methods.baselines.mlp import MLP
from diffmg.methods.baselines.rgcn import RGCN
from diffmg.race.field import Field
from diffmg.race.trial import Trial
from diffmg.race.workers import Workers

if __name__ == "__main__":
    workers = Workers(Field(load_dataset("academic:400")), 2)
    workers.begin([Trial(Candidate(GCN(), Settings(dim=4, max_epochs=1)), seed) for seed in range(4)])()
    print(*workers.pool._processes, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_workers_do_not_outlive_a_parent_that_was_killed(tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    numbers = [int(number) for number in done.stdout.split()]
    assert numbers
    end = time.monotonic() + 20
    while any(map(is_running, numbers)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(map(is_running, numbers))


def is_running(number: int) -> bool:
    """Whether a process is there and not only waiting to be forgotten."""
    status = Path(f"/proc/{number}/status")
    return status.exists() and "zombie" not in status.read_text()
