"""The command that only searches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffmg.cli import common
from diffmg.cli.common import say
from diffmg.cli.running import defaults


def search(
    name: common.Name,
    out: Annotated[Path, typer.Option("--out", help="The meta graph file to write.")] = Path("metagraph.json"),
    seed: common.Seed = 0,
    device: common.Device = "auto",
    engine: common.Switches = None,
    strategy: common.StrategyName = "diffmg",
    option: common.Options = None,
    setting: common.Settings = None,
    depth: common.Depth = 4,
    target: common.Target = None,
    as_of: common.AsOf = None,
    on_unknown: common.OnUnknown = None,
    data_root: common.DataRoot = None,
    data_seed: common.DataSeed = 0,
) -> None:
    """Search a meta graph once and write it to a file, without training it."""
    from diffmg.core.files import make_folder, write_json
    from diffmg.core.plan import engine_from
    from diffmg.core.run import metagraphs_to_dict
    from diffmg.engine.device import resolve_device
    from diffmg.engine.randomness import derive_seed
    from diffmg.methods.search import make_strategy
    from diffmg.runs.sources import open_problem
    from diffmg.training import drive
    from diffmg.viz import draw_all

    make_folder(out.parent)
    options, settings = defaults(name, strategy, option, setting)
    given = common.data_options(target, as_of, on_unknown)
    problem = open_problem(name, root=data_root, seed=data_seed, options=given)
    place = resolve_device(device)
    problem = problem.to(problem.graph.device, engine_from(common.parse_pairs(engine)))
    problem = problem.to(place, fit_engine_to_memory(problem, settings, depth, place, search=True, training=False))
    job = make_strategy(strategy, options).start(problem, depth, settings, derive_seed(seed, "search", 0))
    drive("search", job, common.ProgressWatch(problem.task.metric))
    write_json(out, metagraphs_to_dict(job.found()))
    say(draw_all(job.found(), "text"))
    say(f"written to {out}")
