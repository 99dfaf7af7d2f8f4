"""What the commands that train share: options, plans, carrying out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diffmg.cli import common
from diffmg.cli.common import console, say
from diffmg.cli.describe import show_description

if TYPE_CHECKING:
    from diffmg.core.metagraph import MetaGraph
    from diffmg.core.plan import Plan
    from diffmg.runs.folder import RunFolder
    from diffmg.runs.runner import Experiment

Out = Annotated[
    Path | None, typer.Option("--out", help="The run folder to write.", show_default="runs/NAME-STRATEGY-seedSEED")
]
MetaGraphFile = Annotated[
    str | None,
    typer.Option(
        "--metagraph",
        help="Train this meta graph file, or 'published' for the authors'.",
        show_default="search for one",
    ),
]
BaselineName = Annotated[
    str,
    typer.Option("--baseline", help="Train this rival instead of searching; see `diffmg list`.", show_default="none"),
]
BaselineOptions = Annotated[
    list[str] | None,
    typer.Option("--baseline-option", metavar="KEY=VALUE", help="Option of the baseline.", show_default="none"),
]
SearchSeeds = Annotated[
    int, typer.Option("--search-seeds", help="Searches, each from another seed; validation chooses.")
]
Repeats = Annotated[int, typer.Option("--repeats", help="Trainings of the chosen meta graph; scores are their mean.")]
SaveEvery = Annotated[float, typer.Option("--save-every", help="Seconds between two saved states, for `resume`.")]


def defaults(
    name: str, strategy: str, option: list[str] | None, setting: list[str] | None
) -> tuple[dict[str, Any], Any]:
    """Options and settings to start from, changed by what was asked for; no strategy for a baseline."""
    from diffmg.core.plan import settings_from
    from diffmg.runs.sources import starting_point

    options, settings = starting_point(name, strategy)
    return options | common.parse_pairs(option), settings_from(settings, common.parse_pairs(setting))


def given_metagraphs(name: str, given: str | None) -> tuple[MetaGraph, ...]:
    """The meta graphs of `--metagraph`: of a file, or the authors'."""
    from diffmg.core.errors import DiffmgError
    from diffmg.core.run import read_metagraphs
    from diffmg.runs.sources import published_for

    if given is None:
        return ()
    if given != "published":
        return read_metagraphs(Path(given))
    published = published_for(name)
    if published is None:
        raise DiffmgError(f"'published' needs a data set of the paper, but got {name!r}; give a meta graph file")
    return published.metagraphs


def carry_out(plan: Plan, out: Path, data_root: Path | None, save_every: float) -> None:
    """Carry a plan out in a new folder, which is made once everything else was accepted."""
    from diffmg.runs.folder import RunFolder

    RunFolder.check_free(out)
    experiment = make_experiment(plan, data_root)
    execute(experiment, RunFolder.create(out, save_every))


def make_experiment(plan: Plan, data_root: Path | None) -> Experiment:
    """The experiment of a plan, with what was done to the data said."""
    from diffmg.core.errors import DiffmgError
    from diffmg.runs.runner import Experiment
    from diffmg.runs.sources import describe, is_database, open_problem

    if not plan.data:
        raise DiffmgError(
            f"the network must be a data set, but got one that was given in Python ({plan.data!r} by name)"
        )
    if is_database(plan.data):
        show_description(describe(plan.data, plan.data_options))
    problem = open_problem(plan.data, root=data_root, seed=plan.data_seed, options=plan.data_options)
    for note in problem.graph.notes:
        say(note, common.errors)
    return Experiment(plan, problem, watch=common.ProgressWatch(problem.task.metric))


def execute(experiment: Experiment, folder: RunFolder) -> None:
    """Carry an experiment out in a folder and show what came out."""
    from diffmg.viz import draw_all
    from diffmg.viz.page import write_report

    experiment.folder = folder
    try:
        outcome = experiment.execute()
    except KeyboardInterrupt:
        say(f"stopped; go on with: diffmg resume {folder.path}", common.errors)
        raise
    write_report(folder.path)
    if outcome.run.metagraphs:
        say(draw_all(outcome.run.metagraphs, "text"))
    console.print(common.score_table(outcome.run))
    say(f"run folder: {folder.path}")
