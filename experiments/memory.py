"""Peak CPU memory of a few epochs of each baseline, each in its own process."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from diffmg.core.errors import DiffmgError
from diffmg.core.method import METHODS, MethodSpec
from diffmg.core.settings import Settings
from diffmg.engine.device import describe_device
from diffmg.runs.provenance import versions
from diffmg.runs.sources import open_problem
from diffmg.training.fitted import training_of
from experiments.jsonl import read_lines, write_lines
from experiments.tables import Sheet

MEMORY = "memory.jsonl"
EPOCHS = 3


def peak_bytes(method: str, data: str) -> int:
    """Peak memory of a process that trains a baseline, including libraries and data."""
    command = [sys.executable, "-m", "experiments.memory", method, data]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise DiffmgError(f"{method} on {data} must train, but got: {done.stderr.strip().splitlines()[-1]}")
    return int(json.loads(done.stdout))


def measure(
    data: Sequence[str], methods: Sequence[str], folder: Path, tell: Callable[[str], object] = lambda _: None
) -> None:
    """Measure all baselines and overwrite earlier measurements."""
    methods = methods or [name for name, kind in METHODS.items() if kind.family == "baseline"]
    peaks: dict[str, dict[str, int]] = {method: {} for method in methods}
    for method in methods:
        for name in data:
            peaks[method][name] = peak_bytes(method, name)
            tell(f"{method} on {name}: {peaks[method][name] / 1e9:.2f} GB")
    command = f"python -m experiments memory --data {' '.join(data)} --methods {' '.join(methods)}"
    about = {"command": command, "device": describe_device(torch.device("cpu")), "versions": versions()}
    write_lines(folder / MEMORY, [about | {"peak_bytes": peaks}])


def memory_table(folder: Path) -> str:
    """Peaks in GB, with the command that measured them."""
    found: list[dict[str, Any]] = read_lines(folder / MEMORY)
    if not found:
        return ""
    peaks = found[0]["peak_bytes"]
    data = list(next(iter(peaks.values())))
    rows = ((method, *(f"{of[name] / 1e9:.2f}" for name in data)) for method, of in peaks.items())
    table = Sheet("", ("peak, GB", *data), tuple(rows)).markdown()
    return f"{table}\n`{found[0]['command']}`; {found[0]['device']}."


def _train(method: str, data: str) -> None:
    problem, settings = open_problem(data), Settings()
    job = training_of(problem, MethodSpec(method).make().network(problem, settings, 0), settings, 0)
    while not job.done and job.epoch < EPOCHS:
        job.advance()
    print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024))


if __name__ == "__main__":
    _train(*sys.argv[1:])
