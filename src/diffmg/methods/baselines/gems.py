"""GEMS: genetic search for meta structures (Han et al., CIKM 2020).

A *meta structure* is a small graph of typed slots between an item and a user. A user and an item match if they are the
ends of an instance in the network in which all its edges are present. A member of the population is a set of meta
structures; its fitness is the validation score of a network trained on them: one graph convolution over the matched
pairs for each structure, and attention over the structures, node by node. Nodes between user and item decide which
pairs match and are not read otherwise.

One generation: the worst members are dropped and replaced by copies of the others, drawn with probabilities
softmax(fitness); every structure stays as it is, *grows* (slots and edges are added at random until there is one more
path) or *shrinks* (a path is removed); members sometimes *cross* by exchanging a structure. All start with the shortest
meta path, in their data the user's own choices. Structures without any match are rejected. Sizes and probabilities are
those of their program.

Differs from GEMS: edges have a direction, from item to user, so that a structure is stored and drawn as a meta graph;
only series-parallel structures are accepted, whose matches are counted by sparse products, of which every row keeps
the largest counts, where they sample instances; users and items have features or vectors learned with the network,
theirs are fixed vectors of a matrix factorisation; the task's loss over its pairs replaces sampled negatives; a removed
path is drawn uniformly, not by its age; a member that was trained before is not trained again. Left out: the predictor
of a structure's worth, and the higher mutation rates of their first generations. Their program ranks members by the
score on test data; here test data are never read.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from diffmg.core import METHODS, Count, DiffmgError, Fraction, MetaGraph, Settings, Share, derive_seed
from diffmg.methods.baselines._base import Baseline
from diffmg.methods.baselines._gems_matches import matches
from diffmg.methods.baselines._gems_model import GemsNetwork
from diffmg.methods.baselines._gems_structure import Structure, grown, shortest, shrunk
from diffmg.tasks.problem import Problem
from diffmg.training import Epoch, ModelTraining
from diffmg.training.job import Search

Member = tuple[Structure, ...]
"""The meta structures of one network, sorted."""
Trial = tuple[float, float, float, float]
"""Of a member's best epoch: the selection criterion, training loss, validation loss and validation score."""


@METHODS.add("gems")
@dataclass(frozen=True)
class Gems(Baseline):
    """Options of the search."""

    structures: Count = 5
    """Meta structures of a member."""
    population: Count = 20
    generations: Count = 100
    eliminated: Fraction = 0.4
    """Share of the members that is replaced in each generation."""
    crossover: Share = 0.05
    """Probability that a member exchanges a structure with another one."""
    stable: Share = 0.6
    """Probability that a structure is not mutated."""
    grow: Share = 0.5
    """Probability that a mutation grows the structure; one with a single path always grows."""
    add_slot: Share = 0.2
    """Probability that an addition is a slot, not an edge."""
    most_slots: Count = 7
    """Largest number of slots of a structure, user and item included."""
    most_matches: Count = 200
    """Matches kept for each node in every product."""

    summary = "recommendation: meta structures found by genetic search, fused by attention (Han et al. 2020)"
    towers: ClassVar = (2,)
    has_metagraph: ClassVar = True

    def check(self, problem: Problem, settings: Settings) -> None:
        """Also require a meta path from items to users."""
        super().check(problem, settings)
        self.start(problem)

    def start(self, problem: Problem) -> Structure:
        """What every structure starts as: the shortest meta path from items to users."""
        user, item = problem.task.target_types
        found = shortest(problem.graph.schema, item, user)
        if found is None:
            raise DiffmgError(
                f"a meta structure needs a meta path from {item!r} to {user!r}, but got only "
                f"{[str(r) for r in problem.graph.schema.relations]}; add reverse relations to the network"
            )
        return found

    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:
        """A new search; its result is one meta graph per meta structure, whose states are the slots."""
        self.check(problem, settings)
        return GemsSearch(self, problem, settings, seed)

    def network(
        self, problem: Problem, settings: Settings, seed: int, metagraphs: Sequence[MetaGraph] = ()
    ) -> nn.Module:
        """The network of these meta structures; without any, of those the search starts from."""
        self.check(problem, settings)
        structures = [Structure.of(m) for m in metagraphs] or [self.start(problem)] * self.structures
        found = {s: matches(problem.graph, s, self.most_matches) for s in set(structures)}
        if odd := [s for s, matched in found.items() if matched is None]:
            raise DiffmgError(f"a meta structure must be series-parallel, but got {odd[0]}")
        return GemsNetwork([found[s] for s in structures], problem, settings, seed).to(problem.graph.device)


