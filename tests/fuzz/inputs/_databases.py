"""Shared by both kinds of database files: described in TOML, or explored from a target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random

from diffmg.core import Source
from diffmg.runs.sources import open_problem
from fuzz import odd
from fuzz.case import Answer, Case
from fuzz.damage import damaged
from fuzz.expected import pairs_of
from fuzz.library import Table, World, library
from fuzz.mutations import mutate
from fuzz.oracles import QUICK, RUN, joined, open_net, steps_on
from fuzz.writers import Written, columns, quoted, stored

ToBytes = Callable[[Mapping[str, str], Mapping[str, Table]], bytes]


def database_case(rng: Random, file: str, write: Callable[[World], Written], to_bytes: ToBytes) -> Case:
    """Described, explored, or damaged."""
    kind = rng.random()
    if kind < 0.35:
        return explored(rng, file, to_bytes)
    files, seen = write(mutate(library(rng), rng))
    if kind < 0.6:
        files[file], what = damaged(files[file], rng)
        return Case(f"{file}: {what}", files, (("describe", "net.toml"), open_net))
    steps, oracle = steps_on(rng, seen)
    return Case(", ".join(seen.changes), files, steps, oracle, terminal=rng.random() < 0.3)


def explored(rng: Random, file: str, to_bytes: ToBytes) -> Case:
    """A database with keys, whose network is found from a target; tables and columns have odd names."""
    names = _names(rng)
    people, friend, age, label = names["people"], names["friend"], names["age"], names["label"]
    count = rng.randrange(12, 24)
    friends = [None if i == 0 else rng.randrange(i) for i in range(count)]
    own: Table = {
        "id": [*range(count)],
        friend: friends,
        age: [rng.choice((None, rng.random())) for _ in friends],
        label: [("yes", "no")[i % 2] for i in range(count)],
    }
    orders: Table = {"no": [*range(2 * count)], "owner": [rng.randrange(count) for _ in range(2 * count)]}
    seen = stored(World({people: own, names["orders"]: orders}, {}))
    refers = f"REFERENCES {quoted(people)} (id)"
    told = [{"id": "PRIMARY KEY", friend: refers}, {"no": "PRIMARY KEY", "owner": refers}]
    statements = {
        name: f"CREATE TABLE {quoted(name)} ({columns(table, more)})"
        for (name, table), more in zip(seen.tables.items(), told, strict=True)
    }
    target = f"{people}.{label}"
    steps = _steps(rng, file, target)
    wanted = {(str(i), str(f)) for i, f in enumerate(friends) if f is not None}
    owners = {(str(i), str(o)) for i, o in enumerate(orders["owner"])}
    data = to_bytes(statements, seen.tables)
    oracle = joined(_linked(file, target, wanted), _linked(file, target, owners))
    return Case(f"tables {people!r}, {names['orders']!r}", {file: data}, steps, oracle, terminal=rng.random() < 0.3)


def _names(rng: Random) -> dict[str, str]:
    """A name each, some of them odd; SQL forbids an empty one and a zero byte."""
    found = {"people": "people", "orders": "orders", "friend": "friend", "age": "age", "label": "label"}
    for what in rng.sample([*found], rng.choice((0, 1, 2))):
        name = odd.name(rng)
        if name and "\x00" not in name and name.lower() not in {n.lower() for n in (*found.values(), "id", "no")}:
            found[what] = name
    return found


def _steps(rng: Random, file: str, target: str) -> tuple[tuple[str, ...], ...]:
    if rng.random() < 0.5:
        return (("describe", file, "--target", target),)
    return ("fit", file, "--target", target, "--method", "features", *QUICK, "--out", RUN), ("predict", RUN)


def _linked(file: str, target: str, wanted: set[tuple[str, str]]) -> Callable[[Sequence[Answer]], Iterator[str]]:
    """Some relation has just these pairs."""

    def found(_: Sequence[Answer]) -> Iterator[str]:
        problem = open_problem(Source(file, target=target))
        if not any(wanted in (set(p), {(b, a) for a, b in p}) for p in (pairs_of(problem, r) for r in _all(problem))):
            yield f"no relation has the {len(wanted)} pairs of a key"

    return found


def _all(problem: object) -> list[object]:
    return [*problem.graph.adjacency]  # type: ignore[attr-defined]
