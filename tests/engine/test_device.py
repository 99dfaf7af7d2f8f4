from __future__ import annotations

import pytest
import torch

from diffmg.core.errors import DiffmgError
from diffmg.engine.device import describe_device, resolve_device


@pytest.fixture
def gpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that there is a GPU, or that there is none."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: request.param)


@pytest.mark.parametrize(
    ("gpu", "choice", "device"),
    [
        (True, "auto", "cuda"),
        (True, "cuda", "cuda"),
        (True, "cpu", "cpu"),
        (False, "auto", "cpu"),
        (False, "cpu", "cpu"),
    ],
    indirect=["gpu"],
)
def test_a_gpu_is_taken_where_there_is_one_and_it_is_wanted(gpu: None, choice: str, device: str) -> None:
    assert resolve_device(choice) == torch.device(device)


@pytest.mark.parametrize("gpu", [False], indirect=True)
def test_cuda_without_a_gpu_says_what_to_do(gpu: None) -> None:
    with pytest.raises(DiffmgError, match="use 'cpu'"):
        resolve_device("cuda")


@pytest.mark.parametrize("choice", ["gpu", "cuda:1", ""])
def test_an_unknown_device_lists_the_known_ones(choice: str) -> None:
    with pytest.raises(DiffmgError, match="auto, cpu, cuda"):
        resolve_device(choice)


def test_the_cpu_is_described_with_its_threads() -> None:
    assert describe_device(torch.device("cpu")) == f"cpu, {torch.get_num_threads()} threads"


def test_a_gpu_is_described_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"card of {device}")
    assert describe_device(torch.device("cuda")) == "card of cuda"
