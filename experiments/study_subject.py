"""What a measurement is made on: a data set with the authors' settings, and the file that holds the results."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from diffmg.core.errors import DiffmgError
from diffmg.core.method import Method
from diffmg.core.plan import Source
from diffmg.core.settings import Settings
from diffmg.methods.search._base import spaces_of
from diffmg.race.executor import Executor, Local
from diffmg.runs.provenance import data_of
from diffmg.runs.sources import make_plan
from diffmg.tasks.problem import Problem
from experiments.exhaustive_programs import program_key
from experiments.steady import run_once
from experiments.trained import MetaGraphs, number, published_settings, train_metagraphs

STUDY = "study.jsonl"
SAMPLE = 0
"""The seed that random meta graphs are drawn with: all measurements see the same ones."""
Line = dict[str, Any]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Subject:
    """A data set, how much is measured on it, and where results are kept."""

    data: str
    problem: Problem
    path: Path
    """The file of results, a line per measurement."""
    depth: int = 4
    seeds: int = 5
    candidates: int = 120
    """Random meta graphs, where a measurement needs them."""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Settings in place of the authors'."""
    searches: Mapping[str, Any] = field(default_factory=dict)
    """Options of searches in place of the authors'."""
    executor: Executor = field(default_factory=Local)
    say: Say = lambda _: None

    @cached_property
    def settings(self) -> Settings:
        """The settings that the authors trained meta graphs with."""
        return published_settings(self.data).changed(dict(self.overrides))

    @cached_property
    def hash(self) -> str:
        """A hash of the data."""
        return data_of(self.problem).hash[:12]

    def method(self, name: str, options: Mapping[str, Any]) -> Method:
        """A search with the authors' options for this data set, and these."""
        given = {"depth": self.depth, **self.searches, **options}
        return make_plan(Source(self.data), name, given).method.make()

    def once(self, key: Mapping[str, Any], work: Callable[[], Line]) -> Line:
        """A measurement, made if it is missing."""
        about = {"what": key["what"], "data": self.data, "hash": self.hash, **key}
        line = run_once(self.path, about, work, self.say)
        if "error" in line:
            raise DiffmgError(f"a measurement must come to an end, but got {line['error']} for {about}")
        return line

    def random_metagraphs(self) -> list[MetaGraphs]:
        """Random meta graphs with one operation a link and different programs."""
        rng, spaces = random.Random(SAMPLE), spaces_of(self.problem, self.depth)
        found: dict[str, MetaGraphs] = {}
        for _ in range(50 * self.candidates):
            if len(found) < self.candidates:
                drawn = tuple(space.sample(rng) for space in spaces)
                found.setdefault(program_key(drawn), drawn)
        return list(found.values())

    def trained(self, several: Sequence[MetaGraphs], seed: int = 0) -> list[float | None]:
        """Validation scores of meta graphs, each really trained."""
        outcomes = train_metagraphs(self.problem, several, self.settings, seed, self.executor)
        return [number(outcome.score) for outcome in outcomes]

    def trained_at_random(self) -> list[float | None]:
        """Validation scores of the random meta graphs."""
        key = {"what": "trained", "depth": self.depth, "candidates": self.candidates}
        scores: list[float | None] = self.once(key, lambda: {"scores": self.trained(self.random_metagraphs())})[
            "scores"
        ]
        return scores
