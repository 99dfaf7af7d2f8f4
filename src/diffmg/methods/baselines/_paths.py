"""Meta paths: given as text, common in the literature, or derived from the schema."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from diffmg.core import Count, DiffmgError, MetaPath, Relation, Schema, Settings
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._base import Baseline
from diffmg.tasks.problem import Problem

MOST_PATHS = 16
"""Maximum number of meta paths derived for a target type, shortest first."""
ARROW = re.compile(r"\s+-(?:|([^>]+?)-)>\s+")
FORM = "'user -> item -> user', or 'user -buys-> item -bought_by-> user' where relations must be named"


@dataclass(frozen=True)
class AlongPaths(Baseline):
    """A baseline with meta paths as an option."""

    paths: tuple[str, ...] = ()
    """Meta paths such as `author -> paper -> author`; default: from the literature, or derived from the schema."""
    longest: Count = 4
    """Maximum number of relations of a derived meta path."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "paths", path_texts(self.paths))
        super().__post_init__()

    def check(self, problem: Problem, settings: Settings) -> None:
        """Also require a meta path for every target type."""
        super().check(problem, settings)
        self.by_target(problem)

    def by_target(self, problem: Problem) -> dict[str, tuple[MetaPath, ...]]:
        """The meta paths of every target type."""
        return paths_by_target(problem.graph, problem.task.target_types, self.paths, self.longest)


def path_texts(paths: object) -> tuple[str, ...]:
    """The option `paths` as a tuple of strings, from one string or a list."""
    texts = (paths,) if isinstance(paths, str) else paths
    if not isinstance(texts, tuple | list) or not all(isinstance(t, str) for t in texts):
        raise DiffmgError(f"`paths` must be a list of meta paths such as {FORM}, but got paths={paths!r}")
    return tuple(texts)


def paths_by_target(
    graph: HeteroGraph, targets: Sequence[str], given: Sequence[str] = (), longest: int = 4
) -> dict[str, tuple[MetaPath, ...]]:
    """For each target type, meta paths from it back to itself.

    In order of preference: the given ones, those common in the literature for this schema, symmetric ones of at most
    `longest` relations, any closed ones.
    """
    if given:
        return _given_by_target(graph.schema, targets, given)
    reverses = reverses_of(graph)
    found = {}
    for target in targets:
        found[target] = (
            usual_paths(graph.schema, target)
            or symmetric_paths(graph.schema, reverses, target, longest)
            or closed_paths(graph.schema, target, longest)
        )
        if not found[target]:
            raise DiffmgError(
                f"a meta path must lead from {target!r} back to it, but got none of at most {longest} relations; raise "
                f"`longest`, or add reverse relations to the network (it has {_listed(graph.schema.relations)})"
            )
    return found


def parse_path(text: str, schema: Schema) -> MetaPath:
    """Read `user -> item -> user`; a relation is named, `user -buys-> item`, where two types have several."""
    parts = ARROW.split(text.strip())
    if len(parts) < 3:
        raise DiffmgError(f"a meta path is written {FORM}, with spaces around the arrows, but got {text!r}")
    types, names = [schema.check_type(t) for t in parts[::2]], parts[1::2]
    ends = zip(types, names, types[1:], strict=False)
    return tuple(_relation(text, schema, source, name, target) for source, name, target in ends)


def spelled(path: MetaPath) -> str:
    """A meta path as `parse_path` reads it, relations named."""
    return " ".join([path[0].source, *(f"-{r.name}-> {r.target}" for r in path)])


def _relation(text: str, schema: Schema, source: str, name: str | None, target: str) -> Relation:
    found = [r for r in schema.relations if (r.source, r.target) == (source, target) and name in (None, r.name)]
    wanted = f"{source} -> {target}" if name is None else f"{source} -{name}-> {target}"
    if not found:
        outgoing = [r for r in schema.relations if r.source == source]
        raise DiffmgError(
            f"a meta path must follow relations of the network, but got {wanted!r} in {text!r}; "
            f"relations from {source!r}: {_listed(outgoing)}"
        )
    if len(found) > 1:
        raise DiffmgError(
            f"a relation must be named where two types have several, but got {wanted!r} in {text!r}, "
            f"which is any of: {_listed(found)}"
        )
    return found[0]


