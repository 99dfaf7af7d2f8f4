from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

import diffmg
from diffmg.core import DiffmgError, Settings
from diffmg.core.budget import Budget
from diffmg.core.candidate import Candidate
from diffmg.datasets import load_dataset
from diffmg.methods.auto import Auto
from diffmg.methods.baselines.gcn import GCN
from diffmg.race.executor import Local
from diffmg.race.field import Field
from diffmg.race.loop import Race
from diffmg.race.on_ray import TRIES, OnRay
from diffmg.race.ray_cluster import check_address
from diffmg.race.ray_worker import on_device, writable
from diffmg.race.rules import Rules
from diffmg.race.trial import Trial
from resuming import assert_same_state, run

ray = pytest.importorskip("ray", reason="needs Ray: pip install 'diffmg[ray]'")
pytest.importorskip("grpc", reason="needs Ray with its client: pip install 'diffmg[ray]'")

pytestmark = pytest.mark.slow

TRAININGS = 72
LONG = 10_000
"""Epochs of a trial that is interrupted."""
QUICK = Settings(dim=8, max_epochs=3, patience=None)


@dataclass(frozen=True)
class Deadly(GCN):
    """Kills the process that trains it."""

    def search(self, problem, settings, seed):
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Faulty(GCN):
    """Has a fault that no trial expects."""

    def search(self, problem, settings, seed):
        raise KeyError("a fault of the method")


@pytest.fixture(scope="module")
def field():
    return Field.of(load_dataset("academic:200"), folds=3)


@pytest.fixture(scope="module")
def executor():
    """A cluster of two workers; the classes of this file are sent by value."""
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with OnRay(workers=2) as started:
        yield started
    ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def race_on(executor, field):
    space = Auto(rivals=False, searches_too=False).space(field.problem, QUICK)
    rules = Rules(Budget(trainings=TRAININGS), 0, 16, field.further, ("chance", "evolution"))
    race = Race(field, space, rules, executor)
    run(race)
    return race


@pytest.fixture(scope="module")
def local(field):
    return race_on(Local(), field)


def trials_of(field, count):
    space, rng = Auto(rivals=False, searches_too=False).space(field.problem, QUICK), random.Random(0)
    return [Trial(space.draw(rng), 1, number % (field.count + 1)) for number in range(count)]


def trial_of(method, epochs=3):
    return Trial(Candidate(method, replace(QUICK, max_epochs=epochs)), 1)


def assert_same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        assert (one.score, one.val_loss, one.best_epoch) == (other.score, other.val_loss, other.best_epoch)
        assert (one.metagraphs, one.error) == (other.metagraphs, other.error)
        assert list(one.weights) == list(other.weights)
        assert all(torch.equal(w, other.weights[name]) for name, w in one.weights.items())
        assert torch.equal(one.votes, other.votes)


def worker_pids(count=8):
    """The processes of the workers: all of them, if the tasks are longer than it takes to hand them out."""

    def pid():
        time.sleep(0.2)
        return os.getpid()

    return set(ray.get([ray.remote(pid).remote() for _ in range(count)]))


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def busy():
    """A worker of this program that is training, if there is one: Ray puts what it does into its title."""
    for folder in Path("/proc").iterdir():
        try:
            training = folder.name.isdecimal() and b"train_trial" in (folder / "cmdline").read_bytes()
            if training and parent(parent(folder.name)) == os.getpid():  # between them is Ray's own process
                return int(folder.name)
        except OSError:
            continue
    return None


def when(condition, action, seconds=20.0):
    """Act in another thread as soon as a condition holds; the list says whether it did."""
    acted = []

    def watch():
        end = time.monotonic() + seconds
        while time.monotonic() < end and not acted:
            found = condition()
            if found:
                action(found)
                acted.append(found)
            time.sleep(0.005)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread, acted


def test_a_race_is_that_of_this_process(executor, field, local):
    race = race_on(executor, field)
    assert race.epoch >= 64
    assert not race.board.failed
    assert_same_state(race, local)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds the workers in /proc")
def test_also_when_a_worker_is_killed_in_the_middle(executor, field, local):
    thread, killed = when(busy, lambda pid: os.kill(pid, signal.SIGKILL))
    race = race_on(executor, field)
    thread.join()
    assert killed, "a worker was training when it was killed"
    assert not Path(f"/proc/{killed[0]}").exists()
    assert not race.board.failed
    assert_same_state(race, local)


def test_a_trial_whose_worker_is_lost_every_time_fails_alone(executor, field):
    good = trials_of(field, 2)
    outcomes = executor.run(field, [good[0], trial_of(Deadly()), good[1]])
    assert outcomes[1].failed
    assert outcomes[1].error == f"its worker was lost {TRIES} times: WorkerCrashedError"
    assert_same([outcomes[0], outcomes[2]], Local().run(field, good))


def test_a_fault_is_raised_as_it_is_here(executor, field):
    for where in (Local(), executor):
        with pytest.raises(KeyError, match="a fault of the method"):
            where.run(field, [trial_of(Faulty())])


def test_no_trials(executor, field):
    assert executor.run(field, []) == []


def test_another_problem_takes_the_place_of_the_first(executor, field, recommendation):
    other = Field.of(recommendation)
    for known in (field, other, field):
        trials = trials_of(known, 2)
        assert_same(executor.run(known, trials), Local().run(known, trials))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds the workers in /proc")
