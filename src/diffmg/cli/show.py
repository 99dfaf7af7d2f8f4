"""Commands that draw a meta graph or write a report."""

from pathlib import Path
from typing import Annotated

import typer

from diffmg.cli import common
from diffmg.cli.common import emit, say
from diffmg.core import DiffmgError, MetaGraph, read_metagraphs, read_run
from diffmg.core.files import write_text


def show(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="A run folder, a meta graph file, or a data set.")],
    form: Annotated[str, typer.Option("--format", help="text, dot, mermaid or svg.")] = "text",
    out: Annotated[Path | None, typer.Option("--out", help="File to write.", show_default="print")] = None,
) -> None:
    """Draw a meta graph."""
    from diffmg.viz import draw_all

    drawing = draw_all(_find(what), form)
    if out is None:
        emit(f"{drawing}\n")
    else:
        write_text(out, drawing + "\n")
        say(f"written to {out}")


def report(run: common.RunPath) -> None:
    """Write the report of a run anew, from the files in its folder."""
    from diffmg.viz import write_report

    say(f"written to {write_report(run)}")


def _find(what: str) -> tuple[MetaGraph, ...]:
    from diffmg.datasets import DATASETS

    path = Path(what)
    if path.is_dir():
        metagraphs = read_run(path).metagraphs
        if not metagraphs:
            raise DiffmgError(f"the run must have found a meta graph, but got {what!r} (most rivals have none)")
        return metagraphs
    if path.is_file():
        return read_metagraphs(path)
    published = DATASETS.get(what)(what).published()
    if published is None:
        raise DiffmgError(f"only data sets of the paper have a published meta graph, but got {what!r}")
    return published.metagraphs