class GemsSearch(Search):
    """A running search: the population, and the trials of all members trained so far."""

    def __init__(self, options: Gems, problem: Problem, settings: Settings, seed: int) -> None:
        self.options, self.problem, self.settings, self.seed = options, problem, settings, seed
        self.total = options.generations
        self.population: list[Member] = [(options.start(problem),) * options.structures] * options.population
        self.results: dict[Member, Trial] = {}
        self.accepted: dict[Structure, bool] = {}

    def found(self) -> tuple[MetaGraph, ...]:
        """The structures of the best member so far, as meta graphs."""
        best = max(self.results, key=self._value, default=self.population[0])
        return tuple(structure.metagraph() for structure in best)

    def advance(self) -> Sequence[Epoch]:
        """Evolve one generation and train its new members; the record is that of the best member so far."""
        if self.epoch:
            self.population = self._next_generation(random.Random(derive_seed(self.seed, "generation", self.epoch)))
        for member in dict.fromkeys(self.population):
            if member not in self.results:
                self.results[member] = self._train(member)
        self.epoch += 1
        return [Epoch(self.epoch, *self.results[max(self.results, key=self._value)][1:])]

    def _value(self, member: Member) -> float:
        return self.results[member][0]

    def _train(self, member: Member) -> Trial:
        """Train fully; all members start from the same seed."""
        start = derive_seed(self.seed, "train")
        metagraphs = [structure.metagraph() for structure in member]
        network = self.options.network(self.problem, self.settings, start, metagraphs)
        training = ModelTraining(self.problem, network, self.settings, start)
        records: list[Epoch] = []
        while not training.done:
            records += training.advance()
        best = records[training.best_epoch - 1]
        return training.best_value, best.train_loss, best.val_loss, best.val_score

    def _next_generation(self, rng: random.Random) -> list[Member]:
        """Drop the worst, copy others in their place, mutate and cross."""
        ranked = sorted(self.population, key=self._value, reverse=True)
        kept = ranked[: len(ranked) - int(self.options.eliminated * len(ranked))]
        top = self._value(kept[0])
        weights = [math.exp(self._value(m) - top) if self._value(m) > -math.inf else 0.0 for m in kept]
        copies = rng.choices(kept, weights if any(weights) else None, k=len(ranked) - len(kept))
        pools = [[self._mutated(structure, rng) for structure in member] for member in kept + copies]
        self._cross(pools, rng)
        return [tuple(sorted(pool)) for pool in pools]

    def _mutated(self, structure: Structure, rng: random.Random) -> Structure:
        options = self.options
        if rng.random() < options.stable:
            return structure
        if len(structure.paths()) < 2 or rng.random() < options.grow:
            changed = grown(structure, self.problem.graph.schema, options.most_slots, options.add_slot, rng)
        else:
            changed = shrunk(structure, rng)
        return changed if self._accepts(changed) else structure

    def _accepts(self, structure: Structure) -> bool:
        """Whether the structure's matches can be computed and there is one."""
        if structure not in self.accepted:
            matched = matches(self.problem.graph, structure, self.options.most_matches)
            self.accepted[structure] = matched is not None and matched.nnz > 0
        return self.accepted[structure]

    def _cross(self, pools: list[list[Structure]], rng: random.Random) -> None:
        """Members exchange a random structure with a random member."""
        for pool in pools:
            if rng.random() < self.options.crossover:
                other, a, b = rng.choice(pools), rng.randrange(len(pool)), rng.randrange(len(pool))
                pool[a], other[b] = other[b], pool[a]

    def numbers(self) -> dict[str, Any]:
        """The population, and all trials."""
        results = [[_to_plain(member), list(trial)] for member, trial in self.results.items()]
        return {"population": [_to_plain(member) for member in self.population], "shown": results}

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:  # noqa: ARG002
        """Resume from a saved state."""
        self.population = [_from_plain(member) for member in numbers["population"]]
        self.results = {_from_plain(member): tuple(row) for member, row in numbers["shown"]}


def _to_plain(member: Member) -> list[dict[str, Any]]:
    return [structure.metagraph().to_dict() for structure in member]


def _from_plain(member: Sequence[dict[str, Any]]) -> Member:
    return tuple(Structure.of(MetaGraph.from_dict(plain)) for plain in member)
