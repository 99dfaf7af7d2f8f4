"""Train the authors' meta graph from many seeds with the yardstick, and write the scores.

usage: python benchmarks/seeds.py NAME --seeds 100 --device cuda --out FILE [--data-root DIR]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from diffmg.benchmarks.yardstick import train
from diffmg.core.files import write_json
from diffmg.core.plan import settings_from
from diffmg.core.settings import Settings
from diffmg.datasets import DATASETS, load_dataset
from diffmg.engine.device import describe_device, resolve_device
from diffmg.runs.runner import versions


def main() -> None:
    """Train and write one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    published = DATASETS.get(arguments.name)(arguments.name).published()
    problem = load_dataset(arguments.name, root=arguments.data_root).to(resolve_device(arguments.device))
    settings = settings_from(Settings(), published.train)
    metagraphs = problem.arranged(published.metagraphs)
    runs = [train(problem, metagraphs, settings, seed) for seed in range(arguments.seeds)]
    test = np.array([r["test"] for r in runs])
    write_json(
        arguments.out,
        {
            "what": f"yardstick, authors' meta graph, {arguments.name}",
            "command": f"python benchmarks/seeds.py {arguments.name} --seeds {arguments.seeds}",
            "metric": problem.task.metric,
            "device": describe_device(problem.graph.device),
            "versions": versions(),
            "mean": float(test.mean()),
            "std": float(test.std(ddof=1)),
            "runs": runs,
        },
    )
    print(f"{arguments.name}: {100 * test.mean():.2f} ± {100 * test.std(ddof=1):.2f} over {len(runs)} seeds")


if __name__ == "__main__":
    main()
