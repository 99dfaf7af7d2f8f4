"""Commands that train: fit, train."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffmg.cli import common
from diffmg.cli.running import (
    BaselineName,
    BaselineOptions,
    MetaGraphFile,
    Out,
    Repeats,
    SaveEvery,
    SearchSeeds,
    carry_out,
    defaults,
    given_metagraphs,
)


def fit(
    name: common.Name,
    out: Out = None,
    seed: common.Seed = 0,
    device: common.Device = "auto",
    engine: common.Switches = None,
    strategy: common.StrategyName = "diffmg",
    option: common.Options = None,
    setting: common.Settings = None,
    metagraph: MetaGraphFile = None,
    baseline: BaselineName = "",
    baseline_option: BaselineOptions = None,
    depth: common.Depth = 4,
    search_seeds: SearchSeeds = 3,
    repeats: Repeats = 1,
    target: common.Target = None,
    as_of: common.AsOf = None,
    on_unknown: common.OnUnknown = None,
    data_root: common.DataRoot = None,
    data_seed: common.DataSeed = 0,
    save_every: SaveEvery = 5.0,
) -> None:
    """Search a meta graph (or take a rival), train it, score it, and write a run folder."""
    from diffmg.core.plan import Plan, engine_from
    from diffmg.runs.sources import plain_name

    strategy_options, train = defaults(name, "" if baseline else strategy, None if baseline else option, setting)
    plan = Plan(
        data=name,
        data_seed=data_seed,
        data_options=common.data_options(target, as_of, on_unknown),
        metagraphs=given_metagraphs(name, metagraph),
        baseline=baseline,
        baseline_options=common.parse_pairs(baseline_option),
        strategy=strategy,
        strategy_options=strategy_options,
        depth=depth,
        search_seeds=search_seeds,
        repeats=repeats,
        seed=seed,
        train=train,
        device=device,
        engine=engine_from(common.parse_pairs(engine)),
    )
    how = baseline or ("given" if metagraph else strategy)
    path = out or Path("runs") / f"{plain_name(name)}-{how}-seed{seed}"
    carry_out(plan, path, data_root, save_every)


def train(
    name: common.Name,
    metagraph: Annotated[str, typer.Option("--metagraph", help="A meta graph file, or 'published' for the authors'.")],
    out: Out = None,
    seed: common.Seed = 0,
    device: common.Device = "auto",
    engine: common.Switches = None,
    setting: common.Settings = None,
    repeats: Repeats = 1,
    target: common.Target = None,
    as_of: common.AsOf = None,
    on_unknown: common.OnUnknown = None,
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
        engine=engine,
        setting=setting,
        metagraph=metagraph,
        repeats=repeats,
        target=target,
        as_of=as_of,
        on_unknown=on_unknown,
        data_root=data_root,
        data_seed=data_seed,
        save_every=save_every,
    )
