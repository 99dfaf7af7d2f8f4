from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, settings

from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.tasks import NodeRegression
from diffmg.tasks.problem import Problem

os.environ.pop("COLUMNS", None)  # or consoles keep the width that the test runner has when they are made
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background: tests of Ctrl-C need it
    signal.signal(signal.SIGINT, signal.default_int_handler)
torch.set_num_threads(1)  # the tensors are tiny: threads cost more than they save

settings.register_profile("default", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Refuse names that change with the hash seed: parallel workers must collect the same tests."""
    values = item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
    if any(isinstance(value, set | frozenset) and len(value) > 1 and str(value) in item.name for value in values):
        raise pytest.UsageError(f"{item.nodeid} is named by a set, whose order changes from run to run: use a list")


@pytest.fixture
def poisoned() -> Iterator[None]:
    """Memory that was not written holds NaN: whoever reads it shows."""
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(3).isnan().all()
        yield
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.fixture(scope="session")
def classification() -> Problem:
    """A small network whose authors have one of four fields."""
    return load_dataset("academic:120")


@pytest.fixture(scope="session")
def recommendation() -> Problem:
    """A small network of users and items."""
    return load_dataset("shop:160")


@pytest.fixture(scope="session")
def regression() -> Problem:
    """The network of `classification`, whose authors have a number that their field tells."""
    made = load_dataset("academic:120")
    task: Any = made.task
    noise = np.random.default_rng(0).normal(0, 0.5, len(task.labels))
    return Problem(made.graph, NodeRegression.build("author", 50 + 10 * task.labels.numpy() + noise, **task.parts))


@pytest.fixture(params=["classification", "recommendation", "regression"])
def problem(request: pytest.FixtureRequest) -> Problem:
    """Each kind of task in turn."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def quick() -> Settings:
    """Settings that train in no time."""
    return Settings(dim=8, max_epochs=5, patience=None)
