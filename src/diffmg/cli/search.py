"""The command that only searches."""

from pathlib import Path
from typing import Annotated

import typer

from diffmg.cli import common
from diffmg.cli.common import say


def search(
    name: common.Name,
    out: Annotated[Path, typer.Option("--out", help="The meta graph file to write.")] = Path("metagraph.json"),
    seed: common.Seed = 0,
    device: common.Device = "auto",
    engine: common.Switches = None,
    method: common.MethodName = None,
    option: common.Options = None,
    setting: common.Settings = None,
    depth: common.Depth = None,
    target: common.Target = None,
    as_of: common.AsOf = None,
    on_unknown: common.OnUnknown = None,
    data_root: common.DataRoot = None,
    data_seed: common.DataSeed = 0,
) -> None:
    """Search a meta graph once and write it to a file, without training it."""
    from diffmg.core import DiffmgError, Engine, derive_seed, metagraphs_to_dict
    from diffmg.core.files import make_folder, write_json
    from diffmg.runs.runner import place
    from diffmg.runs.sources import make_plan, open_problem
    from diffmg.training.job import drive
    from diffmg.viz import draw_all

    source = common.source(name, target, as_of, on_unknown, data_seed)
    switches = Engine.of(common.parse_pairs(engine))
    options = common.method_options(option, depth=depth)
    plan = make_plan(source, method, options, common.parse_pairs(setting), seed=seed, device=device, engine=switches)
    chosen = plan.method.make()
    if not chosen.has_metagraph:
        raise DiffmgError(f"only a method with a meta graph can search for one, but got {plan.method.name!r}")
    plan, problem = place(plan, open_problem(source, root=data_root), chosen, train=False)
    make_folder(out.parent)
    job = chosen.search(problem, plan.settings, derive_seed(seed, "search", 0))
    drive("search", job, common.ProgressWatch(problem.task.metric))
    write_json(out, metagraphs_to_dict(job.found()))
    say(draw_all(job.found(), "text"))
    say(f"written to {out}")
