"""Commands that search and train: fit, search, train, resume, repeat."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diffmg.cli import common
from diffmg.cli.common import console, say

if TYPE_CHECKING:
    from diffmg.experiment import Experiment
    from diffmg.folder import RunFolder
    from diffmg.metagraph import MetaGraph
    from diffmg.plan import Plan

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
SearchSeeds = Annotated[
    int, typer.Option("--search-seeds", help="Searches, each from another seed; validation chooses.")
]
Repeats = Annotated[int, typer.Option("--repeats", help="Trainings of the chosen meta graph; scores are their mean.")]
SaveEvery = Annotated[float, typer.Option("--save-every", help="Seconds between two saved states, for `resume`.")]


def fit(
    name: common.Name,
    out: Out = None,
    seed: common.Seed = 0,
    device: common.Device = "auto",
    strategy: common.StrategyName = "diffmg",
    option: common.Options = None,
    setting: common.Settings = None,
    metagraph: MetaGraphFile = None,
    depth: common.Depth = 4,
    search_seeds: SearchSeeds = 3,
    repeats: Repeats = 1,
    data_root: common.DataRoot = None,
    data_seed: common.DataSeed = 0,
    save_every: SaveEvery = 5.0,
) -> None:
    """Search a meta graph, train it, score it, and write a run folder."""
    from diffmg.plan import Plan

    strategy_options, train = _defaults(name, strategy, option, setting)
    plan = Plan(
        data=name,
        data_seed=data_seed,
        metagraphs=_metagraphs(name, metagraph),
        strategy=strategy,
        strategy_options=strategy_options,
        depth=depth,
        search_seeds=search_seeds,
        repeats=repeats,
        seed=seed,
        train=train,
        device=device,
    )
    how = "given" if metagraph else strategy
    path = out or Path("runs") / f"{name.replace(':', '-')}-{how}-seed{seed}"
    _carry_out(plan, path, data_root, save_every)


def train(
    name: common.Name,
    metagraph: Annotated[str, typer.Option("--metagraph", help="A meta graph file, or 'published' for the authors'.")],
    out: Out = None,
    seed: common.Seed = 0,
    device: common.Device = "auto",
    setting: common.Settings = None,
    repeats: Repeats = 1,
    data_root: common.DataRoot = None,
    data_seed: common.DataSeed = 0,
    save_every: SaveEvery = 5.0,
) -> None:
    """Train a given meta graph, score it, and write a run folder."""
    fit(
        name,
        out=out,
        seed=seed,
        device=device,
        setting=setting,
        metagraph=metagraph,
        repeats=repeats,
        data_root=data_root,
        data_seed=data_seed,
        save_every=save_every,
    )


def search(
    name: common.Name,
    out: Annotated[Path, typer.Option("--out", help="The meta graph file to write.")] = Path("metagraph.json"),
    seed: common.Seed = 0,
    device: common.Device = "auto",
    strategy: common.StrategyName = "diffmg",
    option: common.Options = None,
    setting: common.Settings = None,
    depth: common.Depth = 4,
    data_root: common.DataRoot = None,
    data_seed: common.DataSeed = 0,
) -> None:
    """Search a meta graph once and write it to a file, without training it."""
    from diffmg.datasets import load_dataset
    from diffmg.device import resolve_device
    from diffmg.drawing import draw_all
    from diffmg.files import make_folder, write_json
    from diffmg.randomness import derive_seed
    from diffmg.run import metagraphs_to_dict
    from diffmg.strategies import make_strategy
    from diffmg.train import drive

    make_folder(out.parent)
    options, settings = _defaults(name, strategy, option, setting)
    problem = load_dataset(name, root=data_root, seed=data_seed).to(resolve_device(device))
    job = make_strategy(strategy, options).start(problem, depth, settings, derive_seed(seed, "search", 0))
    drive("search", job, common.ProgressWatch(problem.task.metric))
    write_json(out, metagraphs_to_dict(job.found()))
    say(draw_all(job.found(), "text"))
    say(f"written to {out}")


def resume(run: common.RunPath, data_root: common.DataRoot = None, save_every: SaveEvery = 5.0) -> None:
    """Go on with a run that was stopped; its result is the same as if it had not been."""
    from diffmg.errors import DiffmgError
    from diffmg.folder import RunFolder
    from diffmg.plan import Plan
    from diffmg.run import read_run

    folder = RunFolder.unfinished(run, save_every)
    before = read_run(run)
    experiment = _experiment(Plan.from_dict(before.plan), data_root)
    if experiment.start.data != before.data:
        raise DiffmgError(
            f"a run goes on with the data it started on ({before.data['graph']}, {before.data['task']}), "
            f"but got other data ({experiment.start.data['graph']}, {experiment.start.data['task']})"
        )
    _execute(experiment, folder)


def repeat(
    run: common.RunPath,
    out: Annotated[Path, typer.Option("--out", help="The run folder to write.")],
    device: Annotated[str | None, typer.Option("--device", help="Another device.", show_default="as in RUN")] = None,
    data_root: common.DataRoot = None,
    save_every: SaveEvery = 5.0,
) -> None:
    """Do again what another run did, from its run.json alone."""
    from diffmg.plan import Plan
    from diffmg.run import read_run

    plan = Plan.from_dict(read_run(run).plan)
    _carry_out(plan if device is None else replace(plan, device=device), out, data_root, save_every)


def _defaults(
    name: str, strategy: str, option: list[str] | None, setting: list[str] | None
) -> tuple[dict[str, Any], Any]:
    """Options and settings: the authors' where they published some, changed by what was asked for."""
    from diffmg.datasets import DATASETS, parse_name
    from diffmg.plan import settings_from
    from diffmg.train import TrainSettings

    plain, _ = parse_name(name)
    published = DATASETS.get(plain)(plain).published()
    base = TrainSettings() if published is None else settings_from(TrainSettings(), published.train)
    searched = dict(published.search) if published is not None and strategy == "diffmg" else {}
    return searched | common.parse_pairs(option), settings_from(base, common.parse_pairs(setting))


