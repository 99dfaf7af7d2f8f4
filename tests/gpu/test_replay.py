"""Epochs that are captured once and replayed: how often they are done, and on a GPU that they are the same."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest
import torch

from diffmg.core.engine import Engine
from diffmg.core.settings import Settings
from diffmg.engine.replay import Replay
from diffmg.methods.search.diffmg import DiffMG, DiffMGSearch
from diffmg.tasks.problem import Problem
from diffmg.training import Epoch, Job, Training, epochs
from resuming import resumed, run
from small_networks import METAGRAPHS, small_classification, small_recommendation, small_unbalanced

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="capturing epochs needs a GPU, and there is none")
Work = Callable[[], None]


@dataclass
class Gpu:
    """Pretends to be one: while it records, work is noted and not done; a replay does what was noted."""

    recording: list[Work] | None = None
    broken: bool = False
    generators: list[object] = field(default_factory=list)
    registered_in_time: bool = True
    done: int = 0
    asked: int = 0

    def step(self) -> None:
        """A step as the host sees it: one piece of work for the GPU."""
        self.asked += 1
        if self.recording is None:
            self._work()
        elif self.broken:
            raise RuntimeError("operation not permitted when stream is capturing\nand more")
        else:
            self.recording.append(self._work)

    def _work(self) -> None:
        self.done += 1


class Graph:
    """What a pretended GPU recorded."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu, self.work = gpu, []

    def register_generator_state(self, generator: object) -> None:
        self.gpu.registered_in_time &= self.gpu.recording is None
        self.gpu.generators.append(generator)

    def capture_begin(self, **_) -> None:
        self.gpu.recording = self.work

    def capture_end(self) -> None:
        self.gpu.recording = None

    def replay(self) -> None:
        for work in self.work:
            work()


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    """In the place of torch's."""
    made = Gpu()
    stream = SimpleNamespace(device="cuda", wait_stream=lambda other: None, synchronize=lambda: None)
    for name, stand_in in {
        "Stream": lambda device: stream,
        "current_stream": lambda device: stream,
        "stream": nullcontext,
        "mem_get_info": lambda device: (9, 10),
        "CUDAGraph": lambda: Graph(made),
    }.items():
        monkeypatch.setattr(torch.cuda, name, stand_in)
    return made


@pytest.mark.parametrize("calls", [[1], [2], [3], [1, 1, 1], [5, 1, 4], [20, 20, 7]])
def test_a_step_is_done_as_often_as_asked(gpu, calls):
    replay = Replay(gpu.step, torch.device("cuda"))
    for number, times in enumerate(calls, start=1):
        replay(times)
        assert gpu.done == sum(calls[:number])


def test_the_host_takes_part_in_two_steps_alone(gpu):
    """In the first, which loads all that is needed, and while the second is recorded."""
    replay = Replay(gpu.step, torch.device("cuda"))
    replay(1)
    assert gpu.asked == 1
    replay(30)
    replay(30)
    assert gpu.asked == 2
    assert gpu.done == 61


def test_random_streams_are_told_before_anything_is_recorded(gpu):
    streams = [torch.Generator(), torch.Generator()]
    Replay(gpu.step, torch.device("cuda"), streams)(3)
    assert gpu.generators == streams
    assert gpu.registered_in_time


def test_what_cannot_be_captured_runs_step_by_step(gpu):
    """Said once, and no epoch is lost or done twice."""
    gpu.broken = True
    replay = Replay(gpu.step, torch.device("cuda"))
    replay(1)
    with pytest.warns(UserWarning, match=r"more slowly: operation not permitted when"):
        replay(4)
    assert (gpu.done, gpu.recording) == (5, None)
    replay(3)
    assert gpu.done == 8


SETTINGS = Settings(dim=6, lr=0.05, max_epochs=30, patience=None)
KINDS = {
    "classification": (small_classification, METAGRAPHS["a path"]),
    "unbalanced": (small_unbalanced, METAGRAPHS["a path"]),
    "recommendation": (small_recommendation, METAGRAPHS["two towers"]),
}
kinds = pytest.mark.parametrize(("made", "metagraphs"), KINDS.values(), ids=KINDS)
ways = pytest.mark.parametrize("fused", [True, False], ids=["kernels", "plain"])


