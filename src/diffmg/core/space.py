"""The search space: which operations each link of the DAG may use."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt, prod

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import EMPTY, IDENTITY, Link, MetaGraph, Operation, links_of
from diffmg.core.schema import Relation, Schema


@dataclass(frozen=True)
class SearchSpace:
    """The set of meta graphs a search may return, for one target type."""

    schema: Schema
    target: str
    candidates: tuple[tuple[Operation, ...], ...]
    """For each link, in the order of `links_of(depth)`, the operations it may use."""

    @classmethod
    def dag(cls, schema: Schema, target: str, depth: int, identity_last: bool = False) -> SearchSpace:
        """The paper's space: A_{k,i} in its four cases, from the schema and the target type.

        `identity_last` also allows identity on the link K <- K-1, as the authors' program does.
        """
        links = links_of(depth)
        into = schema.into(schema.check_type(target))
        if not into:
            raise DiffmgError(
                f"the target type must have a relation that leads to it, but got {target!r} with none; "
                f"types that have one: {sorted({r.target for r in schema.relations})}"
            )
        return cls(schema, target, tuple(_candidates(schema, into, link, depth, identity_last) for link in links))

    @property
    def depth(self) -> int:
        """K, the number of states after state 0."""
        return isqrt(2 * len(self.candidates))

    @property
    def size(self) -> int:
        """The number of meta graphs with one operation per link."""
        return prod(len(c) for c in self.candidates)

    def items(self) -> Iterator[tuple[Link, tuple[Operation, ...]]]:
        """Links with their candidates, in order."""
        return zip(links_of(self.depth), self.candidates, strict=True)

    def metagraph(self, picks: tuple[int, ...]) -> MetaGraph:
        """The meta graph with candidate number `picks[j]` on the j-th link."""
        return MetaGraph(self.target, tuple((c[p],) for c, p in zip(self.candidates, picks, strict=True)))

    def everything(self) -> MetaGraph:
        """The meta graph with all candidates on every link."""
        return MetaGraph(self.target, self.candidates)

    def sample(self, rng: random.Random) -> MetaGraph:
        """A uniformly random meta graph with one operation per link."""
        return self.metagraph(tuple(rng.randrange(len(c)) for c in self.candidates))

    def contains(self, metagraph: MetaGraph) -> bool:
        """Whether every operation of `metagraph` is a candidate on its link."""
        return self._misfit(metagraph) is None

    def check(self, metagraph: MetaGraph) -> MetaGraph:
        """Return `metagraph` if this space contains it, else raise an error naming the offending link."""
        misfit = self._misfit(metagraph)
        if misfit is not None:
            raise DiffmgError(misfit)
        return metagraph

    def neighbours(self, metagraph: MetaGraph) -> Iterator[MetaGraph]:
        """All meta graphs that replace the operations of `metagraph` on exactly one link."""
        self.check(metagraph)
        for link, candidates in self.items():
            for operation in candidates:
                if metagraph[link] != (operation,):
                    yield metagraph.replace(link, operation)

    def _misfit(self, metagraph: MetaGraph) -> str | None:
        if metagraph.target != self.target:
            return f"the meta graph must be for target type {self.target!r}, but got {metagraph.target!r}"
        if metagraph.depth != self.depth:
            return f"the meta graph must have {self.depth} states, but got {metagraph.depth}"
        for (link, candidates), operations in zip(self.items(), metagraph.operations, strict=True):
            for operation in operations:
                if operation not in candidates:
                    choices = ", ".join(map(str, candidates))
                    return f"link {link} may use one of: {choices}; but got {operation}"
        return None


def check_fits(metagraph: MetaGraph, schema: Schema) -> MetaGraph:
    """Return `metagraph` if its types and relations are in `schema` (it may lie outside the search space)."""
    schema.check_type(metagraph.target)
    for choice in metagraph.choices:
        if isinstance(choice.operation, Relation):
            schema.check_relation(choice.operation)
    return metagraph


def _candidates(
    schema: Schema, into: tuple[Relation, ...], link: Link, depth: int, identity_last: bool
) -> tuple[Operation, ...]:
    last, adjacent = link.k == depth, link.i == link.k - 1
    relations: tuple[Operation, ...] = into if last else schema.relations
    identity = (IDENTITY,) if not (last and adjacent) or identity_last else ()
    empty = () if adjacent else (EMPTY,)
    return relations + identity + empty