def _metagraphs(name: str, given: str | None) -> tuple[MetaGraph, ...]:
    from diffmg.datasets import DATASETS, parse_name
    from diffmg.errors import DiffmgError
    from diffmg.run import read_metagraphs

    if given is None:
        return ()
    if given != "published":
        return read_metagraphs(Path(given))
    plain, _ = parse_name(name)
    published = DATASETS.get(plain)(plain).published()
    if published is None:
        raise DiffmgError(f"'published' needs a data set of the paper, but got {name!r}; give a meta graph file")
    return published.metagraphs


def _carry_out(plan: Plan, out: Path, data_root: Path | None, save_every: float) -> None:
    """Carry a plan out in a new folder, which is made once everything else was accepted."""
    from diffmg.folder import RunFolder

    RunFolder.check_free(out)
    experiment = _experiment(plan, data_root)
    _execute(experiment, RunFolder.create(out, save_every))


def _experiment(plan: Plan, data_root: Path | None) -> Experiment:
    from diffmg.datasets import load_dataset
    from diffmg.errors import DiffmgError
    from diffmg.experiment import Experiment

    if not plan.data:
        raise DiffmgError(
            f"the network must be a data set, but got one that was given in Python ({plan.data!r} by name)"
        )
    problem = load_dataset(plan.data, root=data_root, seed=plan.data_seed)
    return Experiment(plan, problem, watch=common.ProgressWatch(problem.task.metric))


def _execute(experiment: Experiment, folder: RunFolder) -> None:
    from diffmg.drawing import draw_all
    from diffmg.report import write_report

    experiment.folder = folder
    try:
        outcome = experiment.execute()
    except KeyboardInterrupt:
        say(f"stopped; go on with: diffmg resume {folder.path}", common.errors)
        raise
    write_report(folder.path)
    say(draw_all(outcome.run.metagraphs, "text"))
    console.print(common.score_table(outcome.run))
    say(f"run folder: {folder.path}")
