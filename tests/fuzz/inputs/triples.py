"""Triples: odd heads, relations, tails and types, with a head line or without, damaged files."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from random import Random

from diffmg.core import Relation, Source
from diffmg.runs.sources import open_problem
from fuzz import odd
from fuzz.case import Answer, Case
from fuzz.damage import damaged
from fuzz.expected import pairs_of
from fuzz.oracles import PREDICT, finite_scores, fit, joined, open_net, probable, same_both_ways
from fuzz.writers import MISSING, NET

Rows = list[tuple[str, ...]]
DESCRIBED = b"""
[triples]
file = "kg.csv"
nodes = "nodes.csv"
[task]
target = "drug"
label = "family"
"""


def cases(seed: int) -> Case:
    """A graph of medicines with one to three odd texts in it."""
    rng = Random(f"triples {seed}")
    nodes, triples = _made(rng)
    words = []
    for _ in range(rng.randint(0, 3)):
        nodes, triples, word = _mutate(nodes, triples, rng)
        words.append(word)
    rng.shuffle(triples)
    files = {
        "kg.csv": _csv([("head", "relation", "tail"), *triples] if rng.random() < 0.7 else triples),
        "nodes.csv": _csv([("id", "type", "family"), *nodes]),
        NET: DESCRIBED,
    }
    if rng.random() < 0.2:
        name = rng.choice([*files])
        files[name], kind = damaged(files[name], rng)
        return Case(f"{name}: {kind}", files, (("describe", NET), open_net))
    steps = (("describe", NET), open_net) if rng.random() < 0.6 else (fit(NET), *PREDICT)
    oracles = [_edges(nodes, triples), *([finite_scores, same_both_ways, probable] if len(steps) == 3 else [])]
    return Case(", ".join(words), files, steps, joined(*oracles), terminal=rng.random() < 0.3)


def _made(rng: Random) -> tuple[Rows, Rows]:
    nodes: Rows = [(f"d{i}", "drug", ("acid", "base")[i % 2]) for i in range(20)]
    nodes += [(f"q{i}", "protein", "") for i in range(6)]
    triples: Rows = [(f"d{i}", rng.choice(("binds", "cuts")), f"q{rng.randrange(6)}") for i in range(20)]
    return nodes, triples + [(f"q{i}", "binds", f"q{(i + 1) % 6}") for i in range(6)]


def _mutate(nodes: Rows, triples: Rows, rng: Random) -> tuple[Rows, Rows, str]:
    """Replace a text everywhere, or repeat or lose rows."""
    kind = rng.choice(("text", "text", "text", "repeat", "lose node"))
    if kind == "text":
        old = rng.choice([v for row in (*nodes, *triples) for v in row if v])
        new = odd.name(rng)
        changed = [[tuple(new if v == old else v for v in row) for row in rows] for rows in (nodes, triples)]
        return changed[0], changed[1], f"{old!r} is {new[:20]!r}"
    if kind == "repeat":
        return nodes, [*triples, rng.choice(triples)], "a triple twice"
    lost = rng.randrange(len(nodes))
    return nodes[:lost] + nodes[lost + 1 :], triples, "a node less"


def _csv(rows: Rows) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    return out.getvalue().encode("utf-8", "replace")


def _edges(nodes: Rows, triples: Rows) -> Callable[[Sequence[Answer]], Iterator[str]]:
    """Every triple is an edge of the relation between the types of its ends."""

    def found(_: Sequence[Answer]) -> Iterator[str]:
        types = {row[0]: row[1] for row in nodes}
        wanted: dict[Relation, set[tuple[str, str]]] = {}
        for head, relation, tail in triples:
            if MISSING.isdisjoint((head, relation, tail, types.get(head, ""), types.get(tail, ""))):
                wanted.setdefault(Relation(types[head], relation, types[tail]), set()).add((head, tail))
        problem = open_problem(Source(NET))
        for relation, pairs in wanted.items():
            if set(pairs_of(problem, relation)) != pairs:
                yield f"{len(pairs)} triples of {relation} are {len(pairs_of(problem, relation))} edges"

    return found
