"""Commands: run a table again, merge results, compare rows, bring the pages up to date, check them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.words import SeveralWords, run_app
from diffmg.cli import common
from diffmg.cli.common import say
from experiments import RESULTS, ROOT, TABLES, plan_path

Data = Annotated[
    list[str] | None, typer.Option("--data", metavar="DATA...", help="Only these data sets.", show_default="all")
]
Methods = Annotated[
    list[str] | None, typer.Option("--methods", metavar="METHOD...", help="Only these methods.", show_default="all")
]
Seeds = Annotated[
    int | None,
    typer.Option("--seeds", help="Trainings of each method, or whole pipelines.", show_default="as in the plan file"),
]
PlanFile = Annotated[
    Path | None, typer.Option("--plan", help="The plan file.", show_default="the one in experiments/plans")
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
Folder = Annotated[
    Path,
    typer.Option("--out", help="Folder of runs.jsonl; what is done there is kept.", show_default="experiments/results"),
]

app = typer.Typer(
    help="Run a table of the paper again, or what belongs to it.",
    epilog="Exit codes: 0 done, 1 a fault of the program or a check that fails, 2 bad input, 3 missing data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _command(name: str) -> Callable[..., None]:
    def run(
        data: Data = None,
        methods: Methods = None,
        seeds: Seeds = None,
        seed: common.Seed = 0,
        device: common.Device = "auto",
        jobs: Jobs = 1,
        plan: PlanFile = None,
        out: Folder = RESULTS,
        into: Document = None,
        data_root: common.DataRoot = None,
    ) -> None:
        from benchmarks.documents import fill
        from diffmg.core.files import make_folder, write_text
        from experiments.documents import FIGURES, Done, place_for, table_text
        from experiments.figures import figures
        from experiments.runner import run_table
        from experiments.spec import read_table

        table = read_table(plan or plan_path(name)).part(data or [], methods or [], seeds)
        if into is not None:
            place_for(into, name)
        cells = {}
        for row, on, cell in run_table(table, out, device=device, seed=seed, root=data_root, jobs=jobs, watch=_watch):
            cells[row.name, on] = cell
            say(f"{row.name} on {on}: {100 * cell.mean:.2f}", common.errors)
        text = table_text(Done(table, cells), out)
        say(text)
        pictures = out / FIGURES if into is None else into.parent / FIGURES
        for file, picture in figures(table, cells).items():
            make_folder(pictures)
            write_text(pictures / file, picture)
            say(f"written to {pictures / file}", common.errors)
        if into is not None:
            write_text(into, fill(place_for(into, name), {name: lambda: text}))
            say(f"put into {into}", common.errors)

    run.__doc__ = TABLES[name]
    return run


for _name in TABLES:
    app.command(_name, cls=SeveralWords)(_command(_name))


def _watch(what: str, metric: str) -> common.ProgressWatch:
    say(what, common.errors)
    return common.ProgressWatch(metric)


@app.command()
def merge(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder that a table was written to by --out.")],
    out: Folder = RESULTS,
) -> None:
    """Add the runs of another folder, from another machine, to the results."""
    from experiments.merging import merge_results

    changed = merge_results(folder, out)
    for key in changed:
        say(f"{key.method} on {key.data} ({key.mark})")
    say(f"{len(changed)} runs added to {out}")


@app.command(cls=SeveralWords)
def compare(
    name: Annotated[str, typer.Argument(metavar="TABLE", help="A table of whole pipelines.")] = "search",
    data: Data = None,
    out: Folder = RESULTS,
    data_root: common.DataRoot = None,
) -> None:
    """Compute how sure the differences between the first row and the others are, by paired bootstrap."""
    from diffmg.core.errors import unknown
    from experiments.comparing import compare as compare_rows
    from experiments.spec import read_table

    if name not in TABLES:
        raise unknown("table", name, TABLES)
    table = read_table(plan_path(name)).part(data or [], [], None)
    for place, gap in compare_rows(table, out, data_root).items():
        say(f"{table.methods[0].name} minus {place.method} on {place.data}, {place.model} model: {gap}")


@app.command()
def seeds(
    name: common.Name,
    number: Annotated[int, typer.Option("--seeds", min=2, help="Trainings of each program.")] = 100,
    device: common.Device = "auto",
    out: Folder = RESULTS,
    data_root: common.DataRoot = None,
) -> None:
    """Train the authors' meta graphs from many seeds, with this package and with the naive reference."""
    from experiments.seeds import train_seeds

    train_seeds(name, number, out, device, data_root)


@app.command(cls=SeveralWords)
def memory(data: Data = None, methods: Methods = None, out: Folder = RESULTS) -> None:
    """Measure the most memory that training each baseline takes on the CPU."""
    from experiments.memory import measure

    measure(data or ["dblp", "yelp", "douban"], methods or [], out, say)


@app.command()
def render() -> None:
    """Bring tables and pictures of README.md and docs/results.md up to date; trains nothing."""
    from benchmarks.documents import update
    from experiments.documents import done_tables, wanted

    for path in update(wanted(ROOT, done_tables()), check=False):
        say(f"written to {path.relative_to(ROOT)}")


@app.command()
def check() -> None:
    """Check runs, pages, pictures and the sentences that compare rows; trains nothing."""
    from experiments.check import not_run_yet, problems

    found = list(problems())
    for problem in found:
        say(problem)
    missing = list(not_run_yet())
    if missing:
        say(f"{len(missing)} cells lack runs, such as {'; '.join(missing[:3])}", common.errors)
    say(f"{len(found)} problems" if found else "all holds")
    raise typer.Exit(1 if found else 0)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    run_app(app, "python -m experiments", arguments)
