"""Random search: uniformly sampled meta graphs, each trained fully; the best on validation is selected.

The baseline for any search at the same cost (Li and Talwalkar, UAI 2019). All trials start from the same seed, and
duplicate meta graphs are trained once.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from diffmg.core import METHODS, Count, MetaGraph, SearchSpace, Settings, derive_seed
from diffmg.methods.search._base import SearchMethod, spaces_of
from diffmg.methods.search._trained import MetaGraphs, Trial, judge
from diffmg.tasks.problem import Problem
from diffmg.training import Epoch
from diffmg.training.job import Search


@METHODS.add("random_search")
@dataclass(frozen=True)
class RandomSearch(SearchMethod):
    """Options of the search."""

    trials: Count = 60
    batch: Count = 20
    """Trials trained in parallel: one epoch of the search."""
    operations: Count = 1
    """Operations per link; all candidates where there are fewer."""
    identity_last: bool = False
    """Also allow identity on the link K <- K-1, as the authors' code does."""

    summary = "random meta graphs, each trained for real; the best on validation"

    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:
        """A new search: trials are drawn in advance and trained one batch per epoch."""
        return RandomSearchJob(self, problem, settings, seed)


class RandomSearchJob(Search):
    """A running search: the candidates, and the results of those trained so far."""

    def __init__(self, options: RandomSearch, problem: Problem, settings: Settings, seed: int) -> None:
        self.batch, self.problem, self.settings, self.seed = options.batch, problem, settings, seed
        rng = random.Random(derive_seed(seed, "trials"))
        spaces = spaces_of(problem, options.depth, options.identity_last)
        drawn = (tuple(draw(space, options.operations, rng) for space in spaces) for _ in range(options.trials))
        self.trials = list(dict.fromkeys(drawn))
        self.total = -(-len(self.trials) // self.batch)
        self.results: list[Trial] = []

    def found(self) -> MetaGraphs:
        """The best trial so far; before any training, the first one drawn."""
        return self.trials[self._best() if self.results else 0]

    def advance(self) -> Sequence[Epoch]:
        """Train the next batch; the record is that of the best trial so far."""
        first = self.epoch * self.batch
        self.results += judge(self.problem, self.trials[first : first + self.batch], self.settings, self.seed)
        self.epoch += 1
        return [self.results[self._best()].record(self.epoch)]

    def _best(self) -> int:
        return max(range(len(self.results)), key=lambda n: self.results[n].value)

    def numbers(self) -> dict[str, Any]:
        """Results so far; the trials themselves follow from the seed."""
        return {"shown": [list(trial) for trial in self.results]}

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:  # noqa: ARG002
        """Resume from a saved state."""
        self.results = [Trial(*row) for row in numbers["shown"]]


def draw(space: SearchSpace, operations: int, rng: random.Random) -> MetaGraph:
    """A uniformly random meta graph with `operations` operations per link."""
    picks = [sorted(rng.sample(range(len(c)), min(operations, len(c)))) for c in space.candidates]
    links = (tuple(c[p] for p in ps) for c, ps in zip(space.candidates, picks, strict=True))
    return MetaGraph(space.target, tuple(links))
