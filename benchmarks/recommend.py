"""Recommending to many: seconds and peak memory of the best items of every user, from made vectors to a file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from benchmarks.measure import peak_bytes, timed
from diffmg.core import Part
from diffmg.core.options import check_rules, check_types
from diffmg.graph.network import HeteroGraph
from diffmg.tasks.answer_files import write_answers
from diffmg.tasks.answers import Answers
from diffmg.tasks.recommendation import Recommendation

SEEN = 10
"""Items that each user has chosen before, which are left out."""

SMALL = 256
"""Users of the first answer, which is not measured."""


@dataclass(frozen=True)
class RecommendOptions:
    """How many, and how long their vectors are."""

    users: int = 1_000_000
    items: int = 100_000
    k: int = 20
    dim: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        check_types(self)
        rules = {f"{name} >= 1": getattr(self, name) >= 1 for name in ("users", "k", "dim")}
        check_rules(self, rules | {"items >= 4": self.items >= 4})


@dataclass(frozen=True)
class Made:
    """A network and a task without training, and vectors drawn at random."""

    graph: HeteroGraph
    task: Recommendation
    outputs: tuple[Tensor, Tensor]


def made(options: RecommendOptions, device: torch.device) -> Made:
    """Users and items of which nothing is known but what was chosen."""
    draw, shape = np.random.default_rng(options.seed), (options.users, options.items)
    users = np.repeat(np.arange(options.users), SEEN)
    seen = np.stack([users, draw.integers(0, options.items, len(users))], axis=1)
    liked: dict[Part, ArrayLike] = {"train": [[0, 0]], "val": [[0, 1]]}
    others: dict[Part, ArrayLike] = {"train": [[0, 2]], "val": [[0, 3]]}
    task = Recommendation.build("user", "item", shape, liked, others, seen=seen)
    graph = HeteroGraph.build({"user": shape[0], "item": shape[1]}, {("user", "chose", "item"): [[0], [0]]})
    vectors = (torch.from_numpy(draw.standard_normal((n, options.dim), np.float32)).to(device) for n in shape)
    return Made(graph, task, tuple(vectors))  # type: ignore[arg-type]  # two of them


class WholeAnswer:
    """Answers every user into a Parquet file; the runner of one epoch that memory is measured of."""

    def __init__(self, world: Made, options: RecommendOptions, device: torch.device) -> None:
        self.world, self.k, self.device = world, options.k, device
        self.found: dict[str, Any] = {}

    def prepare(self, epochs: int) -> None:
        """Nothing to prepare."""

    def run(self, epochs: int) -> int:
        """Answer all users, and keep seconds, rows and the size of the file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "answers.parquet"
            block = timed(lambda: write_answers(path, self._blocks()), self.device)
            self.found = {"seconds": block.seconds, "rows": block.epochs, "file_bytes": path.stat().st_size}
        return epochs

    def _blocks(self) -> Iterator[Answers]:
        return self.world.task.stream(self.world.outputs, self.world.graph, k=self.k)


def measure_recommend(options: RecommendOptions, device: torch.device) -> dict[str, Any]:
    """Seconds from vectors to a whole file, and the memory it takes beside the vectors and what was chosen before.

    A small answer comes first: it loads libraries, which stay.
    """
    small = replace(options, users=min(SMALL, options.users))
    WholeAnswer(made(small, device), small, device).run(1)
    runner = WholeAnswer(made(options, device), options, device)
    peak = peak_bytes(lambda: runner, device)
    users = options.users / runner.found["seconds"]
    return {**runner.found, "users_per_second": users, "peak_bytes": peak}
