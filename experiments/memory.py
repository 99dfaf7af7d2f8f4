"""Train every baseline for a few epochs, each in a process of its own, and write the most memory it ever had.

usage: python benchmarks/memory.py --data dblp yelp douban --methods gtn han ... --out FILE
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path

import torch

from diffmg.core.files import write_json
from diffmg.core.settings import Settings
from diffmg.engine.device import describe_device
from diffmg.methods.baselines import BASELINES, make_baseline
from diffmg.runs.runner import versions
from diffmg.runs.sources import open_problem
from diffmg.training import ModelTraining

EPOCHS = 3


def train(method: str, data: str) -> None:
    """Train on the CPU and print the peak of this process in bytes."""
    problem, settings = open_problem(data), Settings()
    job = ModelTraining(problem, make_baseline(method).build(problem, settings, 0), settings, 0)
    while job.epoch < EPOCHS:
        job.advance()
    print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024))


def main() -> None:
    """Measure all and write one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["dblp", "yelp", "douban"])
    parser.add_argument("--methods", nargs="+", default=sorted(dict(BASELINES.items())))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", action="store_true", help="measure one, in this process")
    given = parser.parse_args()
    if given.one:
        train(given.methods[0], given.data[0])
        return
    peaks: dict[str, dict[str, int]] = {}
    for method in given.methods:
        for data in given.data:
            command = [sys.executable, __file__, "--one", "--methods", method, "--data", data]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            peaks.setdefault(method, {})[data] = json.loads(done.stdout)
            print(method, data, f"{peaks[method][data] / 1e9:.2f} GB", flush=True)
    command = f"python benchmarks/memory.py --data {' '.join(given.data)} --methods {' '.join(given.methods)}"
    device = describe_device(torch.device("cpu"))
    write_json(given.out, {"command": command, "device": device, "versions": versions(), "peak_bytes": peaks})


if __name__ == "__main__":
    main()
