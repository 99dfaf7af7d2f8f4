"""What goes wrong in tables: names, ids, cells, rows and columns. Descriptions follow renamed columns and types."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from fuzz import odd
from fuzz.library import World, rows_of

Mutation = Callable[[World, Random], None]


def mutate(world: World, rng: Random, most: int = 3) -> World:
    """Change a world in place by one to three mutations; their names are kept in it."""
    for _ in range(rng.randint(1, most)):
        change = rng.choice(MUTATIONS)
        change(world, rng)
        world.changes.append(change.__name__)
    return world


def _table(world: World, rng: Random) -> str:
    return rng.choice([*world.tables])


def _column(world: World, rng: Random, table: str) -> str | None:
    return rng.choice([*world.tables[table]]) if world.tables[table] else None


def _everywhere(data: Any, old: str, new: str, *, first: bool, keys: bool = False) -> Any:
    """Plain values with a text replaced: node types stand first in the ends of relations, columns after them."""
    if isinstance(data, dict):
        return {(new if keys and k == old else k): _everywhere(v, old, new, first=first) for k, v in data.items()}
    if isinstance(data, list):
        ends = [i == 0 for i in range(len(data))] if len(data) > 1 else [False]
        return [new if v == old and end == first else v for v, end in zip(data, ends, strict=True)]
    return new if data == old else data


def rename_column(world: World, rng: Random) -> None:
    """A column has an odd name, in its table and in the description."""
    table = _table(world, rng)
    old, new = _column(world, rng, table), odd.name(rng)
    if old is None or new in world.tables[table]:
        return
    world.tables[table] = {(new if c == old else c): cells for c, cells in world.tables[table].items()}
    parts = world.described
    for part in (*parts["nodes"].values(), *parts["relations"].values()):
        if part.get("file") == table:
            for key in part.keys() & {"id", "source", "target", "weight"}:
                part[key] = _everywhere(part[key], old, new, first=False) if key != "id" else _id(part[key], old, new)
    if table == "authors":
        parts["task"] |= {k: new for k in ("label", "split") if parts["task"].get(k) == old}


def _id(given: Any, old: str, new: str) -> Any:
    return [new if c == old else c for c in given] if isinstance(given, list) else new if given == old else given


def rename_type(world: World, rng: Random) -> None:
    """A node type has an odd name."""
    old, new = rng.choice([*world.described["nodes"]]), odd.name(rng)
    if new in world.described["nodes"]:
        return
    parts = world.described
    parts["nodes"] = {(new if t == old else t): node for t, node in parts["nodes"].items()}
    for relation in parts["relations"].values():
        for end in ("source", "target"):
            relation[end] = _everywhere(relation[end], old, new, first=True)
    if parts["task"].get("target") == old:
        parts["task"]["target"] = new


def rename_relation(world: World, rng: Random) -> None:
    """A relation has an odd name."""
    relations = world.described["relations"]
    old, new = rng.choice([*relations]), odd.name(rng)
    if new not in relations:
        world.described["relations"] = {(new if r == old else r): v for r, v in relations.items()}


def rename_value(world: World, rng: Random) -> None:
    """A value (an id, a class, a category) has an odd name, wherever it stands."""
    table = _table(world, rng)
    column = _column(world, rng, table)
    known = [v for v in world.tables[table][column] if isinstance(v, str)] if column is not None else []
    if known:
        old, new = rng.choice(known), odd.name(rng)
        for cells in (cells for t in world.tables.values() for cells in t.values()):
            cells[:] = [new if v == old and isinstance(v, str) else v for v in cells]


def odd_cells(world: World, rng: Random) -> None:
    """Some cells of a column have an odd value."""
    table = _table(world, rng)
    column = _column(world, rng, table)
    cells = world.tables[table].get(column, []) if column is not None else []
    for _ in range(rng.choice((1, 1, 5))):
        if cells:
            cells[rng.randrange(len(cells))] = odd.value(rng)


def odd_column(world: World, rng: Random) -> None:
    """A column has one odd value everywhere, or none."""
    table = _table(world, rng)
    column = _column(world, rng, table)
    if column is not None:
        world.tables[table][column] = [rng.choice((None, odd.value(rng)))] * rows_of(world.tables[table])


def more_columns(world: World, rng: Random) -> None:
    """A column more, of any values."""
    table = world.tables[_table(world, rng)]
    kind = rng.choice((lambda: odd.value(rng), lambda: rng.choice(odd.DATES), lambda: rng.random(), lambda: "w " * 5))
    table.setdefault(odd.name(rng), [kind() for _ in range(rows_of(table))])


def drop_column(world: World, rng: Random) -> None:
    """A column is not there."""
    table = _table(world, rng)
    world.tables[table].pop(_column(world, rng, table) or "", None)


def reorder_columns(world: World, rng: Random) -> None:
    """Columns stand in another order; an id is known by its name then."""
    table = _table(world, rng)
    columns = [*world.tables[table].items()]
    for node in world.described["nodes"].values():
        if node.get("file") == table and columns:
            node.setdefault("id", columns[0][0])
    rng.shuffle(columns)
    world.tables[table] = dict(columns)


def no_rows(world: World, rng: Random) -> None:
    """A table has no rows, or few."""
    name, few = _table(world, rng), rng.choice((0, 0, 1, 2))
    world.tables[name] = {column: cells[:few] for column, cells in world.tables[name].items()}


def repeat_rows(world: World, rng: Random) -> None:
    """Rows stand twice."""
    name = _table(world, rng)
    count = rows_of(world.tables[name])
    rows = [rng.randrange(count) for _ in range(rng.choice((1, 4)))] if count else []
    for cells in world.tables[name].values():
        cells.extend([cells[i] for i in rows])


def unknown_ids(world: World, rng: Random) -> None:
    """A relation names ids that no node has, or none."""
    table = world.tables["wrote"]
    column = rng.choice([*table] or [""])
    for _ in range(rng.choice((1, 4))):
        if table.get(column):
            table[column][rng.randrange(len(table[column]))] = rng.choice((None, "nobody", 10**6))


def few_labels(world: World, rng: Random) -> None:
    """Labels are of one class, of too many, or hardly there."""
    labels = world.tables["authors"].get("field", [])
    kind = rng.choice(("one", "none", "each", "rare"))
    for i, label in enumerate(labels):
        changed = {"one": label and "art", "none": None, "each": f"c{i}", "rare": label if i < 4 else None}
        labels[i] = changed[kind]


MUTATIONS: tuple[Mutation, ...] = (
    rename_column, rename_column, rename_type, rename_relation, rename_value, rename_value, odd_cells, odd_cells,
    odd_column, more_columns, drop_column, reorder_columns, no_rows, repeat_rows, unknown_ids, few_labels,
)  # fmt: skip
