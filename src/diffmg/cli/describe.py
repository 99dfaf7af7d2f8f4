"""The command that shows how a database or tables become a network."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from diffmg.cli import common, output
from diffmg.cli.common import console, say
from diffmg.cli.timed import show_windows, times_of

if TYPE_CHECKING:
    from diffmg.tables import Description


def describe(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A database, or a description (.toml).")],
    target: common.Target = None,
    task: common.TaskTable = None,
    label: common.Label = None,
    metric: common.Metric = None,
    by: common.By = None,
    as_of: common.AsOf = None,
    on_unknown: common.OnUnknown = None,
    out: Annotated[Path | None, common.option("--out", help="TOML file to write, to be edited.")] = None,
) -> output.Value:
    """Show which tables become node types and which keys become relations, and write it as a TOML file."""
    from diffmg.runs.sources import describe as make_description
    from diffmg.tables import write_description
    from diffmg.tables.description import description_to_dict

    asked = common.predictions(task, by, label=label, metric=metric)
    description = make_description(common.source(data, target, as_of, on_unknown, predictions=asked))
    show_description(description)
    if out is not None:
        folder = Path(data).parent if data.endswith(".toml") else Path()
        written = moved(description, folder, out.parent)
        write_description(out, written)
        say(f"written to {out}")
        if any(name.startswith("..") for name in (*written.tables, written.database or "")):
            say(f"it names files outside of its folder: read it with `diffmg --allow-outside fit {out}`")
    return {"description": description_to_dict(description), "notes": description.notes, "written": out}


def moved(description: Description, folder: Path, out: Path) -> Description:
    """The description with paths relative to another folder: of its database, and of its files."""
    from diffmg.core.files import is_file_name

    def path(name: str) -> str:
        return os.path.relpath(folder / name, out)

    files = {t: path(t) for t in description.tables if is_file_name(t)}
    nodes = {n: replace(node, table=files.get(node.table or "", node.table)) for n, node in description.nodes.items()}
    relations = {n: replace(r, table=files.get(r.table, r.table)) for n, r in description.relations.items()}
    address = description.database
    return replace(
        description,
        nodes=nodes,
        relations=relations,
        as_of={_renamed(name, files): time for name, time in description.as_of.items()},
        database=address if address is None or "://" in address else path(address),
    )


def _renamed(column: str, files: Mapping[str, str]) -> str:
    """A column FILE.COLUMN with the new path of its file."""
    for old, new in files.items():
        if column.startswith(f"{old}."):
            return new + column.removeprefix(old)
    return column


def show_description(description: Description) -> None:
    """Print the node types, the relations and the task of a description."""
    heads = ["node type", "table", "id", "features", *(["time"] if description.moments else [])]
    nodes = Table(*heads, title="node types", title_justify="left")
    for name, node in description.nodes.items():
        features = "all other columns" if node.features is None else ", ".join(node.features) or "none"
        ids = ", ".join(node.id) or "first column"
        nodes.add_row(name, node.table or "named by relations", ids, features, *times_of(description, name))
    console.print(nodes)
    relations = Table("relation", "from", "to", "table", title="relations", title_justify="left")
    for name, relation in description.relations.items():
        relations.add_row(name, relation.source[0], relation.target[0], relation.table)
    console.print(relations)
    show_windows(description)
    for note in description.notes:
        say(note)
    for line in ["no task"] if description.task is None else description.task.lines():
        say(line)
