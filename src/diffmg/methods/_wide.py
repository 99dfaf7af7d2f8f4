"""The wide space: meta graphs of several depths together with the switches and settings of their encoder."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from diffmg.core import EMPTY, MetaGraph, Operation, SearchSpace, Settings, compile_program
from diffmg.core.candidate import Candidate, Genes, balances
from diffmg.methods._plain_rivals import LINEAR, alternating
from diffmg.methods._promising import Route, metagraphs_of, promising_routes
from diffmg.methods._union import by_turns
from diffmg.methods.given import Given
from diffmg.tasks.problem import Problem

MetaGraphs = tuple[MetaGraph, ...]
Values = Mapping[str, tuple[Any, ...]]
"""Values to draw from, by setting; one that stands twice is drawn twice as often."""

COMMON: Values = {
    "dim": (64, 64, 64, 128),
    "lr": (0.003, 0.005, 0.01, 0.01, 0.02),
    "weight_decay": (3e-5, 1e-4, 3e-4, 1e-3, 3e-3),
    "dropout": (0.2, 0.4, 0.5, 0.6, 0.7, 0.8),
    "tanh": (*[False] * 3, True),
    "links": ("mean", "mean", "sum"),
    "layer_norm": (True, False),
    "activation": ("gelu", "none"),
    "shared_map": (*[True] * 4, False),
    "aggregate": (*["paper"] * 4, "mean", "symmetric", "symmetric"),
    "self_loops": (*[True] * 4, False),
    "residual": (*[False] * 5, True),
    "message_dropout": (*[0.0] * 5, 0.3, 0.5),
    "patience": (30, 30, 50),
}
LABELS: Values = {
    "states": (*["last"] * 5, "mean", "concat", "attention"),
    "label_inputs": (False, False, True),
    "counts": (*[False] * 5, True),
    "input_dropout": (0.0, 0.0, 0.0, 0.3, 0.5),
}
PAIRS: Values = {
    "weight_decay": (1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3),
    "dropout": (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8),
    "max_epochs": (200, 200, 400),
    "states": (*["last"] * 5, "mean"),
    "shared_tables": (True, False),
    "biases": (True, True, False),
    "counts": (*[False] * 8, True),
}
RANKED: Values = {"dim": (64, 128, 128), "lr": (0.005, 0.01, 0.02, 0.02, 0.03), "max_epochs": (200, 400)}
"""Where all items are ranked: learned vectors win by being wider and learned faster or longer."""
PAIRING, RANKING = ({"lr": 0.01}, {"lr": 0.005, "dim": 128}), ({"lr": 0.02, "dim": 128}, {"lr": 0.01})
"""Sizes of the learned vectors that a race begins from, where pairs are judged and where all items are ranked."""
OPERATIONS = (1, 1, 2, 3)
MOST_RELATIONS = 30
"""Relations up to which all of them together, in a meta graph or in a search, are worth their time."""
DEPTHS = {1: 3, 2: 5, 3: 5, 4: 3}
"""How often a depth is drawn, relative to the others; 1 for those that are not here."""
REDRAWN = 0.5
"""Share of the changed links whose operations are drawn again; one is added or taken away on the others."""
BY_PATHS = 0.5
"""Share of the drawn meta graphs that are made of promising paths."""


@dataclass(frozen=True)
class WideSpace:
    """Meta graphs of 1 to `depth` states with one to `operations` operations a link, and their encoder's settings."""

    targets: tuple[tuple[SearchSpace, ...], ...]
    """For each depth, from 1, the paper's space of each target type."""
    base: Settings
    values: Values
    operations: tuple[int, ...] = OPERATIONS
    routes: tuple[Route, ...] = ()
    """Promising meta paths into the targets, best first."""
    sizes: tuple[Mapping[str, Any], ...] = PAIRING
    """Settings of the learned vectors that a race on pairs begins from."""
    linear: Mapping[str, Any] = field(default_factory=lambda: LINEAR)
    """The encoder of LightGCN; where users or items have features, with learned vectors beside them."""

    @property
    def depth(self) -> int:
        """Most states of a meta graph."""
        return len(self.targets)

    @classmethod
    def of(cls, problem: Problem, base: Settings, depth: int, operations: int) -> WideSpace:
        """The space of a problem; a setting that differs from its default was chosen by the user, and is not varied."""
        graph, types = problem.graph, problem.task.target_types
        values = {**COMMON, **(LABELS if len(types) == 1 else PAIRS)}
        ranks = problem.task.kind == "ranking"
        values |= RANKED if ranks else {}
        if graph.timed:
            values["aggregate"] = ("paper", "paper", "sum")
            values.pop("label_inputs", None)
        if set(graph.features) - graph.timed:
            values["vectors"] = (False, False, False, True)
        linear = dict(LINEAR)
        if len(types) == 2 and set(types) & set(graph.features):  # by features alone, many users or items are the same
            values["vectors"], linear["vectors"] = (False, True), True
        if problem.task.known_labels() is None:
            values.pop("label_inputs", None)
        values |= balances(problem)
        free = {name: options for name, options in values.items() if getattr(base, name) == getattr(Settings(), name)}
        spaces = [tuple(SearchSpace.dag(graph.schema, t, k) for t in types) for k in range(1, depth + 1)]
        routes = promising_routes(problem, min(3, depth))
        few = tuple(n for n in OPERATIONS if n <= operations)
        return cls(tuple(spaces), base, free, few, tuple(routes), RANKING if ranks else PAIRING, linear)

    def seeds(self) -> Sequence[Candidate]:
        """Rivals as meta graphs; promising paths, alone and together; everything, averaged, at two depths.

        The first of the two hears known labels, where there are any to hear.
        """
        targets = [space.target for space in self.targets[0]]
        few = len(self.targets[0][0].schema.relations) <= MOST_RELATIONS
        depths = sorted({min(2, self.depth), min(4, self.depth)}) if few else []
        every = [tuple(space.everything() for space in self.targets[k - 1]) for k in depths]
        if len(targets) == 1:
            fused = {"links": "mean", "states": "concat"}
            told = self._with({**fused, "label_inputs": True}, *every[:1])  # neighbours may be known by nothing else
            alone = (MetaGraph.features_only(targets[0]),)
            return [*self._with({}, *self._promising()), *told, *self._with(fused, *every[1:]), *self._with({}, alone)]
        promising = [c for settings in ({}, self.linear) for c in self._with(settings, *self._promising())]
        return [*by_turns(self._chains(*targets), promising), *self._with({"links": "mean"}, *every)]

    def _chains(self, user: str, item: str) -> list[Candidate]:
        """LightGCN's sums over the relations between the two ends, of several sizes."""
        schema = self.targets[0][0].schema
        chains = [alternating(schema, user, item, layers) for layers in (2, 1, 3) if layers <= self.depth]
        return [c for size in self.sizes for c in self._with({**self.linear, **size}, *filter(None, chains))]

    def _with(self, settings: Mapping[str, Any], *several: MetaGraphs) -> list[Candidate]:
        """Candidates with these settings, but for those the user chose."""
        chosen = self.base.changed({name: value for name, value in settings.items() if name in self.values})
        return [Candidate(Given(metagraphs), chosen) for metagraphs in several]

    def _promising(self) -> list[MetaGraphs]:
        """Meta graphs of the best one, three and eight routes."""
        several = [self.routes[:count] for count in (1, 3, 8)]
        return [self._along(routes) for routes in dict.fromkeys(several) if routes]

    def _along(self, routes: Sequence[Route]) -> MetaGraphs:
        return metagraphs_of(routes, [space.target for space in self.targets[0]], max(self.operations))

    def draw(self, rng: random.Random) -> Candidate:
        """Depth, operations, switches and settings at random."""
        chosen = {name: rng.choice(values) for name, values in sorted(self.values.items())}
        return Candidate(Given(self._metagraphs(rng)), self.base.changed(chosen))

    def mutate(self, candidate: Candidate, rng: random.Random) -> Candidate:
        """One to three changes: of links of the meta graphs, or of settings."""
        metagraphs, settings = candidate.metagraphs, candidate.settings
        for _ in range(rng.choice((1, 1, 2, 3))):
            if rng.random() < 0.5 or not self.values:
                metagraphs = self._metagraphs(rng) if rng.random() < 0.1 else self._relinked(metagraphs, rng)
            else:
                name = rng.choice(sorted(self.values))
                others = [v for v in self.values[name] if v != getattr(settings, name)]
                settings = settings.changed({name: rng.choice(others or [getattr(settings, name)])})
        return Candidate(Given(metagraphs), settings)

    def cross(self, one: Candidate, other: Candidate, rng: random.Random) -> Candidate:
        """Settings from either; of meta graphs of one depth, every link from either."""
        settings = {name: getattr(rng.choice((one, other)).settings, name) for name in sorted(self.values)}
        pairs = list(zip(one.metagraphs, other.metagraphs, strict=True))
        if any(a.depth != b.depth for a, b in pairs):
            metagraphs = rng.choice((one, other)).metagraphs
        else:
            metagraphs = tuple(
                MetaGraph(a.target, tuple(rng.choice(ab) for ab in zip(a.operations, b.operations, strict=True)))
                for a, b in pairs
            )
        return Candidate(Given(_alive(metagraphs, one.metagraphs)), self.base.changed(settings))

    def genes(self, candidate: Candidate) -> Genes:
        """Settings, and how often each relation is used at each distance from the target's last state."""
        found: dict[str, Any] = {"method": candidate.method.name}
        found |= {f.name: getattr(candidate.settings, f.name) for f in fields(Settings)}
        for metagraph in candidate.metagraphs:
            program = compile_program(metagraph)
            for step in program.steps:
                for product in step.products:
                    for term in product.terms:
                        ends = f"{metagraph.depth - step.cell.state}<-{metagraph.depth - term.state}"
                        found[f"{metagraph.target}: {product.relation} {ends}"] = 1
                for term in step.passed:
                    ends = f"{metagraph.depth - step.cell.state}<-{metagraph.depth - term.state}"
                    name = f"{metagraph.target}: {step.cell.node_type} passes {ends}"
                    found[name] = found.get(name, 0) + 1
        return found

    def _metagraphs(self, rng: random.Random) -> MetaGraphs:
        if self.routes and rng.random() < BY_PATHS:
            ranks = {min(int(rng.expovariate(0.3)), len(self.routes) - 1) for _ in range(rng.choice((1, 2, 3, 5)))}
            return self._along([self.routes[rank] for rank in sorted(ranks)])
        (depth,) = rng.choices(range(len(self.targets)), [DEPTHS.get(k + 1, 1) for k in range(len(self.targets))])
        most = rng.choice(self.operations)
        return tuple(_drawn(space, most, rng) for space in self.targets[depth])

    def _relinked(self, metagraphs: MetaGraphs, rng: random.Random) -> MetaGraphs:
        """One link of one meta graph drawn again, or with one operation more or less."""
        number = rng.randrange(len(metagraphs))
        metagraph = metagraphs[number]
        space = self.targets[metagraph.depth - 1][number]
        link, candidates = rng.choice(list(space.items()))
        operations: Sequence[Operation] = rng.sample(candidates, min(rng.choice(self.operations), len(candidates)))
        if rng.random() >= REDRAWN:
            operations = self._toggled(metagraph[link], candidates, rng)
        changed = metagraph.replace(link, *_ordered(operations, candidates))
        return _alive((*metagraphs[:number], changed, *metagraphs[number + 1 :]), metagraphs)

    def _toggled(
        self, present: Sequence[Operation], candidates: Sequence[Operation], rng: random.Random
    ) -> Sequence[Operation]:
        """Operations with one more or less; where there are as many as there may be, one in place of another."""
        one = rng.choice(candidates)
        others = [o for o in present if o != one]
        if one in present:
            return others if others or EMPTY in candidates else present
        if len(others) >= max(self.operations):
            others.remove(rng.choice(others))
        return [*others, one]


def _drawn(space: SearchSpace, most: int, rng: random.Random) -> MetaGraph:
    """A random meta graph with up to `most` operations a link, something of which reaches the target."""
    while True:
        picks = [_ordered(rng.sample(c, min(most, len(c))), c) for c in space.candidates]
        found = MetaGraph(space.target, tuple(picks))
        if compile_program(found).steps:
            return found


def _ordered(operations: Sequence[Any], candidates: Sequence[Any]) -> tuple[Any, ...]:
    """In the order of the candidates; EMPTY beside others says nothing and is left out."""
    places = {operation: place for place, operation in enumerate(candidates)}
    kept = sorted((o for o in operations if o is not EMPTY), key=lambda o: places.get(o, len(places)))
    return tuple(kept) or (EMPTY,)


def _alive(metagraphs: MetaGraphs, otherwise: MetaGraphs) -> MetaGraphs:
    """The meta graphs, or others where nothing reaches a target."""
    return metagraphs if all(compile_program(m).steps for m in metagraphs) else otherwise
