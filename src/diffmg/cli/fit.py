"""The command that fits a method to data."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffmg.cli import common, output
from diffmg.cli.common import console, say
from diffmg.cli.describe import show_description
from diffmg.cli.timed import show_edges
from diffmg.core import DiffmgError, Engine, Method, Plan, Source, read_metagraphs
from diffmg.core.perfect import perfect_scores
from diffmg.core.rivals import USUAL
from diffmg.viz.progress import spinning

if TYPE_CHECKING:
    from diffmg.race.executor import Executor
    from diffmg.runs.folder import RunFolder
    from diffmg.tasks.problem import Problem

GIVEN = "Train this meta graph file, or 'published' for the authors', instead of searching for one."
Out = Annotated[Path | None, common.option("--out", help="The run folder.", show_default="runs/NAME-METHOD-seedSEED")]
MetaGraphFile = Annotated[str | None, common.option("--metagraph", help=GIVEN)]
Repeats = Annotated[int, typer.Option("--repeats", help="Trainings of what was chosen; the best is kept.")]
SINGLE = "Predict with the best single model, not the ensemble."
Single = Annotated[bool, typer.Option("--single", help=SINGLE, show_default="no")]
REFIT = "After choosing, train again on training and validation labels (val), or on all labels (all)."
RefitOn = Annotated[str, typer.Option("--refit", help=REFIT)]
BATCH = "Trainings that a race starts before it looks at their results."
BATCHES = "4, or two a core if that is more and the budget is a time; 48 on a GPU"
Batch = Annotated[int | None, common.option("--batch", help=BATCH, show_default=BATCHES)]
ON = "Where a race trains: here, ray (all cores of this machine), or HOST:PORT or ray://HOST:PORT of a Ray cluster."
On = Annotated[str, typer.Option("--on", help=ON)]
BESIDE = "Simple methods to train and score beside it, such as gcn,popularity; or none. May be repeated."
Beside = Annotated[list[str] | None, common.option("--beside", metavar="METHOD", help=BESIDE, show_default="two cheap")]
OVERWRITE = "Replace an earlier run in the same folder; it is kept until the new one is done."
Overwrite = Annotated[bool, typer.Option("--overwrite", help=OVERWRITE, show_default="no")]
SaveEvery = Annotated[float, typer.Option("--save-every", help="Seconds between two saved states, for `resume`.")]


def fit(
    name: common.Name,
    out: Out = None,
    seed: common.Seed = 0,
    device: common.Device = "auto",
    engine: common.Switches = None,
    method: common.MethodName = None,
    option: common.Options = None,
    setting: common.Settings = None,
    metagraph: MetaGraphFile = None,
    depth: common.Depth = None,
    search_seeds: common.SearchSeeds = None,
    budget: common.Spend = None,
    single: Single = False,
    refit: RefitOn = "no",
    batch: Batch = None,
    on: On = "here",
    repeats: Repeats = 1,
    beside: Beside = None,
    target: common.Target = None,
    task: common.TaskTable = None,
    label: common.Label = None,
    metric: common.Metric = None,
    by: common.By = None,
    as_of: common.AsOf = None,
    on_unknown: common.OnUnknown = None,
    data_root: common.DataRoot = None,
    data_seed: common.DataSeed = 0,
    save_every: SaveEvery = 5.0,
    overwrite: Overwrite = False,
) -> output.Value:
    """Fit: race candidates within a budget (or run one method), score what is chosen, and write a run folder."""
    from diffmg.runs.sources import make_plan

    asked = common.predictions(task, by, label=label, metric=metric)
    source = common.source(name, target, as_of, on_unknown, data_seed, asked)
    plan = make_plan(
        source,
        _given(source, metagraph, method) or method,
        common.method_options(option, depth=depth, search_seeds=search_seeds),
        common.parse_pairs(setting),
        repeats=repeats,
        seed=seed,
        device=device,
        engine=Engine().changed(common.parse_pairs(engine)),
        budget=budget,
        batch=batch,
        single=single,
        refit=refit,  # type: ignore[arg-type]  # checked by the plan
        beside=common.names(beside) or [USUAL],
    )
    path = out or Path("runs") / f"{source.label}-{plan.method.name}-seed{seed}"
    return fit_in_new_folder(plan, path, data_root, save_every, on, overwrite=overwrite)


def _given(source: Source, metagraph: str | None, method: str | None) -> Method | None:
    """The method for `--metagraph`: meta graphs from a file, or the published ones."""
    from diffmg.methods.given import Given
    from diffmg.runs.sources import published_for

    if metagraph is None:
        return None
    if method not in (None, "given"):
        raise DiffmgError(f"--metagraph is trained as it is, but got --method {method!r} too; leave one of them out")
    if metagraph != "published":
        return Given(read_metagraphs(Path(metagraph)))
    published = published_for(source)
    if published is None:
        raise DiffmgError(f"'published' needs a data set of the paper, but got {source.name!r}; give a meta graph file")
    return Given(published.metagraphs)


def fit_in_new_folder(
    plan: Plan, out: Path, data_root: Path | None, save_every: float, on: str = "here", *, overwrite: bool = False
) -> output.Value:
    """Run a plan in a new folder, created (or emptied) only after all checks have passed."""
    from diffmg.runs.folder import RunFolder
    from diffmg.runs.replacing import check_replaceable, replacing
    from diffmg.runs.runner import place

    (check_replaceable if overwrite else RunFolder.check_free)(out)
    plan, problem = place(plan, open_data(plan, data_root), plan.method.make())
    aside = replacing(out, tell=lambda words: say(words, common.errors)) if overwrite else nullcontext()
    with executor_of(plan, on) as executor, aside:
        return execute(plan, problem, RunFolder.create(out, save_every), executor)


def executor_of(plan: Plan, on: str) -> AbstractContextManager[Executor | None]:
    """Where the candidates of a race are trained; a cluster is joined before anything is written."""
    from diffmg.runs.places import cluster_of

    if on != "here" and plan.budget is None:
        raise DiffmgError(f"--on is for a race, which has a --budget, but got --on {on!r} without; leave it out")
    return cluster_of(plan, None if on == "here" else on)


def open_data(plan: Plan, data_root: Path | None) -> Problem:
    """Open the problem of a plan, look for leaks, and print notes on how the data were read and what was found."""
    from diffmg.runs.guard import guarded
    from diffmg.runs.sources import describe, open_problem

    description = describe(plan.source) if plan.source.is_described else None
    if description is not None and plan.source.is_database:
        show_description(description)
    with spinning(common.errors):
        problem = guarded(open_problem(plan.source, root=data_root))
    for note in problem.graph.notes:
        say(note, common.errors)
    if description is not None:
        show_edges(description, problem.graph)
    return problem


def execute(plan: Plan, problem: Problem, folder: RunFolder, executor: Executor | None = None) -> output.Value:
    """Run a plan in a folder, print the results, and return them."""
    from diffmg.runs.runner import phases_of, run
    from diffmg.viz import draw_all, write_report
    from diffmg.viz.beside import beside_words
    from diffmg.viz.evidence import words_of

    try:
        watch = common.ProgressWatch(problem.task.metric, problem.task.sign, phases_of(plan))
        with watch.listening():
            done, _ = run(plan, problem, folder, watch, executor)
    except KeyboardInterrupt:
        say(f"stopped; go on with: diffmg resume {folder.path}", common.errors)
        raise
    write_report(folder.path)
    if done.metagraphs:
        say(draw_all(done.metagraphs, "text", importances=done.importances))
    console.print(common.score_table(done))
    for line in perfect_scores(done):
        say(line, common.errors)
    for line in (*beside_words(done), *words_of(done)):
        say(line)
    say(f"run folder: {folder.path}")
    return {"folder": folder.path, **done.to_dict()}
