"""Commands that draw a meta graph or write a report."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from diffmg.cli import output
from diffmg.cli.common import say
from diffmg.core import DiffmgError, MetaGraph, read_metagraphs, read_run
from diffmg.core.files import write_text
from diffmg.core.importance import PathImportance


def show(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="A run folder, a meta graph file, or a data set.")],
    form: Annotated[str, typer.Option("--format", help="text, dot, mermaid or svg.")] = "text",
    view: Annotated[
        str, typer.Option("--view", help="meaning: what is heard along which relations; states: the DAG of states.")
    ] = "meaning",
    out: Annotated[Path | None, typer.Option("--out", help="File to write.", show_default="print")] = None,
) -> output.Value:
    """Draw a meta graph."""
    from diffmg.viz import draw_all

    metagraphs, importances = _find(what)
    drawing = draw_all(metagraphs, form, view, importances)
    value = {"metagraphs": metagraphs, "format": form, "view": view, "drawing": drawing, "written": out}
    if out is None:
        output.emit(drawing)
        return value
    write_text(out, drawing + "\n")
    say(f"written to {out}")
    return value | {"drawing": None}


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders; several are compared.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="The page to write.", show_default="in RUN; comparison.html")
    ] = None,
) -> output.Value:
    """Write the report of a run anew, from the files in its folder, or one page that compares several."""
    from diffmg.viz import write_comparison, write_report

    written = write_report(runs[0], out) if len(runs) == 1 else write_comparison(runs, out or Path("comparison.html"))
    say(f"written to {written}")
    return {"written": written}


def _find(what: str) -> tuple[tuple[MetaGraph, ...], Sequence[PathImportance]]:
    """The meta graphs, and what their paths are worth where a run knows it."""
    from diffmg.datasets import DATASETS

    path = Path(what)
    if path.is_dir():
        run = read_run(path)
        if not run.metagraphs:
            raise DiffmgError(f"the run must have found a meta graph, but got {what!r} (most rivals have none)")
        return run.metagraphs, run.importances
    if path.is_file():
        return read_metagraphs(path), ()
    published = DATASETS.get(what)(what).published()
    if published is None:
        raise DiffmgError(f"only data sets of the paper have a published meta graph, but got {what!r}")
    return published.metagraphs, ()
