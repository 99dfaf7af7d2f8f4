"""Genetic search in the style of GEMS (Han et al., CIKM 2020) on DiffMG's search space and encoder.

Evolves a population of meta graphs, each trained fully and evaluated on validation: tournament selection of parents,
uniform crossover, mutation of links, and elitism. Results are cached by meta graph, so none is trained twice.
Population size and number of generations are those with which the paper ran GEMS.

Left out of GEMS: its own space of meta structures between two nodes with its operators, its rules and its predictor
that reject candidates without training, and its model, which combines several meta structures by attention.
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
"""Index of the candidate on each link, tower by tower."""


@METHODS.add("genetic")
@dataclass(frozen=True)
class Genetic(SearchMethod):
    """Options of the search."""

    population: Count = 20
    generations: Count = 100
    tournament: Count = 3
    """Tournament size: a parent is the best of this many random members."""
    crossover: Share = 0.9
    """Probability of crossover: each link of the child is taken from either parent."""
    mutation: Share = 0.1
    """Mutation probability of each link."""
    elite: int = 2
    """How many of the best survive to the next generation."""
    identity_last: bool = False
    """Also allow identity on the link K <- K-1, as the authors' code does."""

    summary = "genetic search, each candidate trained for real"

    def rules(self) -> dict[str, bool]:
        """Constraints on the options."""
        return {"0 <= elite < population": 0 <= self.elite < self.population}

    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:
        """A new search; the first generation is random."""
        return GeneticSearch(self, problem, self.depth, settings, seed)


class GeneticSearch(Search):
    """A running search: the population, and the trials of all candidates trained so far."""

    def __init__(self, options: Genetic, problem: Problem, depth: int, settings: Settings, seed: int) -> None:
        self.options, self.problem, self.settings, self.seed = options, problem, settings, seed
        self.total = options.generations
        self.spaces = spaces_of(problem, depth, options.identity_last)
        self.counts = tuple(len(c) for space in self.spaces for c in space.candidates)
        rng = self._rng()
        self.population = [tuple(map(rng.randrange, self.counts)) for _ in range(options.population)]
        self.results: dict[Genes, Trial] = {}

    def found(self) -> MetaGraphs:
        """The best meta graphs so far; before any training, the first of the population."""
        return self._metagraphs(self._ranked(self.results)[0] if self.results else self.population[0])

    def advance(self) -> Sequence[Epoch]:
        """Run one generation; the record is that of the best candidate so far."""
        if self.epoch > 0:
            self.population = self._next_generation()
        fresh = [genes for genes in dict.fromkeys(self.population) if genes not in self.results]
        trials = judge(self.problem, [self._metagraphs(g) for g in fresh], self.settings, self.seed)
        self.results |= dict(zip(fresh, trials, strict=True))
        self.epoch += 1
        return [self.results[self._ranked(self.results)[0]].record(self.epoch)]

    def _next_generation(self) -> list[Genes]:
        """The next generation, from the current population and its scores."""
        options, rng = self.options, self._rng()
        generation = self._ranked(dict.fromkeys(self.population))[: options.elite]
        while len(generation) < options.population:
            child = self._winner(rng)
            if rng.random() < options.crossover:
                child = crossed(child, self._winner(rng), rng)
            generation.append(mutated(child, self.counts, options.mutation, rng))
        return generation

    def _winner(self, rng: random.Random) -> Genes:
        return self._ranked(rng.choices(self.population, k=self.options.tournament))[0]

    def _ranked(self, candidates: Sequence[Genes] | dict[Genes, Any]) -> list[Genes]:
        """Best first; ties keep their order."""
        return sorted(candidates, key=lambda genes: -self.results[genes].value)

    def _rng(self) -> random.Random:
        """A separate random stream per generation, so that none needs to be saved."""
        return random.Random(derive_seed(self.seed, "generation", self.epoch))

    def _metagraphs(self, genes: Genes) -> MetaGraphs:
        rest = iter(genes)
        return tuple(space.metagraph(tuple(islice(rest, len(space.candidates)))) for space in self.spaces)

    def numbers(self) -> dict[str, Any]:
        """The population, and all trials."""
        results = [[list(genes), list(trial)] for genes, trial in self.results.items()]
        return {"population": [list(genes) for genes in self.population], "shown": results}

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:  # noqa: ARG002
        """Resume from a saved state."""
        self.population = [tuple(genes) for genes in numbers["population"]]
        self.results = {tuple(genes): Trial(*row) for genes, row in numbers["shown"]}


def crossed(one: Genes, other: Genes, rng: random.Random) -> Genes:
    """Uniform crossover: each link from either parent."""
    return tuple(rng.choice(pair) for pair in zip(one, other, strict=True))


def mutated(genes: Genes, counts: Sequence[int], probability: float, rng: random.Random) -> Genes:
    """A copy in which each link changes to another of its `counts` candidates with this probability."""
    changed = []
    for gene, count in zip(genes, counts, strict=True):
        mutates = rng.random() < probability and count > 1
        changed.append((gene + rng.randrange(1, count)) % count if mutates else gene)
    return tuple(changed)
