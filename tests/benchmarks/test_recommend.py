from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.recommend import RecommendOptions, made, measure_recommend
from diffmg.core.errors import DiffmgError
from diffmg.engine.device import resolve_device

ROOT = Path(__file__).parents[2]
MEMORY = """
import json, torch
from benchmarks.measure import PROCESS, _status
from benchmarks.recommend import RecommendOptions, measure_recommend
torch.set_num_threads(1)
found = measure_recommend(RecommendOptions(6000, 20_000), torch.device("cpu"))
print(json.dumps([found["peak_bytes"], _status("VmRSS"), found["rows"]]))
"""


def test_everyone_is_answered() -> None:
    found = measure_recommend(RecommendOptions(30, 40, k=5, dim=4), resolve_device("cpu"))
    assert found["rows"] == 150
    assert found["seconds"] > 0
    assert found["users_per_second"] == pytest.approx(30 / found["seconds"])


def test_made_vectors_and_what_was_chosen() -> None:
    world = made(RecommendOptions(30, 40, dim=4), resolve_device("cpu"))
    assert [tuple(z.shape) for z in world.outputs] == [(30, 4), (40, 4)]
    assert world.task.seen.sum() == 300


def test_sizes_are_checked() -> None:
    with pytest.raises(DiffmgError, match="`items >= 4` must hold, but got items=3"):
        RecommendOptions(items=3)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peak memory is measured on Linux")
def test_memory_stays_within_a_tenth_of_what_the_process_holds() -> None:
    """All scores at once would be 480 MB."""
    answer = subprocess.run(
        [sys.executable, "-c", MEMORY],
        cwd=ROOT, capture_output=True, text=True, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    peak, held, rows = json.loads(answer.stdout)
    assert rows == 6000 * 20
    assert peak < 0.1 * held + 50e6, (peak, held)
