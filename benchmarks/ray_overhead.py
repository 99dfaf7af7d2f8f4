"""`python -m benchmarks.ray_overhead`: what a race on Ray costs for every candidate, as one line of JSON."""

from __future__ import annotations

import json
import random
import time
from typing import Annotated, Any

import torch
import typer

from diffmg.core.settings import Settings
from diffmg.methods.auto import Auto
from diffmg.race.executor import Executor, Local
from diffmg.race.field import Field
from diffmg.race.on_ray import OnRay
from diffmg.race.trial import Trial
from diffmg.runs.sources import open_problem

EPOCHS = 5


def measure(data: str, candidates: int, repeats: int, seed: int = 0) -> dict[str, Any]:
    """The same trials in this process and on a cluster with one worker, taking turns; the fastest of each counts.

    With one thread here and one worker there nothing is done at the same time, so the difference is what Ray costs.
    """
    torch.set_num_threads(1)
    field = Field.of(open_problem(data))
    trials = drawn(field, candidates, seed)
    begun = time.perf_counter()
    with OnRay(workers=1) as executor:
        start = time.perf_counter() - begun
        first = seconds(executor, field, trials[:1])
        pairs = [(seconds(Local(), field, trials), seconds(executor, field, trials)) for _ in range(repeats)]
    alone, on_ray = (min(times) for times in zip(*pairs, strict=True))
    return {
        "data": data, "candidates": candidates, "epochs": EPOCHS, "repeats": repeats,
        "start_seconds": round(start, 3), "first_trial_seconds": round(first, 3),
        "alone_ms": round(1000 * alone / candidates, 2), "on_ray_ms": round(1000 * on_ray / candidates, 2),
        "overhead_ms": round(1000 * (on_ray - alone) / candidates, 2),
    }  # fmt: skip


def drawn(field: Field, count: int, seed: int) -> list[Trial]:
    """Trials of random candidates with a meta graph."""
    space = Auto(rivals=False, searches_too=False).space(field.problem, Settings(max_epochs=EPOCHS, patience=None))
    rng = random.Random(seed)
    return [Trial(space.draw(rng), seed, number % (field.count + 1)) for number in range(count)]


def seconds(executor: Executor, field: Field, trials: list[Trial]) -> float:
    """How long an executor takes."""
    begun = time.perf_counter()
    executor.run(field, trials)
    return time.perf_counter() - begun


def main(
    data: Annotated[str, typer.Option("--data", help="A data set, as in `fit`.")] = "academic:200",
    candidates: Annotated[int, typer.Option("--candidates", help="Trials of a turn.")] = 64,
    repeats: Annotated[int, typer.Option("--repeats", help="Turns of each.")] = 5,
) -> None:
    """Measure and print."""
    typer.echo(json.dumps(measure(data, candidates, repeats)))


if __name__ == "__main__":
    typer.run(main)
