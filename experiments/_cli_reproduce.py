"""Commands that do the paper's tables and figures again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from diffmg.cli import common
from diffmg.cli.common import SeveralWords, console, say

if TYPE_CHECKING:
    from diffmg.reproduction import Sheet

PLANS = {
    "classification": "Macro F1 of every method on DBLP, ACM and IMDB.",
    "recommendation": "AUC of every method on Amazon, Yelp and Douban.",
    "cost": "Seconds that each search takes, beside a training.",
    "curves": "Validation AUC against training time, for DiffMG, HGT and GCN.",
    "architectures": "The meta graphs that a search finds, beside the authors'.",
    "pipelines": "Test scores of whole pipelines, searches included, from several seeds.",
    "ablation": "DiffMG with other exploration, on one level, and with all candidates.",
}
"""Names of the plan files, with what they are."""

PICTURES = "figures"
"""Folder of a document's pictures."""

Data = Annotated[
    list[str] | None, typer.Option("--data", metavar="DATA...", help="Only these data sets.", show_default="all")
]
Methods = Annotated[
    list[str] | None, typer.Option("--methods", metavar="METHOD...", help="Only these methods.", show_default="all")
]
Seeds = Annotated[
    int | None, typer.Option("--seeds", help="Trainings of each method.", show_default="as in the plan file")
]
PlanFile = Annotated[
    Path | None,
    typer.Option("--plan", help="The plan file.", show_default="benchmarks/ding2021_NAME.toml"),
]
Jobs = Annotated[int, typer.Option("--jobs", min=1, help="Runs at a time, each in a process of its own.")]
Document = Annotated[
    Path | None,
    typer.Option(
        "--into",
        help="Also put the table into this document, where it has a place, and pictures into `figures` beside it.",
        show_default="none",
    ),
]
Folder = Annotated[Path, typer.Option("--out", help="Folder of the runs and tables; what is done there is kept.")]

app = typer.Typer(
    help="Do a table of the paper again.", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)


def _document(path: Path | None, name: str) -> str:
    """The text of the document that gets the table; raises if it has no place for it."""
    from diffmg.core.errors import DiffmgError
    from diffmg.reproduction import places

    if path is None:
        return ""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if name not in places(text):
        raise DiffmgError(
            f"a document has a place for the table, `<!-- table: {name} -->` and `<!-- end -->` on lines of their own, "
            f"but got {str(path)!r}, which has {places(text) or 'none'}"
        )
    return text


def _show(sheet: Sheet) -> None:
    shown = Table(*sheet.heads, title=sheet.title, title_justify="left")
    for row in sheet.rows:
        shown.add_row(*row)
    console.print(shown)
    for note in sheet.notes:
        say(f"- {note}")


def _command(name: str) -> Callable[..., None]:
    def reproduce(
        data: Data = None,
        methods: Methods = None,
        seeds: Seeds = None,
        seed: common.Seed = 0,
        device: common.Device = "auto",
        jobs: Jobs = 1,
        plan: PlanFile = None,
        out: Folder = Path("runs/reproduce"),
        into: Document = None,
        data_root: common.DataRoot = None,
    ) -> None:
        from diffmg.core.files import make_folder, write_text
        from diffmg.reproduction import FORMS, carry_out, figures, filled, read_reproduction, sheets

        whole = read_reproduction(plan or Path("benchmarks") / f"ding2021_{name}.toml")
        table = whole.part(data or [], methods or [], seeds)
        _document(into, name)
        make_folder(out)
        runs = {}

        def watch(what: str, metric: str) -> common.ProgressWatch:
            say(what, common.errors)
            return common.ProgressWatch(metric)

        told = carry_out(table, out, device=device, seed=seed, root=data_root, jobs=jobs, watch=watch)
        for method, on, run in told:
            runs[method.name, on] = run
            say(f"{method.name} on {on}: {100 * run.mean('test'):.2f}", common.errors)
            for form, render in FORMS.items():
                write_text(out / f"{name}.{form}", render(sheets(table, runs)))
        places = [out] if into is None else [out, into.parent / PICTURES]
        for file, picture in figures(table, runs, out).items():
            for place in places:
                make_folder(place)
                write_text(place / file, picture)
                say(f"written to {place / file}")
        for sheet in sheets(table, runs):
            _show(sheet)
        say(f"written to {out / name}.md and .html")
        if into is not None:
            write_text(into, filled(_document(into, name), {name: FORMS["md"](sheets(table, runs))}))
            say(f"put into {into}")

    reproduce.__doc__ = PLANS[name]
    return reproduce


for _name in PLANS:
    app.command(_name, cls=SeveralWords)(_command(_name))
