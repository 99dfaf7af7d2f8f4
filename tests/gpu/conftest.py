"""The fused kernels on a GPU where there is one, and otherwise on the CPU, in Triton's interpreter."""

from __future__ import annotations

import os

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported


@pytest.fixture
def device() -> torch.device:
    """Where the kernels run."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture(autouse=True)
def memory_not_written_shows(request: pytest.FixtureRequest, device: torch.device) -> None:
    """The kernels leave rows alone that nobody needs: on the CPU these hold NaN."""
    if device.type == "cpu":
        request.getfixturevalue("poisoned")
