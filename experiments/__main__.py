"""`python -m experiments`: run a table of the paper again, tune a method, bring the pages up to date, check them."""

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
    int | None, typer.Option("--seeds", help="Trainings of each method.", show_default="as in the plan file")
]
PlanFile = Annotated[
    Path | None, typer.Option("--plan", help="The plan file.", show_default="experiments/plans/ding2021_NAME.toml")
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
        from experiments.documents import FIGURES, place_for
        from experiments.figures import figures
        from experiments.runner import run_table
        from experiments.spec import read_table
        from experiments.tables import markdown

        table = read_table(plan or plan_path(name)).part(data or [], methods or [], seeds)
        if into is not None:
            place_for(into, name)
        cells = {}
        for row, on, cell in run_table(table, out, device=device, seed=seed, root=data_root, jobs=jobs, watch=_watch):
            cells[row.name, on] = cell
            say(f"{row.name} on {on}: {100 * cell.mean:.2f}", common.errors)
        text = markdown(table, cells)
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
def tune(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="A search or a rival; see `diffmg list`.")],
    name: common.Name,
    budget: Annotated[int, typer.Option("--budget", help="Settings that are tried.")] = 20,
    trainings: Annotated[
        int, typer.Option("--trainings", help="Trainings of the best quarter; their mean decides.")
    ] = 1,
    how: Annotated[str, typer.Option("--how", help="random, or halving: drop the worse half twice.")] = "random",
    seed: common.Seed = 0,
    device: common.Device = "auto",
    setting: common.Settings = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The file of JSON lines to put what was chosen into.", show_default="none"),
    ] = None,
    data_root: common.DataRoot = None,
    data_seed: common.DataSeed = 0,
) -> None:
    """Choose learning rate, weight decay, dropout and a method's own options by validation."""
    from diffmg.core.plan import Source
    from diffmg.runs.runner import place
    from diffmg.runs.sources import make_plan, open_problem
    from experiments.tuned import Tuning, add_tuned
    from experiments.tuning import chosen, trials_sheet
    from experiments.tuning import tune as tune_plan

    tuning = Tuning(budget, how, seed, trainings)  # type: ignore[arg-type]  # checked there
    plan = make_plan(Source(name, data_seed), method, None, common.parse_pairs(setting), device=device)
    problem = open_problem(plan.source, root=data_root)
    plan, problem = place(plan, problem, plan.method.make())
    trials = tune_plan(problem, plan, tuning, common.ProgressWatch(problem.task.metric))
    say(trials_sheet(f"{method} on {name}", trials[:10]).markdown())
    best = chosen(trials, plan, tuning, method)
    if out is not None:
        add_tuned(out, best)
        say(f"written to {out}")
    pairs = [f"--set {n}={v}" for n, v in {**common.parse_pairs(setting), **best.settings}.items()]
    pairs += [f"-o {n}={v}" for n, v in best.options.items()]
    say(f"train with it: diffmg fit {name} --method {method} {' '.join(pairs)}")


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
    from experiments.check import problems

    found = list(problems())
    for problem in found:
        say(problem)
    say(f"{len(found)} problems" if found else "all holds")
    raise typer.Exit(1 if found else 0)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    run_app(app, "python -m experiments", arguments)


if __name__ == "__main__":
    main()
