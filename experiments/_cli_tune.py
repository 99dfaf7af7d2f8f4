"""The command that chooses settings by validation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from diffmg.cli import common
from diffmg.cli.common import console, say

if TYPE_CHECKING:
    from diffmg.core.plan import Plan


def tune(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="A baseline or a strategy; see `diffmg list`.")],
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
        Path | None, typer.Option("--out", help="The file to write what was chosen to.", show_default="print")
    ] = None,
    data_root: common.DataRoot = None,
    data_seed: common.DataSeed = 0,
) -> None:
    """Choose learning rate, weight decay, dropout and a method's own options by validation."""
    from diffmg.engine.device import resolve_device
    from diffmg.runs.sources import open_problem
    from diffmg.tuning import Tuning, chosen, to_toml, write_tuned
    from diffmg.tuning import tune as tuned

    plan, tuning = _plan(method, name, setting), Tuning(budget, how, seed, trainings)  # type: ignore[arg-type]
    problem = open_problem(name, root=data_root, seed=data_seed).to(resolve_device(device))
    trials = tuned(problem, plan, tuning, common.ProgressWatch(problem.task.metric))
    table = Table(
        "validation", "trainings", "epochs", "settings", "options", title=f"{method} on {name}", title_justify="left"
    )
    for trial in trials[:10]:
        words = (", ".join(f"{k}={v}" for k, v in given.items()) for given in (trial.settings, trial.options))
        numbers = (str(number) for number in (trial.trainings, trial.epochs))
        table.add_row(f"{trial.val_score:.4f}", *numbers, *(w or "as they were" for w in words))
    console.print(table)
    best = chosen(trials, plan, tuning)
    if out is None:
        say(to_toml(best))
    else:
        write_tuned(out, best)
        say(f"written to {out}")
    kind = "--baseline" if plan.baseline else "--strategy"
    pairs = [f"--set {n}={v}" for n, v in {**common.parse_pairs(setting), **best.settings}.items()]
    pairs += [f"--baseline-option {n}={v}" for n, v in best.baseline_options.items()]
    say(f"train with it: diffmg fit {name} {kind} {method} {' '.join(pairs)}")


def _plan(method: str, name: str, setting: list[str] | None) -> Plan:
    """The plan that is tuned: of a baseline, or of a strategy."""
    from diffmg.cli.running import defaults
    from diffmg.core.errors import unknown
    from diffmg.core.plan import Plan
    from diffmg.methods.baselines import BASELINES
    from diffmg.methods.search import STRATEGIES

    rivals, searches = dict(BASELINES.items()), dict(STRATEGIES.items())
    if method not in {**rivals, **searches}:
        raise unknown("method", method, [*rivals, *searches])
    options, train = defaults(name, "" if method in rivals else method, None, setting)
    kind = "baseline" if method in rivals else "strategy"
    return Plan(name, strategy_options=options, train=train, **{kind: method})  # type: ignore[arg-type]
