"""`python -m experiments.data verify|download`: the public files of the paper's data sets."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn
from rich.table import Table

from diffmg.cli import common
from diffmg.cli.common import console, say
from diffmg.core.errors import DiffmgError, MissingDataError
from diffmg.datasets import DATASETS, data_places
from experiments.data.download import BASE, download_dataset
from experiments.data.verify import verify_dataset

DIFFERS, MISSING = 2, 3

app = typer.Typer(
    help="Check the files of the paper's data sets, or fetch them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def verify(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="Data sets.", show_default="all that have files")
    ] = None,
    data_root: common.DataRoot = None,
) -> None:
    """Check the hashes and counts of data sets; the exit code is 2 if something differs, 3 if files are missing."""
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
        say(f"looked in {places}; `python -m experiments.data download NAME` fetches what is missing")
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


def main() -> None:
    """Run the command; every expected failure ends in one message and a meaningful exit code."""
    try:
        app()
    except DiffmgError as error:
        say(f"error: {error}", common.errors)
        sys.exit(MISSING if isinstance(error, MissingDataError) else DIFFERS)


if __name__ == "__main__":
    main()
