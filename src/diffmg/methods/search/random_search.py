"""Random search: meta graphs drawn uniformly, each trained for real, the best on validation taken.

The rival that any search must beat at the same cost (Li and Talwalkar, UAI 2019). All trials start from the same seed,
and a meta graph that is drawn again is not tried again.
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
    """Trials trained side by side: an epoch of the search."""
    operations: Count = 1
    """Operations on each link, all of them where there are fewer candidates."""
    identity_last: bool = False
    """Also allow identity on the link K <- K-1, as the authors' program does."""

    summary = "random meta graphs, each trained for real; the best on validation"

    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:
        """A search whose trials are drawn at once and trained one batch an epoch."""
        return RandomSearchJob(self, problem, settings, seed)


class RandomSearchJob(Search):
    """Live state of one search: the trials, and what those trained so far showed."""

    def __init__(self, options: RandomSearch, problem: Problem, settings: Settings, seed: int) -> None:
        self.batch, self.problem, self.settings, self.seed = options.batch, problem, settings, seed
        rng = random.Random(derive_seed(seed, "trials"))
        spaces = spaces_of(problem, options.depth, options.identity_last)
        drawn = (tuple(draw(space, options.operations, rng) for space in spaces) for _ in range(options.trials))
        self.trials = list(dict.fromkeys(drawn))
        self.total = -(-len(self.trials) // self.batch)
        self.shown: list[Trial] = []

    def found(self) -> MetaGraphs:
        """The best trial so far; before there is one, the first that was drawn."""
        return self.trials[self._best() if self.shown else 0]

    def advance(self) -> Sequence[Epoch]:
        """Train the next batch; the record is the best trial's so far."""
        first = self.epoch * self.batch
        self.shown += judge(self.problem, self.trials[first : first + self.batch], self.settings, self.seed)
        self.epoch += 1
        return [self.shown[self._best()].record(self.epoch)]

    def _best(self) -> int:
        return max(range(len(self.shown)), key=lambda n: self.shown[n].value)

    def numbers(self) -> dict[str, Any]:
        """What was seen of the trials so far; the trials follow from the seed."""
        return {"shown": [list(trial) for trial in self.shown]}

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:  # noqa: ARG002
        """Go on from a saved state."""
        self.shown = [Trial(*row) for row in numbers["shown"]]


def draw(space: SearchSpace, operations: int, rng: random.Random) -> MetaGraph:
    """A meta graph with so many operations a link, every choice of them equally likely."""
    picks = [sorted(rng.sample(range(len(c)), min(operations, len(c)))) for c in space.candidates]
    links = (tuple(c[p] for p in ps) for c, ps in zip(space.candidates, picks, strict=True))
    return MetaGraph(space.target, tuple(links))
