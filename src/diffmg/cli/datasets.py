"""The command that lists the data sets, or shows the card of one."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from diffmg.cli import common, completion, output
from diffmg.cli.common import console, say
from diffmg.core import MissingDataError

if TYPE_CHECKING:
    from diffmg.datasets import Card
    from diffmg.tasks.problem import Problem

OneName = typer.Argument(metavar="[NAME]", help="Its card.", show_default="all", autocompletion=completion.data_sets)


def datasets(name: Annotated[str | None, OneName] = None, data_root: common.DataRoot = None) -> output.Value:
    """List the data sets, or show the card of one, with the counts of its files where they are there."""
    from diffmg.datasets import DATASETS, load_dataset, parse_name

    if name is None:
        console.print(listing())
        return {"datasets": {known: kind.summary for known, kind in DATASETS.items()}}
    plain = parse_name(name).name
    dataset = DATASETS.get(plain)(plain)
    card = dataset.card()
    say(f"{name}: {dataset.summary}")
    problem: Problem | None = None
    try:
        problem = load_dataset(name, root=data_root)
        here: dict[str, Any] = {"task": problem.task.describe()}
    except MissingDataError as error:
        here = {"files": str(error)}
    _show_facts(card)
    _show_counts(card, problem)
    for line in (*(f"beware: {trap}" for trap in card.traps), *(f"{what}: {words}" for what, words in here.items())):
        say(line)
    return {"name": name, "summary": dataset.summary, "card": _card_values(card), **here}


def _card_values(card: Card) -> dict[str, Any]:
    """The card with the edges of each relation under its names."""
    values = {field.name: getattr(card, field.name) for field in fields(card)}
    return values | {"edges": {f"{r.source} {r.name} {r.target}": count for r, count in card.edges.items()}}


def listing() -> Table:
    """All data sets with a one-line summary of each."""
    from diffmg.datasets import DATASETS

    table = Table("data set", "what it is", title="data sets", title_justify="left")
    for name, kind in DATASETS.items():
        table.add_row(name, kind.summary)
    return table


def _show_facts(card: Card) -> None:
    if card.repository:
        say(f"repository: {card.repository}, commit {card.commit}")
    for what in ("source", "licence", "features", "split"):
        say(f"{what}: {getattr(card, what)}")
    for what, counts in (("ratings", card.ratings), ("the paper says", card.paper)):
        if counts:
            say(f"{what}: {', '.join(f'{name} {count}' for name, count in counts.items())}")


def _show_counts(card: Card, problem: Problem | None) -> None:
    """Counts from the card beside those of the local files."""
    graph, found = (problem.graph, problem.task.counts()) if problem else (None, {})
    types = Table("node type", "card", "here", "features", "isolated", title="node types", title_justify="left")
    for t, count in card.nodes.items():
        columns = str(graph.features[t].shape[1]) if graph and t in graph.features else "none"
        here = (str(graph.num_nodes[t]), columns, str(len(graph.isolated(t)))) if graph else ("-", "-", "-")
        types.add_row(t, str(count), *here)
    relations = Table("relation", "from", "to", "card", "here", title="relations", title_justify="left")
    for relation, count in card.edges.items():
        edges = str(graph.adjacency[relation].nnz) if graph else "-"
        relations.add_row(relation.name, relation.source, relation.target, str(count), edges)
    labels = Table("part", "class", "card", "here", title="labels", title_justify="left")
    for part, classes in card.parts.items():
        for name, count in classes.items():
            labels.add_row(part, name, str(count), str(found[part][name]) if found else "-")
    for table in (types, relations, labels):
        console.print(table)
