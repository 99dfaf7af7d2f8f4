"""The command line. Heavy imports are inside the commands, so that `--help` is fast."""

import sys
from typing import Annotated

import typer

from diffmg import __version__
from diffmg.cli import (
    ask,
    common,
    datasets,
    demo,
    describe,
    explain,
    export,
    fit,
    listing,
    memory,
    output,
    resume,
    serve,
    show,
    use,
    vectors,
)  # fmt: skip
from diffmg.cli.common import errors, say
from diffmg.core import DiffmgError, MissingDataError
from diffmg.core.trust import allow_outside, trust_server

INTERRUPTED = 130

app = typer.Typer(
    name="diffmg",
    help="Learning on heterogeneous networks without hand-made meta paths.",
    epilog="Exit codes: 0 done, 1 a fault of the program, 2 bad input, 3 missing data, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for command in (
    demo.demo,
    fit.fit,
    resume.resume,
    resume.repeat,
    ask.ask,
    describe.describe,
    memory.plan,
    export.export,
):
    app.command()(output.command(command))
for query in (use.score, use.predict, use.recommend, vectors.embed, vectors.similar, explain.explain):
    app.command()(output.command(query))
for look in (show.show, show.report, serve.serve, datasets.datasets):
    app.command()(output.command(look))
app.command("list")(output.command(listing.list_all))


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"diffmg {__version__}")
        raise typer.Exit


@app.callback()
def about(
    ctx: typer.Context,
    version: Annotated[  # noqa: ARG001  # printed by its callback
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version and stop.")
    ] = False,
    as_json: output.AsJson = False,
    quiet: output.NoWords = False,
    outside: Annotated[
        bool, typer.Option("--allow-outside", help="Let descriptions name files outside of their folder.")
    ] = False,
    servers: Annotated[
        list[str] | None,
        common.option("--trust-server", metavar="HOST", help="A server named by a file that may get PGPASSWORD."),
    ] = None,
) -> None:
    """Learning on heterogeneous networks without hand-made meta paths."""
    ctx.obj = output.Wanted(as_json, quiet)
    allow_outside(outside)
    for server in servers or ():
        trust_server(server)


def main() -> None:
    """Run the command line; expected failures print one message and set a meaningful exit code."""
    try:
        app(prog_name="diffmg")
    except MissingDataError as error:
        say(f"error: {error}", errors)
        sys.exit(3)
    except DiffmgError as error:
        say(f"error: {error}", errors)
        sys.exit(2)
    except SystemExit as end:
        if end.code == INTERRUPTED:
            say("interrupted", errors)
        raise
