"""Builds a problem, the network and its task, from a description and its tables."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from diffmg.core import DiffmgError, Source
from diffmg.core.files import is_file_name
from diffmg.graph.network import HeteroGraph
from diffmg.tables.as_of import cut_tables
from diffmg.tables.building import build_network
from diffmg.tables.copies import check_copies
from diffmg.tables.description import Description, description_to_dict, read_description
from diffmg.tables.expanding import read_triples
from diffmg.tables.reading import as_table, read_table
from diffmg.tasks.problem import Problem


def read_problem(path: Path | str) -> Problem:
    """A problem from a TOML description; paths are relative to its folder."""
    description = read_description(Path(path))
    tables = read_tables(description, Path(path).parent)
    return replace(problem_from_tables(description, tables), source=Source(str(path)).located())


def read_graph(path: Path | str) -> HeteroGraph:
    """A network from a TOML description, without the task."""
    description = read_description(Path(path))
    return build_network(description, read_tables(description, Path(path).parent)).graph({})


def read_tables(description: Description, folder: Path) -> dict[str, pa.Table]:
    """The tables that a description names, from its database or files; paths are relative to `folder`."""
    if description.database is not None:
        from diffmg.tables.database import read_database

        address = description.database
        placed = description if "://" in address else replace(description, database=str(folder / address))
        files = [name for name in description.tables if is_file_name(name)]
        read = dict(read_database(placed))
        return {name: read_table(folder / name, description.encoding) for name in files if name not in read} | read
    triples, tables = description.triples, {}
    if triples is not None:
        drop = description.on_unknown == "drop"
        tables[triples.file] = read_triples(triples, folder, description.encoding, drop=drop)[0]
    more = [name for name in description.tables if name not in tables]
    tables |= {name: read_table(folder / name, description.encoding) for name in more}
    return cut_tables(tables, description.as_of)


def problem_from_tables(
    description: Description, tables: Mapping[str, Any], encoders: Mapping[str, Any] | None = None
) -> Problem:
    """A problem from a description and the tables it names: Arrow-compatible or mappings of columns.

    `encoders`, if given, are the fitted ones of another network and used instead of fitting new ones.
    """
    arrow = {name: as_table(table, name) for name, table in tables.items()}
    if description.task is None:
        raise DiffmgError(f"a problem needs a task, but got {description.task}; add [task] to the description")
    network = build_network(description, arrow, encoders)
    reading = description.task.read(network)
    check_copies(network, description.task, reading.task)
    plain = description_to_dict(description) if network.timed else None
    return Problem(network.graph(reading.kept, reading.notes), reading.task, description=plain)
