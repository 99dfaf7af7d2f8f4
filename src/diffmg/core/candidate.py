"""Candidates of a search by real training, and the spaces they are drawn from."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Protocol

from diffmg.core.settings import Settings

if TYPE_CHECKING:
    from diffmg.core.metagraph import MetaGraph
    from diffmg.core.method import Method
    from diffmg.tasks.problem import Problem

RATES = (0.001, 0.002, 0.005, 0.01, 0.02)
DECAYS = (0.0, 1e-5, 1e-4, 3e-4, 1e-3, 5e-3)
DROPOUTS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7)
BALANCES = (0.0, 0.0, 0.5, 1.0)
"""Where classes are uneven."""
VARIED: Mapping[str, tuple[Any, ...]] = {"lr": RATES, "weight_decay": DECAYS, "dropout": DROPOUTS}
PROPOSERS = ("chance", "evolution", "surrogate", "evolution")
"""Who proposes the candidates of a race, by turns."""
Genes = Mapping[str, Any]


def balances(problem: Problem) -> Mapping[str, tuple[Any, ...]]:
    """How much classes may be evened out, as values of a setting; none where they are even."""
    return {"balance": BALANCES} if problem.task.uneven else {}


@dataclass(frozen=True)
class Candidate:
    """A method with its options, and the settings it is trained with."""

    method: Method
    settings: Settings

    @property
    def metagraphs(self) -> tuple[MetaGraph, ...]:
        """Those of a method that was given them."""
        return getattr(self.method, "metagraphs", ())

    def described(self) -> str:
        """Method, options and settings in one line, without meta graphs."""
        spec = self.method.spec()
        options = {name: value for name, value in spec.options.items() if name != "metagraphs"}
        words = [f"{name}={value}" for name, value in {**options, **changed_settings(self.settings)}.items()]
        return " ".join([spec.name, *words])


class CandidateSpace(Protocol):
    """What may be tried: draws, changes and compares candidates."""

    def seeds(self) -> Sequence[Candidate]:
        """Those to try first, in order."""

    def draw(self, rng: random.Random) -> Candidate:
        """A random candidate."""

    def mutate(self, candidate: Candidate, rng: random.Random) -> Candidate:
        """A candidate that differs a little."""

    def cross(self, one: Candidate, other: Candidate, rng: random.Random) -> Candidate:
        """A candidate with parts of both."""

    def genes(self, candidate: Candidate) -> Genes:
        """Names and values that tell candidates apart, for a surrogate to learn from; equal for equal candidates."""


@dataclass(frozen=True)
class OptionSpace:
    """The options and settings of one method, each from a list of values; the candidate it starts from comes first."""

    base: Candidate
    options: Mapping[str, tuple[Any, ...]]
    settings: Mapping[str, tuple[Any, ...]]

    def seeds(self) -> Sequence[Candidate]:
        """The method as it was given."""
        return (self.base,)

    def draw(self, rng: random.Random) -> Candidate:
        """Every option and setting at random."""
        return self._with({name: rng.choice(values) for name, values in sorted(self._values().items())})

    def mutate(self, candidate: Candidate, rng: random.Random) -> Candidate:
        """One or two options or settings changed."""
        values, genes = self._values(), dict(self._varied(candidate))
        for name in rng.sample(sorted(values), min(len(values), rng.choice((1, 2)))):
            genes[name] = rng.choice([v for v in values[name] if v != genes[name]] or [genes[name]])
        return self._with(genes)

    def cross(self, one: Candidate, other: Candidate, rng: random.Random) -> Candidate:
        """Every option and setting from either."""
        a, b = self._varied(one), self._varied(other)
        return self._with({name: rng.choice((a[name], b[name])) for name in sorted(a)})

    def genes(self, candidate: Candidate) -> Genes:
        """The method's name, and the value of everything that varies."""
        return {"method": candidate.method.name, **self._varied(candidate)}

    def _values(self) -> dict[str, tuple[Any, ...]]:
        return {**self.options, **self.settings}

    def _varied(self, candidate: Candidate) -> Genes:
        found = {name: getattr(candidate.method, name) for name in self.options}
        return found | {name: getattr(candidate.settings, name) for name in self.settings}

    def _with(self, genes: Genes) -> Candidate:
        method = replace(self.base.method, **{n: v for n, v in genes.items() if n in self.options})  # type: ignore[type-var]
        return Candidate(method, self.base.settings.changed({n: v for n, v in genes.items() if n in self.settings}))


def changed_settings(settings: Settings) -> dict[str, Any]:
    """The settings that differ from the defaults."""
    default = Settings()
    found = {f.name: getattr(settings, f.name) for f in fields(settings)}
    return {name: value for name, value in found.items() if value != getattr(default, name)}
