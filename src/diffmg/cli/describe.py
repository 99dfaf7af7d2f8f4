"""The command that shows how a database or tables become a network."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from diffmg.cli import common
from diffmg.cli.common import console, say

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
    out: Annotated[Path | None, common.option("--out", help="TOML file to write, to be edited.")] = None,
) -> None:
    """Show which tables become node types and which keys become relations, and write it as a TOML file."""
    from diffmg.runs.sources import describe as make_description
    from diffmg.tables import write_description

    asked = common.predictions(task, by, label=label, metric=metric)
    description = make_description(common.source(data, target, as_of, None, predictions=asked))
    show_description(description)
    if out is not None:
        write_description(out, _relative_to(description, out.parent))
        say(f"written to {out}")


def _relative_to(description: Description, folder: Path) -> Description:
    """The description with its database path relative to the output folder."""
    address = description.database
    if address is None or "://" in address:
        return description
    return replace(description, database=os.path.relpath(address, folder))


def show_description(description: Description) -> None:
    """Print the node types, the relations and the task of a description."""
    nodes = Table("node type", "table", "id", "features", title="node types", title_justify="left")
    for name, node in description.nodes.items():
        features = "all other columns" if node.features is None else ", ".join(node.features) or "none"
        nodes.add_row(name, node.table or "named by relations", ", ".join(node.id) or "first column", features)
    console.print(nodes)
    relations = Table("relation", "from", "to", "table", title="relations", title_justify="left")
    for name, relation in description.relations.items():
        relations.add_row(name, relation.source[0], relation.target[0], relation.table)
    console.print(relations)
    for note in description.notes:
        say(note)
    for line in ["no task"] if description.task is None else description.task.lines():
        say(line)
