"""Ratings: odd users, items, stars and times; what is recommended was not seen, and everyone is answered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from fuzz import odd
from fuzz.case import Answer, Case, all_done
from fuzz.damage import damaged
from fuzz.expected import UnclearError, keys
from fuzz.library import Table, World
from fuzz.oracles import RUN, TABLE, finite_scores, fit, joined, same_both_ways, table, written
from fuzz.writers import NET, as_csv, as_parquet


def cases(seed: int) -> Case:
    """Users and films, with up to two things wrong."""
    rng = Random(f"ratings {seed}")
    world = _made(rng)
    words = [_mutate(world, rng) for _ in range(rng.choice((0, 1, 1, 2)))]
    files, seen = rng.choice((as_csv, as_parquet))(world)
    if rng.random() < 0.15:
        name = rng.choice([*files])
        files[name], kind = damaged(files[name], rng)
        return Case(f"{name}: {kind}", files, (("describe", NET), fit(NET, method="popularity")))
    count = rng.choice(("3", "3", "1", "1000", "0", "-1", "99999999999999999999"))
    recommend = ("recommend", RUN, "-k", count)
    method = rng.choice(("popularity", "item_knn", "svd", "ease", "lightgcn"))
    steps = (fit(NET, method=method), recommend, (*recommend, "--out", TABLE))
    oracle = joined(finite_scores, same_both_ways, _recommended(seen, count))
    return Case(", ".join([method, *words]), files, steps, oracle, terminal=rng.random() < 0.2)


def _made(rng: Random) -> World:
    pairs = [(f"u{u}", f"i{i}") for u in range(12) for i in range(10) if rng.random() < 0.5]
    rated: Table = {"user": [u for u, _ in pairs], "film": [i for _, i in pairs]}
    relation: dict[str, Any] = {"file": "rated", "source": ["user", "user"], "target": ["film", "film"]}
    task: dict[str, Any] = {"relation": "rated"}
    if rng.random() < 0.5:
        rated["stars"] = [rng.randint(1, 5) for _ in pairs]
        task |= {"rating": "stars", "liked": 3}
    if rng.random() < 0.3:
        rated["when"] = [f"2024-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}" for _ in pairs]
        task["time"] = "when"
    return World({"rated": rated}, {"nodes": {"user": {}, "film": {}}, "relations": {"rated": relation}, "task": task})


def _mutate(world: World, rng: Random) -> str:
    kind = rng.choice(("name", "cells", "setting", "repeat", "few", "value"))
    rated, task = world.tables["rated"], world.described["task"]
    if kind == "name":
        old, new = rng.choice(("user", "film")), odd.name(rng)
        nodes = world.described["nodes"]
        if new not in nodes:
            world.described["nodes"] = {(new if t == old else t): n for t, n in nodes.items()}
            for end in (world.described["relations"]["rated"][e] for e in ("source", "target")):
                end[0] = new if end[0] == old else end[0]
    elif kind == "cells":
        cells = rated[rng.choice([*rated])]
        for _ in range(rng.choice((1, 4))):
            cells[rng.randrange(len(cells))] = odd.value(rng)
    elif kind == "value":
        column = rng.choice(("user", "film"))
        old, new = rng.choice(rated[column]), odd.name(rng)
        rated[column] = [new if v == old else v for v in rated[column]]
    elif kind == "setting":
        key = rng.choice(("liked", "k", "metric", "rating", "time", "dates", "split", "shares", "seed", "core", "x"))
        plain = odd.plain(rng)
        task[key] = "x" if plain is None or plain != plain or isinstance(plain, list | dict) else plain
    else:
        rows = 1 if kind == "few" else len(rated["user"]) + 5
        world.tables["rated"] = {c: [*cells, *cells[:5]][:rows] for c, cells in rated.items()}
    return kind


def _recommended(world: World, count: str) -> Any:
    """Nobody is recommended what was seen, or something twice; ranks count from one; every user is there."""

    def found(answers: Sequence[Answer]) -> Iterator[str]:
        if not all_done(answers):
            return
        rated = world.tables["rated"]
        try:
            users, films = (keys(rated, [c], world.text) for c in ("user", "film"))
        except (UnclearError, KeyError):
            return
        seen = {*zip(users, films, strict=True)}
        rows = [(row[0], int(row[1]), row[2]) for row in table(written())[1:]]
        shown = [(u, i) for u, _, i in rows if (u, i) in seen]
        if shown:
            yield f"{len(shown)} of what is recommended was chosen before, such as {shown[0]}"
        if len({(u, i) for u, _, i in rows}) < len(rows):
            yield "something is recommended twice"
        mine: dict[str, list[int]] = {}
        for user, rank, _ in rows:
            mine.setdefault(user, []).append(rank)
        if any(ranks != [*range(1, len(ranks) + 1)] or len(ranks) > int(count) for ranks in mine.values()):
            yield "ranks do not count from one"

    return found
