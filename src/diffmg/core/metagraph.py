"""A meta graph: for each link of the DAG of states, the operations that carry messages along it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from math import isqrt
from typing import Any, NamedTuple

from diffmg.core.codec import register
from diffmg.core.errors import DiffmgError
from diffmg.core.limits import MOST_STATES
from diffmg.core.metapaths import MOST_LISTED, MetaPaths
from diffmg.core.metapaths import MetaPath as MetaPath
from diffmg.core.pictured import Drawn
from diffmg.core.schema import Relation


class Special(Enum):
    """The two operations that are not relations."""

    IDENTITY = "identity"
    EMPTY = "empty"

    def __str__(self) -> str:
        return self.value


IDENTITY = Special.IDENTITY
EMPTY = Special.EMPTY

LONGEST_LINK = 40
"""The most characters of a link in a file: numbers of thousands of digits are no states."""

Operation = Relation | Special


class Link(NamedTuple):
    """The link `k <- i`: from state i to a later state k."""

    k: int
    i: int

    def __str__(self) -> str:
        return f"{self.k}<-{self.i}"

    @classmethod
    def parse(cls, text: str) -> Link:
        """Read `"4<-3"`."""
        k, arrow, i = text.partition("<-")
        if not (arrow and k.strip().isdecimal() and i.strip().isdecimal() and len(text) <= LONGEST_LINK):
            raise DiffmgError(f"a link is written 'k<-i' with two state numbers, but got {text[:80]!r}")
        return cls(int(k), int(i))


def links_of(depth: int) -> tuple[Link, ...]:
    """All links of the DAG with states 0 to `depth`: 1<-0, 2<-0, 2<-1, 3<-0, ..."""
    if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
        raise DiffmgError(f"`depth >= 1` must hold (K, the number of states), but got depth={depth!r}")
    if depth > MOST_STATES:
        raise DiffmgError(f"`depth <= {MOST_STATES}` must hold (K, the number of states), but got depth={depth!r}")
    return tuple(Link(k, i) for k in range(1, depth + 1) for i in range(k))


class Choice(NamedTuple):
    """One operation chosen on one link."""

    link: Link
    operation: Operation


@dataclass(frozen=True)
class MetaGraph(Drawn):
    """Operations per link for one target type; hashable, comparable, and stored as JSON."""

    _picture = "metagraph"

    target: str
    operations: tuple[tuple[Operation, ...], ...]
    """For each link, in the order of `links_of(depth)`, the operations on it."""

    def __post_init__(self) -> None:
        depth = self.depth
        if depth < 1 or depth * (depth + 1) // 2 != len(self.operations):
            raise DiffmgError(
                "a meta graph of K states has K(K+1)/2 links, K >= 1, "
                f"but got {len(self.operations)} lists of operations"
            )
        for link, operations in self.items():
            if not operations or len(set(operations)) != len(operations):
                raise DiffmgError(
                    f"link {link} needs one or more different operations, "
                    f"but got {[str(o) for o in operations]}; use 'empty' for no message"
                )

    @classmethod
    def of(cls, target: str, links: Mapping[Link, Operation | Iterable[Operation]]) -> MetaGraph:
        """Build from a mapping of links to one or more operations; missing links are an error."""
        depth = max((link.k for link in links), default=0)
        wanted = links_of(depth)
        if set(wanted) != set(links):
            odd = sorted(str(link) for link in set(wanted) ^ set(links))
            raise DiffmgError(f"every link of {depth} states must be given once, but got a difference at {odd}")
        return cls(target, tuple(_as_tuple(links[link]) for link in wanted))

    @classmethod
    def features_only(cls, target: str) -> MetaGraph:
        """No messages: the target's own features (one identity link)."""
        return cls(target, ((IDENTITY,),))

    @property
    def depth(self) -> int:
        """K, the number of states after state 0."""
        return isqrt(2 * len(self.operations))

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """Every (link, operation) in order; weights of a sample follow this order."""
        return tuple(Choice(link, o) for link, operations in self.items() for o in operations)

    def items(self) -> Iterator[tuple[Link, tuple[Operation, ...]]]:
        """Links with their operations, in order."""
        return zip(links_of(self.depth), self.operations, strict=True)

    def __getitem__(self, link: tuple[int, int]) -> tuple[Operation, ...]:
        k, i = link
        if not 0 <= i < k <= self.depth:
            raise DiffmgError(f"`0 <= i < k <= {self.depth}` must hold for a link, but got {k}<-{i}")
        return self.operations[k * (k - 1) // 2 + i]

    def replace(self, link: Link, *operations: Operation) -> MetaGraph:
        """The same meta graph with other operations on one link."""
        return MetaGraph.of(self.target, {**dict(self.items()), link: operations})

    @cached_property
    def meta_paths(self) -> MetaPaths:
        """The meta paths, to be counted, asked for and listed without writing all of them out."""
        links = [tuple[tuple[int, tuple[Relation, ...]], ...]() for _ in range(self.depth + 1)]
        for (k, i), operations in self.items():
            if operations != (EMPTY,):
                links[k] += ((i, tuple(o for o in operations if isinstance(o, Relation))),)
        return MetaPaths(self.target, tuple(links))

    def paths(self) -> frozenset[MetaPath]:
        """All meta paths along which messages reach the target, with relations in message order.

        A relation into the current type may be taken or skipped, since a node keeps a share of its own state; any
        other relation leaves the type unchanged, like identity. The empty path is the target's own features.
        """
        count = self.meta_paths.count()
        if count is None or count > MOST_LISTED:
            raise DiffmgError(
                f"at most {MOST_LISTED} meta paths are listed at once, but got {count or 'too many to count'}; "
                "use `longest_paths(most)`, or `path in metagraph.meta_paths`"
            )
        return frozenset(self.meta_paths)

    def longest_paths(self, most: int = 1000) -> tuple[MetaPath, ...]:
        """Up to `most` of the meta paths that are not a suffix of another one: few enough to display."""
        return tuple(sorted(self.meta_paths.longest(most), key=lambda path: (-len(path), path)))

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain lists and strings, ready for JSON."""
        return {
            "target": self.target,
            "links": {str(link): [_operation_to_json(o) for o in ops] for link, ops in self.items()},
        }

    @classmethod
    def from_dict(cls, data: object) -> MetaGraph:
        """Read what `to_dict` wrote; anything else raises an error naming the faulty part."""
        if not (isinstance(data, dict) and isinstance(data.get("target"), str) and isinstance(data.get("links"), dict)):
            raise DiffmgError(f"a meta graph is an object with 'target' and 'links', but got {str(data)[:80]!r}")
        links: dict[Link, tuple[Operation, ...]] = {}
        for text, operations in data["links"].items():
            if not isinstance(operations, list):
                raise DiffmgError(f"link {text} must hold a list of operations, but got {operations!r}")
            link = Link.parse(text)
            if link in links or link.k > MOST_STATES:
                raise DiffmgError(f"each link appears once and has at most {MOST_STATES} states, but got {text!r}")
            links[link] = tuple(_operation_from_json(o) for o in operations)
        return cls.of(data["target"], links)


def _as_tuple(operations: Operation | Iterable[Operation]) -> tuple[Operation, ...]:
    return (operations,) if isinstance(operations, Relation | Special) else tuple(operations)


def _operation_to_json(operation: Operation) -> str | list[str]:
    return operation.value if isinstance(operation, Special) else list(operation.triple)


def _operation_from_json(data: object) -> Operation:
    if isinstance(data, str) and data in {s.value for s in Special}:
        return Special(data)
    if isinstance(data, list) and len(data) == 3:
        return Relation(*data)
    raise DiffmgError(f"an operation is 'identity', 'empty' or a relation [source, name, target], but got {data!r}")


register(MetaGraph, MetaGraph.to_dict, lambda data, _: MetaGraph.from_dict(data))