def _given_by_target(schema: Schema, targets: Sequence[str], given: Sequence[str]) -> dict[str, tuple[MetaPath, ...]]:
    paths = dict.fromkeys(parse_path(text, schema) for text in given)
    for path in paths:
        if path[0].source != path[-1].target or path[0].source not in targets:
            raise DiffmgError(
                f"a meta path must start and end at the same target type, one of {list(targets)}, "
                f"but got {spelled(path)!r}"
            )
    found = {t: tuple(p for p in paths if p[0].source == t) for t in targets}
    for target, own in found.items():
        if not own:
            raise DiffmgError(f"`paths` must have one or more for each of {list(targets)}, but got none of {target!r}")
    return found


def usual_paths(schema: Schema, target: str) -> tuple[MetaPath, ...]:
    """Meta paths used in the literature for networks of these types; empty for unknown schemas."""
    for network in _usual_networks():
        if set(network["types"]) == set(schema.node_types):
            try:
                return tuple(parse_path(text, schema) for text in network["paths"].get(target, ()))
            except DiffmgError:  # same types but other relations: a different network
                continue
    return ()


@cache
def _usual_networks() -> list[dict[str, Any]]:
    text = Path(__file__).with_name("_paths.toml").read_text(encoding="utf-8")
    networks: list[dict[str, Any]] = tomllib.loads(text)["network"]
    return networks


def reverses_of(graph: HeteroGraph) -> dict[Relation, Relation]:
    """Maps each relation to the one with its edges reversed, if any; a relation may be its own reverse."""
    edges = {r: pattern(graph, r) for r in graph.schema.relations}
    found = {}
    for relation, matrix in edges.items():
        flipped = sp.csr_matrix(matrix.T)
        for other, partner in edges.items():
            if (other.source, other.target) == (relation.target, relation.source) and not (flipped != partner).nnz:
                found[relation] = other
                break
    return found


def pattern(graph: HeteroGraph, relation: Relation) -> sp.csr_matrix:
    """The adjacency of a relation with all weights 1, row = target; edges of weight zero are dropped."""
    matrix = sp.csr_matrix(graph.adjacency[relation], dtype="float32", copy=True)
    matrix.eliminate_zeros()
    matrix.data[:] = 1
    return matrix


def symmetric_paths(
    schema: Schema, reverses: Mapping[Relation, Relation], target: str, longest: int
) -> tuple[MetaPath, ...]:
    """Palindromic paths of at most `longest` relations, shortest first.

    A relation that is its own reverse may be in the middle. The first half never takes a relation followed by its
    reverse: such a path repeats a shorter one.
    """
    found: list[MetaPath] = []
    halves: list[MetaPath] = [()]
    for length in range(longest // 2 + 1):
        longer: list[MetaPath] = []
        for half in halves:
            end, back = half[-1].target if half else target, tuple(reverses[r] for r in reversed(half))
            if half and back[0] != half[-1]:
                found.append(half + back)
            leaving = [r for r in schema.relations if r.source == end and r in reverses]
            if 2 * length < longest:
                found += [(*half, r, *back) for r in leaving if reverses[r] == r and r not in half]
            longer += [(*half, r) for r in leaving if not half or r != back[0]]
        halves = longer
        if len(found) >= MOST_PATHS:
            break
    return tuple(sorted(found, key=len)[:MOST_PATHS])


def closed_paths(schema: Schema, target: str, longest: int) -> tuple[MetaPath, ...]:
    """Paths of at most `longest` relations from a type back to itself without passing through it, shortest first."""
    found: list[MetaPath] = []
    ways: list[MetaPath] = [(r,) for r in schema.relations if r.source == target]
    for _ in range(longest):
        found += [way for way in ways if way[-1].target == target]
        if len(found) >= MOST_PATHS:
            break
        ends = [way for way in ways if way[-1].target != target]
        ways = [(*way, r) for way in ends for r in schema.relations if r.source == way[-1].target and r not in way]
    return tuple(found[:MOST_PATHS])


def _listed(relations: Sequence[Relation]) -> str:
    return ", ".join(f"'{r}'" for r in relations) or "none"
