"""A small library in tables, made at random and valid: authors with a field, their papers, the venues of these."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import Any

Table = dict[str, list[Any]]


@dataclass
class World:
    """Tables and the description of a network in them; mutations change it in place."""

    tables: dict[str, Table]
    described: dict[str, Any]
    text: bool = False
    """Whether cells are read from text, where some words mean that a cell is empty."""
    dropping: bool = False
    """Whether unknown ids are left out."""
    changes: list[str] = field(default_factory=list)

    def copy(self) -> World:
        """A copy to be changed."""
        return deepcopy(self)

    def shuffled(self, rng: Random) -> World:
        """The same rows in another order."""
        found = self.copy()
        for name, table in found.tables.items():
            order = list(range(rows_of(table)))
            rng.shuffle(order)
            found.tables[name] = {column: [cells[i] for i in order] for column, cells in table.items()}
        return found


def rows_of(table: Table) -> int:
    """The number of rows."""
    return len(next(iter(table.values()), []))


def library(rng: Random) -> World:
    """A world with or without split, weights, numbers to predict, links among authors, ids of two columns."""
    authors = [f"a{i}" for i in range(rng.randrange(18, 30))]
    if rng.random() < 0.4:
        authors = [7 * i + 3 for i in range(len(authors))]
        authors = [f"{number:04}" for number in authors] if rng.random() < 0.3 else authors
    papers = [f"p{i}" for i in range(rng.randrange(6, 12))]
    tables = {"authors": _authors(rng, authors), "papers": _papers(rng, papers), "wrote": _wrote(rng, authors, papers)}
    task: dict[str, Any] = {"target": "author", "label": "field"}
    world = World(tables, {"nodes": _nodes(), "relations": _relations(), "task": task})
    for change, often in (
        (_numbers, 0.25),
        (_split, 0.3),
        (_weights, 0.3),
        (_friends, 0.4),
        (_pairs, 0.2),
        (_drop, 0.2),
    ):
        if rng.random() < often:
            change(world, rng)
    return world


def _nodes() -> dict[str, Any]:
    return {"author": {"file": "authors", "id": "author"}, "paper": {"file": "papers"}, "venue": {}}


def _relations() -> dict[str, Any]:
    return {
        "wrote": {"file": "wrote", "source": ["author", "author"], "target": ["paper", "paper"]},
        "in": {"file": "papers", "source": ["paper", "paper"], "target": ["venue", "venue"]},
    }


def _authors(rng: Random, ids: list[Any]) -> Table:
    count = len(ids)
    return {
        "author": ids,
        "age": [None if rng.random() < 0.1 else rng.randrange(20, 80) for _ in ids],
        "town": [rng.choice(("Ulm", "Köln", "Bonn")) for _ in ids],
        "field": [("art", "law", "sea")[i % 3] if i < count - 3 else None for i in range(count)],
    }


def _papers(rng: Random, ids: list[str]) -> Table:
    return {
        "paper": ids,
        "year": [None if rng.random() < 0.1 else rng.randrange(1990, 2020) + rng.choice((0, 0.5)) for _ in ids],
        "venue": [None if rng.random() < 0.1 else f"v{rng.randrange(3)}" for _ in ids[1:]] + ["v0"],
    }


def _wrote(rng: Random, authors: list[Any], papers: list[str]) -> Table:
    pairs = [(author, rng.choice(papers)) for author in authors for _ in range(rng.randrange(3))]
    pairs += [(authors[0], papers[0])]
    return {"author": [a for a, _ in pairs], "paper": [p for _, p in pairs]}


def _numbers(world: World, rng: Random) -> None:
    table = world.tables["authors"]
    table["field"] = [None if label is None else round(rng.gauss(5, 2), 3) for label in table["field"]]


def _split(world: World, rng: Random) -> None:
    parts = ["train", "val", "test"]
    labels = world.tables["authors"]["field"]
    world.tables["authors"]["part"] = [None if v is None else parts[(i // 3) % 3] for i, v in enumerate(labels)]
    world.described["task"]["split"] = "part"


def _weights(world: World, rng: Random) -> None:
    world.tables["wrote"]["share"] = [rng.choice((0.5, 1.0, 2.0)) for _ in world.tables["wrote"]["author"]]
    world.described["relations"]["wrote"]["weight"] = "share"


def _friends(world: World, rng: Random) -> None:
    ids = world.tables["authors"]["author"]
    world.tables["authors"]["friend"] = [rng.choice([None, *ids]) for _ in ids]
    world.tables["authors"]["friend"][0] = ids[1]
    ends = {"source": ["author", "author"], "target": ["author", "friend"]}
    world.described["relations"]["knows"] = {"file": "authors", **ends}


def _pairs(world: World, rng: Random) -> None:
    """Papers are known by two columns."""
    papers, wrote = world.tables["papers"], world.tables["wrote"]
    number = {paper: (("k0", "k/1", "k\\2")[i % 3], i) for i, paper in enumerate(papers["paper"])}
    places = [number[paper] for paper in wrote.pop("paper")]
    wrote["shelf"], wrote["no"] = [s for s, _ in places], [n for _, n in places]
    places = [number[paper] for paper in papers.pop("paper")]
    world.tables["papers"] = {"shelf": [s for s, _ in places], "no": [n for _, n in places], **papers}
    world.described["nodes"]["paper"]["id"] = ["shelf", "no"]
    world.described["relations"]["wrote"]["target"] = ["paper", "shelf", "no"]
    world.described["relations"]["in"]["source"] = ["paper", "shelf", "no"]


def _drop(world: World, rng: Random) -> None:
    world.described["on_unknown"], world.dropping = "drop", True