def test_an_interrupt_cancels_what_runs(executor, field):
    main = threading.main_thread().ident
    thread, acted = when(busy, lambda _: signal.pthread_kill(main, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        executor.run(field, [trial_of(GCN(), epochs=LONG)] * 4)
    thread.join()
    assert acted
    good = [trial_of(GCN())]
    assert_same(executor.run(field, good), Local().run(field, good))  # a worker is free again


def test_another_version_is_refused(executor, monkeypatch):
    monkeypatch.setattr(diffmg, "__version__", "9.9.9")
    with (
        pytest.raises(DiffmgError, match=r"every node must have diffmg 9\.9\.9, but got \d.*pip install diffmg==9"),
        OnRay(),
    ):
        pytest.fail("the connection must be refused")
    assert ray.is_initialized(), "a connection that was there before stays"


def test_a_connection_that_was_there_is_used_and_left(executor, field):
    other, trials = OnRay(), trials_of(field, 1)
    assert_same(other.run(field, trials), Local().run(field, trials))
    other.close()
    other.close()
    assert ray.is_initialized()


def test_connected_already(executor):
    with pytest.raises(DiffmgError, match=r"connected to Ray already, but got 'localhost:1'"), OnRay("localhost:1"):
        pytest.fail("the connection must be refused")


SCRIPT = """
import sys
from diffmg.core import Settings
from diffmg.core.candidate import Candidate
from diffmg.datasets import load_dataset
from diffmg.methods.baselines.gcn import GCN
from diffmg.race.field import Field
from diffmg.race.on_ray import OnRay
from diffmg.race.trial import Trial

address, epochs = sys.argv[1] or None, int(sys.argv[2])
field = Field.of(load_dataset("academic:200"))
trial = Trial(Candidate(GCN(), Settings(dim=8, max_epochs=epochs, patience=None)), 1)
with OnRay(address) as executor:
    executor.run(field, [Trial(Candidate(GCN(), Settings(dim=8, max_epochs=1)), 1)])
    print("begun", flush=True)
    print(executor.run(field, [trial])[0].score.hex(), flush=True)
"""


def test_a_running_cluster_is_joined_and_left_running(executor, field):
    address = ray.get_runtime_context().gcs_address
    done = subprocess.run([sys.executable, "-c", SCRIPT, address, "3"], capture_output=True, text=True, check=True)
    wanted = Local().run(field, [trial_of(GCN())])[0].score
    assert done.stdout.splitlines() == ["begun", wanted.hex()]
    assert len(worker_pids()) == 2


def marked(mark):
    """Processes that were started with this mark in their environment."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdecimal() and mark.encode() in (folder / "environ").read_bytes():
                found.append(folder.name)
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds the processes in /proc")
def test_after_ctrl_c_nothing_is_left(tmp_path):
    mark = f"DIFFMG_TEST={tmp_path.name}-{os.getpid()}"
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment = {**plain, "HOME": str(tmp_path), "DIFFMG_TEST": mark.partition("=")[2]}
    before = set(Path("/tmp").glob("diffmg-*"))
    program = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, "", str(LONG)], env=environment, start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert program.stdout.readline() == "begun\n"
        assert len(marked(mark)) > 2, "the program, Ray's own processes and a worker"
        os.killpg(program.pid, signal.SIGINT)  # as a terminal does
        _, errors = program.communicate(timeout=30)
    finally:
        program.kill()
    assert program.returncode == -signal.SIGINT, errors
    assert "KeyboardInterrupt" in errors
    end = time.monotonic() + 10
    while marked(mark) and time.monotonic() < end:
        time.sleep(0.1)
    assert marked(mark) == []
    assert set(Path("/tmp").glob("diffmg-*")) <= before
    assert list(tmp_path.iterdir()) == [], "nothing in the home folder either"


def test_no_cluster_at_the_address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    begun = time.monotonic()
    with pytest.raises(DiffmgError, match=rf"must answer at '{address}'.*ray start --head"):
        check_address(address, 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(DiffmgError, match="but got no answer in 1 s"):
        check_address(f"ray://127.0.0.1:{silent.getsockname()[1]}", 1.0)
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("address", ["somewhere", "ray://", ":6379", "host:", "ray://host:port"])
def test_an_address_has_a_host_and_a_port(address):
    with pytest.raises(DiffmgError, match="HOST:PORT"):
        check_address(address)


def test_ray_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(DiffmgError, match=r"needs Ray, but got.*pip install 'diffmg\[ray\]'"), OnRay():
        pytest.fail("there is nothing to connect to")


@pytest.mark.parametrize("options", [{"num_gpus": 0}, {"workers": 0}, {"workers": 2, "address": "host:1"}])
def test_options_are_checked(options):
    with pytest.raises(DiffmgError, match=next(iter(options))):
        OnRay(**options)


def test_arrays_of_a_worker_can_be_written(field):
    graph = field.problem.graph
    for matrix in graph.adjacency.values():
        for part in (matrix.data, matrix.indices, matrix.indptr):
            part.flags.writeable = False
    try:
        own = writable(field).problem.graph.adjacency
    finally:
        for matrix in graph.adjacency.values():
            for part in (matrix.data, matrix.indices, matrix.indptr):
                part.flags.writeable = True
    for relation, matrix in own.items():
        assert matrix.data.flags.writeable
        assert matrix.indices.flags.writeable
        assert (matrix != graph.adjacency[relation]).nnz == 0


def test_moving_keeps_folds(field, recommendation):
    moved = on_device(field, "cpu")
    assert moved.count == field.count > 0
    assert all(torch.equal(a, b) for a, b in zip(moved.folds.places, field.folds.places, strict=True))
    assert on_device(Field(recommendation), "cpu").folds is None
