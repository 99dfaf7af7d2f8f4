"""Scores with and without each optimisation: differences must stay within the variation between seeds."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch

from diffmg.core.engine import Engine
from diffmg.core.errors import DiffmgError
from diffmg.core.options import check_rules, check_types
from diffmg.core.seeds import derive_seed
from diffmg.core.settings import Settings
from diffmg.runs.model import scores_on
from diffmg.runs.sources import open_problem, published_for
from diffmg.tasks.problem import Problem
from diffmg.training import train_parallel
from diffmg.training.training import outputs_of

VARIANTS = {
    "default": Engine(),
    "epochs not captured": Engine(capture=False),
    "kernels not fused": Engine(fused=False),
    "neither": Engine(fused=False, capture=False),
    "states in bfloat16": Engine(storage="bfloat16"),
    "16 columns at a time": Engine(columns=16),
}
"""The first two switches are for a GPU."""


@dataclass(frozen=True)
class ScoresOptions:
    """Number of trainings per variant."""

    repeats: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        check_types(self)
        check_rules(self, {"repeats >= 2": self.repeats >= 2})


def measure_scores(name: str, device: torch.device, options: ScoresOptions, root: Path | None) -> dict[str, Any]:
    """Test scores of the authors' meta graphs, trained from the same seeds with each variant of the engine."""
    published = published_for(name)
    if published is None:
        raise DiffmgError(f"scores are compared on the authors' meta graphs, but got {name!r}, which has none")
    problem = open_problem(name, root=root).to(device)
    settings = Settings(**published.train)
    skipped = () if device.type == "cuda" else ("epochs not captured", "kernels not fused", "neither")
    candidates = [(published.metagraphs, derive_seed(options.seed, "train", n)) for n in range(options.repeats)]
    found = {}
    for variant, engine in VARIANTS.items():
        if variant not in skipped:
            found[variant] = _trained(problem.to(device, engine), candidates, settings)
    return {"metric": problem.task.metric, "variants": found}


def _trained(problem: Problem, candidates: Any, settings: Settings) -> dict[str, Any]:
    start = time.perf_counter()
    trainings = train_parallel(problem, candidates, settings)
    seconds = time.perf_counter() - start
    scores = []
    for training in trainings:
        outputs = outputs_of(training.best_model(), problem)
        scores.append(scores_on(problem, outputs, "test")[problem.task.metric])
    return {"mean": mean(scores), "std": stdev(scores), "scores": scores, "seconds_together": seconds}
