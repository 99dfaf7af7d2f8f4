"""The command line. Heavy imports stand inside the commands, so that `--help` is quick."""

from __future__ import annotations

import sys

import typer

from diffmg.cli import demo, fit, listing, show, use
from diffmg.cli.common import errors
from diffmg.errors import DiffmgError, MissingDataError

app = typer.Typer(
    name="diffmg",
    help="Learning on heterogeneous networks without hand-made meta paths.",
    epilog="Exit codes: 0 done, 1 a fault of the program, 2 bad input, 3 missing data, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (
    demo.demo,
    fit.fit,
    fit.search,
    fit.train,
    fit.resume,
    fit.repeat,
    use.score,
    use.predict,
    use.recommend,
    show.show,
    listing.datasets,
):
    app.command()(command)
app.command("list")(listing.list_all)


def main() -> None:
    """Run the command line; every expected failure ends in one message and a meaningful exit code."""
    try:
        app()
    except MissingDataError as error:
        errors.print(f"error: {error}", style="red", markup=False, highlight=False)
        sys.exit(3)
    except DiffmgError as error:
        errors.print(f"error: {error}", style="red", markup=False, highlight=False)
        sys.exit(2)
    except KeyboardInterrupt:
        errors.print("interrupted", style="yellow")
        sys.exit(130)
