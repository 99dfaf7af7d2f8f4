"""Commands about data sets: `datasets` lists them or shows a card; `verify` and `download` are for files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn
from rich.table import Table
from typer.core import TyperGroup

from diffmg.cli import common
from diffmg.cli.common import console, say
from diffmg.core.errors import MissingDataError

if TYPE_CHECKING:
    from diffmg.datasets import Card
    from diffmg.tasks.problem import Problem

DIFFERS, MISSING = 2, 3


class ShowByDefault(TyperGroup):
    """`datasets [NAME]` means `datasets show [NAME]`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command in where there is none."""
        named = bool(args) and args[0] in (*self.commands, "--help")
        return super().parse_args(ctx, args if named else ["show", *args])


app = typer.Typer(
    cls=ShowByDefault,
    help="List the data sets, show the card of one, check files, fetch them.",
    epilog="`diffmg datasets` and `diffmg datasets NAME` are short for `show`.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def show(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="Show the card of this one: NAME, NAME:SIZE, NAME@SEED.", show_default="list all"
        ),
    ] = None,
    data_root: common.DataRoot = None,
) -> None:
    """List the data sets, or show the card of one, with the counts of its files where they are there."""
    from diffmg.datasets import DATASETS, load_dataset, parse_name

    if name is None:
        console.print(listing())
        return
    plain = parse_name(name).name
    dataset = DATASETS.get(plain)(plain)
    card = dataset.card()
    say(f"{name}: {dataset.summary}")
    problem: Problem | None = None
    try:
        problem = load_dataset(name, root=data_root)
    except MissingDataError as error:
        missing = f"files: {error}"
    _show_facts(card)
    _show_counts(card, problem)
    for trap in card.traps:
        say(f"beware: {trap}")
    say(missing if problem is None else _task_line(problem))


@app.command()
def verify(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="Data sets.", show_default="all that have files")
    ] = None,
    data_root: common.DataRoot = None,
) -> None:
    """Check the hashes and counts of data sets; the exit code is 2 if something differs, 3 if files are missing."""
    from diffmg.datasets import DATASETS, data_places, verify_dataset

    chosen = names or [name for name, kind in DATASETS.items() if kind(name).card().files]
    for name in chosen:
        DATASETS.get(name)
    table = Table("data set", "what", "result", title="hashes and counts", title_justify="left")
    states = set()
    for name in chosen:
        for check in verify_dataset(name, data_root):
            states.add(check.state)
            table.add_row(name, check.what, f"{check.state}{': ' * bool(check.note)}{check.note}")
    console.print(table)
    if "missing" in states:
        places = ", ".join(repr(str(place)) for place in data_places(data_root))
        say(f"looked in {places}; `diffmg datasets download NAME` fetches what is missing")
    if states - {"ok"}:
        raise typer.Exit(DIFFERS if "differs" in states else MISSING)


@app.command()
def download(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Data set.")],
    base: Annotated[
        str | None,
        typer.Option("--base", help="Address of a mirror: BASE/REPOSITORY/COMMIT/PATH.", show_default="GitHub"),
    ] = None,
    data_root: common.DataRoot = None,
) -> None:
    """Fetch the public files of a data set, verify them, and store them where they are looked for."""
    from diffmg.datasets import BASE, DATASETS, download_dataset

    card = DATASETS.get(name)(name).card()
    if card.files:
        say(f"{name}: {card.repository} at {card.commit[:8]}; {card.licence}")
    with Transfers() as transfers:
        place = download_dataset(name, data_root, base=base or BASE, watch=transfers)
    say(f"{name}: everything is in place" if place is None else f"{name}: stored in {place}")


class Transfers(Progress):
    """A bar for each file that is fetched."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description:<24}"), BarColumn(bar_width=24), DownloadColumn())
        super().__init__(*columns, TransferSpeedColumn(), console=common.errors)
        self.bars: dict[str, TaskID] = {}

    def __call__(self, name: str, done: int, total: int | None) -> None:
        """Some more of a file has come; nothing of it, when files are converted."""
        if not done:
            self.console.print(f"{name} ...")
            return
        if name not in self.bars:
            self.bars[name] = self.add_task(name, total=total, completed=done)
        self.update(self.bars[name], total=total, completed=done)


def listing() -> Table:
    """All data sets with a line on each."""
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
    """What the card says and, beside it, what is there."""
    types = Table("node type", "card", "here", "features", "isolated", title="node types", title_justify="left")
    for node_type, count in card.nodes.items():
        types.add_row(node_type, str(count), *_found_nodes(problem, node_type))
    relations = Table("relation", "from", "to", "card", "here", title="relations", title_justify="left")
    for relation, count in card.edges.items():
        edges = "-" if problem is None else str(problem.graph.adjacency[relation].nnz)
        relations.add_row(relation.name, relation.source, relation.target, str(count), edges)
    labels = Table("part", "class", "card", "here", title="labels", title_justify="left")
    found = {} if problem is None else problem.task.counts()
    for part, classes in card.parts.items():
        for name, count in classes.items():
            labels.add_row(part, name, str(count), str(found[part][name]) if found else "-")
    for table in (types, relations, labels):
        console.print(table)


def _found_nodes(problem: Problem | None, node_type: str) -> tuple[str, str, str]:
    if problem is None:
        return "-", "-", "-"
    graph = problem.graph
    features = graph.features.get(node_type)
    columns = "none" if features is None else str(features.shape[1])
    return str(graph.num_nodes[node_type]), columns, str(len(graph.isolated(node_type)))


def _task_line(problem: Problem) -> str:
    return f"task: {problem.task.describe()}"
