"""Commands that list what there is: list, datasets."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated

import typer
from rich.table import Table

from diffmg.cli import common
from diffmg.cli.common import console, say


def list_all() -> None:
    """List everything registered: strategies with their options, data sets, training settings."""
    from diffmg.strategies import STRATEGIES
    from diffmg.train import TrainSettings

    table = Table("strategy", "what it does", "options", title="strategies", title_justify="left")
    for name, kind in STRATEGIES.items():
        options = ", ".join(f"{f.name}={f.default}" for f in fields(kind))  # type: ignore[arg-type]
        table.add_row(name, kind.summary, options or "none")
    console.print(table)
    console.print(_datasets())
    settings = Table("setting", "default", title="settings: --set KEY=VALUE", title_justify="left")
    for field in fields(TrainSettings):
        settings.add_row(field.name, str(field.default))
    console.print(settings)


def datasets(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show what is in this one.", show_default="list all")
    ] = None,
    data_root: common.DataRoot = None,
) -> None:
    """List the data sets, or show the types, relations and split of one."""
    from diffmg.datasets import DATASETS, load_dataset, parse_name

    if name is None:
        console.print(_datasets())
        return
    problem = load_dataset(name, root=data_root)
    graph, task = problem.graph, problem.task
    say(f"{name}: {DATASETS.get(parse_name(name)[0]).summary}")
    types = Table("node type", "nodes", "features", "isolated", title="node types", title_justify="left")
    for node_type, count in graph.num_nodes.items():
        features = graph.features.get(node_type)
        columns = "none" if features is None else str(features.shape[1])
        types.add_row(node_type, str(count), columns, str(len(graph.isolated(node_type))))
    console.print(types)
    relations = Table("relation", "from", "to", "edges", title="relations", title_justify="left")
    for relation, matrix in graph.adjacency.items():
        relations.add_row(relation.name, relation.source, relation.target, str(matrix.nnz))
    console.print(relations)
    parts = ", ".join(f"{part} {task.size(part)}" for part in ("train", "val", "test"))
    say(f"task: {type(task).__name__} on {', '.join(task.target_types)}; {parts}")


def _datasets() -> Table:
    from diffmg.datasets import DATASETS

    table = Table("data set", "what it is", title="data sets", title_justify="left")
    for name, kind in DATASETS.items():
        table.add_row(name, kind.summary)
    return table
