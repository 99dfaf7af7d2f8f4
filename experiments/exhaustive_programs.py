"""Every distinct compiled program of a search space: meta graphs that compute the same are trained once."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import MetaGraph
from diffmg.core.program import Step, compile_program
from diffmg.core.space import SearchSpace

KEY = 12
"""Characters of a key."""
Picks = tuple[int, ...]
"""For each link, the number of its candidate."""


@dataclass(frozen=True)
class Group:
    """Meta graphs of one tower with the same program: the first of them, and how many there are."""

    first: Picks
    count: int


@dataclass(frozen=True)
class Programs:
    """The distinct programs of one space per target type, numbered from 0; pairs of towers where there are two."""

    spaces: tuple[SearchSpace, ...]

    @cached_property
    def groups(self) -> tuple[tuple[Group, ...], ...]:
        """The programs of each tower, in the order of their first meta graph."""
        return tuple(tuple(_groups(space)) for space in self.spaces)

    @property
    def size(self) -> int:
        """How many there are."""
        return prod(len(groups) for groups in self.groups)

    @property
    def metagraph_count(self) -> int:
        """How many meta graphs they stand for, or pairs of them."""
        return prod(space.size for space in self.spaces)

    def picks(self, number: int) -> Picks:
        """The first meta graph with a program: a candidate per link, tower by tower."""
        return tuple(pick for group in self._parts(number) for pick in group.first)

    def metagraphs(self, number: int) -> tuple[MetaGraph, ...]:
        """The first meta graphs with a program, one per tower."""
        return tuple(space.metagraph(g.first) for space, g in zip(self.spaces, self._parts(number), strict=True))

    def count(self, number: int) -> int:
        """How many meta graphs, or pairs of them, have a program."""
        return prod(group.count for group in self._parts(number))

    def key(self, number: int) -> str:
        """The key of a program."""
        return program_key(self.metagraphs(number))

    def sample(self, count: int, seed: int) -> list[int]:
        """Numbers of programs drawn uniformly without replacement, in ascending order."""
        if not 1 <= count <= self.size:
            raise DiffmgError(f"`1 <= sample <= {self.size}` must hold, the number of programs, but got sample={count}")
        return sorted(random.Random(seed).sample(range(self.size), count))

    def _parts(self, number: int) -> list[Group]:
        found = []
        for groups in reversed(self.groups):
            number, place = divmod(number, len(groups))
            found.append(groups[place])
        return found[::-1]


def program_key(metagraphs: Sequence[MetaGraph]) -> str:
    """A short hash of what the meta graphs compute; the same for all meta graphs with the same programs."""
    text = "\n\n".join(map(program_text, metagraphs))
    return hashlib.sha256(text.encode()).hexdigest()[:KEY]


def program_text(metagraph: MetaGraph) -> str:
    """A program in normal form, a line per step: without numbers of weights, sums in a fixed order."""
    program = compile_program(metagraph)
    return "\n".join([f"{program.target.state} {program.target.node_type}", *map(_step_text, program.steps)])


def _step_text(step: Step) -> str:
    terms = [f"[{p.relation}]({','.join(str(s) for s in sorted(t.state for t in p.terms))})" for p in step.products]
    passed = sorted(term.state for term in step.passed)
    parts = [*sorted(terms), *([f"pass({','.join(map(str, passed))})"] if passed else [])]
    return f"{step.cell.state} {step.cell.node_type} = {' + '.join(parts)}"


def _groups(space: SearchSpace) -> list[Group]:
    """All meta graphs of one tower by program; those that nothing reaches are left out."""
    first: dict[str, Picks] = {}
    count: dict[str, int] = {}
    for picks in product(*(range(len(candidates)) for candidates in space.candidates)):
        metagraph = space.metagraph(picks)
        if compile_program(metagraph).steps:
            text = program_text(metagraph)
            first.setdefault(text, picks)
            count[text] = count.get(text, 0) + 1
    return [Group(picks, count[text]) for text, picks in first.items()]
