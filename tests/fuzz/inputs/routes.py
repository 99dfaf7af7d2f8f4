"""The same data as CSV, Parquet, SQLite, DuckDB and Python: the same network, or refused by all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

from diffmg.core import DiffmgError, Source
from diffmg.runs.provenance import data_of
from diffmg.runs.sources import open_problem
from diffmg.tables.description import description_from_dict
from diffmg.tables.problem import problem_from_tables
from fuzz.case import Answer, Case
from fuzz.library import World, library
from fuzz.mutations import rename_column, rename_relation, rename_type, rename_value, reorder_columns, repeat_rows
from fuzz.writers import MISSING, NET, as_csv, as_duckdb, as_parquet, as_sqlite, stored

ROUTES = {"csv": as_csv, "parquet": as_parquet, "sqlite": as_sqlite, "duckdb": as_duckdb}
MUTATIONS = (rename_column, rename_type, rename_relation, rename_value, rename_value, reorder_columns, repeat_rows)


def cases(seed: int) -> Case:
    """Odd names and rows that all routes can carry."""
    rng = Random(f"routes {seed}")
    world = library(rng)
    for change in rng.sample(MUTATIONS, rng.choice((0, 1, 2))):
        change(world, rng)
        world.changes.append(change.__name__)
    world = _carried(world)
    files: dict[str, bytes] = {}
    for name, write in ROUTES.items():
        files |= {f"{name}/{file}": data for file, data in write(world)[0].items()}
    shuffled = as_csv(world.shuffled(rng))[0]
    files |= {f"shuffled/{file}": data for file, data in shuffled.items()}
    return Case(", ".join(world.changes), files, (), _same(world, [*ROUTES, "shuffled"]))


def _carried(world: World) -> World:
    """Texts that a text file tells from a missing value, and that databases can store."""
    found = stored(world)
    for cells in (cells for table in found.tables.values() for cells in table.values()):
        cells[:] = [f"<{v}>" if isinstance(v, str) and (v in MISSING or "\x00" in v) else v for v in cells]
    return found


def _same(world: World, folders: Sequence[str]) -> Callable[[Sequence[Answer]], Iterator[str]]:
    def found(_: Sequence[Answer]) -> Iterator[str]:
        hashes = {name: _hash(lambda name=name: open_problem(Source(str(Path(name) / NET)))) for name in folders}
        described = description_from_dict(world.described)
        hashes["python"] = _hash(lambda: problem_from_tables(described, world.tables))
        if len({*hashes.values()}) > 1:
            yield f"the same data are {hashes}"

    return found


def _hash(problem: Callable[[], object]) -> str:
    try:
        return data_of(problem()).hash  # type: ignore[arg-type]
    except DiffmgError as error:
        return f"refused: {type(error).__name__}"