def training(made: Callable[[], Problem], metagraphs, settings: Settings, **switches) -> Training:
    return Training(made().to("cuda", Engine(**switches)), metagraphs, settings, seed=0)


def numbers(history: list[Epoch]) -> torch.Tensor:
    return torch.tensor([[r.epoch, r.train_loss, r.val_loss, r.val_score] for r in history])


def assert_close(one: Job, other: Job) -> None:
    """All that two jobs hold, the streams of random numbers included."""
    torch.testing.assert_close(one.tensors(), other.tensors(), rtol=1e-4, atol=1e-5)
    assert one.numbers() == pytest.approx(other.numbers(), rel=1e-5)


@needs_gpu
@kinds
@ways
def test_a_captured_training_is_the_eager_one(made, metagraphs, fused):
    """With dropout: both draw the same."""
    captured = training(made, metagraphs, SETTINGS, fused=fused)
    eager = training(made, metagraphs, SETTINGS, fused=fused, capture=False)
    histories = [run(job) for job in (captured, eager)]
    assert captured.steps.replay.graph is not None
    assert eager.steps.replay is None
    torch.testing.assert_close(*map(numbers, histories), rtol=1e-5, atol=1e-5)
    assert_close(captured, eager)


@needs_gpu
@kinds
@pytest.mark.parametrize("patience", [1, 4])
def test_patience_stops_a_captured_training_at_the_same_epoch(made, metagraphs, patience):
    """The epochs after it in the same block leave no trace in what is kept."""
    settings = replace(SETTINGS, patience=patience, lr=0.2)
    captured = training(made, metagraphs, settings)
    eager = training(made, metagraphs, settings, capture=False)
    histories = [run(job) for job in (captured, eager)]
    assert (captured.epoch, captured.best_epoch) == (eager.epoch, eager.best_epoch)
    assert captured.best_weights.epoch.item() == captured.best_epoch
    torch.testing.assert_close(*map(numbers, histories), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(captured.best, eager.best, rtol=1e-4, atol=1e-5)


@needs_gpu
@kinds
def test_a_captured_training_goes_on_from_a_saved_state(made, metagraphs, monkeypatch):
    def make() -> Training:
        return training(made, metagraphs, SETTINGS)

    straight = make()
    history = run(straight)
    monkeypatch.setattr(epochs, "BLOCK", 7)
    stopped = make()
    run(stopped, 14)
    again = resumed(stopped, make)
    assert again.epoch == 14
    torch.testing.assert_close(numbers(run(again)), numbers(history[14:]), rtol=1e-5, atol=1e-5)
    assert_close(again, straight)


@needs_gpu
@pytest.mark.parametrize("single_level", [False, True])
@pytest.mark.parametrize("made", [small_classification, small_recommendation])
def test_a_captured_search_is_the_eager_one(made, single_level):
    pytest.importorskip("triton", reason="a search is captured only with the fused kernels, which need Triton")
    options = DiffMG(epochs=30, single_level=single_level)
    searches = [
        DiffMGSearch(options, made().to("cuda", Engine(capture=capture)), depth=3, dim=6, seed=0)
        for capture in (True, False)
    ]
    histories = [run(search) for search in searches]
    assert searches[0].steps.replay.graph is not None
    torch.testing.assert_close(*map(numbers, histories), rtol=1e-5, atol=1e-5)
    assert_close(*searches)
    assert searches[0].found() == searches[1].found()


@needs_gpu
def test_a_search_without_the_kernels_is_not_captured():
    """The host builds each sample's meta graph."""
    search = DiffMGSearch(DiffMG(epochs=3), small_classification().to("cuda", Engine(fused=False)), 2, 6, seed=0)
    assert search.steps.replay is None
    assert len(run(search)) == 3


@needs_gpu
@kinds
def test_a_gpu_trains_as_a_cpu_does(made, metagraphs):
    settings = replace(SETTINGS, dropout=0.0, max_epochs=10)
    here = Training(made(), metagraphs, settings, seed=0)
    histories = [run(job) for job in (training(made, metagraphs, settings), here)]
    torch.testing.assert_close(*map(numbers, histories), rtol=1e-3, atol=1e-4)
