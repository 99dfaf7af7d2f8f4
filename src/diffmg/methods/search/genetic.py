"""Genetic search in the manner of GEMS (Han et al., CIKM 2020) on DiffMG's search space and encoder.

A population of meta graphs, each trained for real and judged on validation, is bred for some generations: parents win
tournaments, a child takes each link from one of two parents and some links at random, the best live on. Scores are kept
by meta graph: none is trained twice. Population and generations are those the paper ran GEMS with.

Left out of GEMS: its own space of meta structures between two ends and the operators on them, its rules and its
predictor that turn candidates down untrained, and its model, which joins several meta structures by attention.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from torch import Tensor

from diffmg.core import METHODS, Count, Settings, Share, derive_seed
from diffmg.methods.search._base import SearchMethod, spaces_of
from diffmg.methods.search._trained import MetaGraphs, Trial, judge
from diffmg.tasks.problem import Problem
from diffmg.training import Epoch
from diffmg.training.job import Search

Genes = tuple[int, ...]
"""The number of the candidate on each link, tower after tower."""


@METHODS.add("genetic")
@dataclass(frozen=True)
class Genetic(SearchMethod):
    """Options of the search."""

    population: Count = 20
    generations: Count = 100
    tournament: Count = 3
    """A parent is the best of so many, drawn from the population."""
    crossover: Share = 0.9
    """Probability that a child has two parents: each link is then taken from either."""
    mutation: Share = 0.1
    """Probability for each link of a child to take another candidate."""
    elite: int = 2
    """The best so many of a generation live on in the next."""
    identity_last: bool = False
    """Also allow identity on the link K <- K-1, as the authors' program does."""

    summary = "genetic search, each candidate trained for real"

    def rules(self) -> dict[str, bool]:
        """What must hold, as formulas."""
        return {"0 <= elite < population": 0 <= self.elite < self.population}

    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:
        """A search from a random population, which is its first generation."""
        return GeneticSearch(self, problem, self.depth, settings, seed)


class GeneticSearch(Search):
    """Live state of one search: the population and the scores of all that were ever trained."""

    def __init__(self, options: Genetic, problem: Problem, depth: int, settings: Settings, seed: int) -> None:
        self.options, self.problem, self.settings, self.seed = options, problem, settings, seed
        self.total = options.generations
        self.spaces = spaces_of(problem, depth, options.identity_last)
        self.counts = tuple(len(c) for space in self.spaces for c in space.candidates)
        rng = self._chance()
        self.population = [tuple(map(rng.randrange, self.counts)) for _ in range(options.population)]
        self.shown: dict[Genes, Trial] = {}

    def found(self) -> MetaGraphs:
        """The best meta graphs ever trained; before there are any, the first of the population."""
        return self._metagraphs(self._ranked(self.shown)[0] if self.shown else self.population[0])

    def advance(self) -> Sequence[Epoch]:
        """One generation; the record is the best candidate's so far."""
        if self.epoch > 0:
            self.population = self._bred()
        fresh = [genes for genes in dict.fromkeys(self.population) if genes not in self.shown]
        trials = judge(self.problem, [self._metagraphs(g) for g in fresh], self.settings, self.seed)
        self.shown |= dict(zip(fresh, trials, strict=True))
        self.epoch += 1
        return [self.shown[self._ranked(self.shown)[0]].record(self.epoch)]

    def _bred(self) -> list[Genes]:
        """The generation after the population, whose scores are known."""
        options, rng = self.options, self._chance()
        next_one = self._ranked(dict.fromkeys(self.population))[: options.elite]
        while len(next_one) < options.population:
            child = self._winner(rng)
            if rng.random() < options.crossover:
                child = crossed(child, self._winner(rng), rng)
            next_one.append(mutated(child, self.counts, options.mutation, rng))
        return next_one

    def _winner(self, rng: random.Random) -> Genes:
        return self._ranked(rng.choices(self.population, k=self.options.tournament))[0]

    def _ranked(self, several: Sequence[Genes] | dict[Genes, Any]) -> list[Genes]:
        """Best first; those that are alike stay in their order."""
        return sorted(several, key=lambda genes: -self.shown[genes].value)

    def _chance(self) -> random.Random:
        """A stream of its own for each generation, so that none is part of the state."""
        return random.Random(derive_seed(self.seed, "generation", self.epoch))

    def _metagraphs(self, genes: Genes) -> MetaGraphs:
        rest = iter(genes)
        return tuple(space.metagraph(tuple(islice(rest, len(space.candidates)))) for space in self.spaces)

    def numbers(self) -> dict[str, Any]:
        """The population, and all scores."""
        shown = [[list(genes), list(trial)] for genes, trial in self.shown.items()]
        return {"population": [list(genes) for genes in self.population], "shown": shown}

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:  # noqa: ARG002
        """Go on from a saved state."""
        self.population = [tuple(genes) for genes in numbers["population"]]
        self.shown = {tuple(genes): Trial(*row) for genes, row in numbers["shown"]}


def crossed(one: Genes, other: Genes, rng: random.Random) -> Genes:
    """A child that has each link from either parent."""
    return tuple(rng.choice(pair) for pair in zip(one, other, strict=True))


def mutated(genes: Genes, counts: Sequence[int], probability: float, rng: random.Random) -> Genes:
    """The same genes, each link with this probability at another of its `counts` candidates."""
    changed = []
    for gene, count in zip(genes, counts, strict=True):
        moves = rng.random() < probability and count > 1
        changed.append((gene + rng.randrange(1, count)) % count if moves else gene)
    return tuple(changed)
