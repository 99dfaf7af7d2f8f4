"""The command that chooses settings by validation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from diffmg.cli import common
from diffmg.cli.common import console, say


def tune(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="A baseline or a strategy; see `diffmg list`.")],
    name: common.Name,
    budget: Annotated[int, typer.Option("--budget", help="Settings that are tried.")] = 20,
    how: Annotated[str, typer.Option("--how", help="random, or halving: drop the worse half twice.")] = "random",
    seed: common.Seed = 0,
    device: common.Device = "auto",
    setting: common.Settings = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The piece of a plan file to write.", show_default="print")
    ] = None,
    data_root: common.DataRoot = None,
    data_seed: common.DataSeed = 0,
) -> None:
    """Choose learning rate, weight decay, dropout and a method's own options by validation."""
    from diffmg.baselines import BASELINES
    from diffmg.cli.running import defaults
    from diffmg.device import resolve_device
    from diffmg.errors import unknown
    from diffmg.files import write_text
    from diffmg.plan import settings_from
    from diffmg.sources import open_problem
    from diffmg.strategies import STRATEGIES
    from diffmg.train import TrainSettings
    from diffmg.tuning import Tuning, to_toml
    from diffmg.tuning import tune as tuned

    known = [*dict(BASELINES.items()), *dict(STRATEGIES.items())]
    if method not in known:
        raise unknown("method", method, known)
    tuning = Tuning(budget, how, seed)  # type: ignore[arg-type]
    if method in dict(BASELINES.items()):
        base = settings_from(TrainSettings(), common.parse_pairs(setting))
    else:
        _, base = defaults(name, method, None, setting)
    problem = open_problem(name, root=data_root, seed=data_seed).to(resolve_device(device))
    trials = tuned(problem, method, base, tuning)
    table = Table("validation", "epochs", "settings", "options", title=f"{method} on {name}", title_justify="left")
    for trial in trials[:10]:
        words = (", ".join(f"{k}={v}" for k, v in given.items()) for given in (trial.settings, trial.options))
        table.add_row(f"{trial.val_score:.4f}", str(trial.epochs), *(w or "as they were" for w in words))
    console.print(table)
    text = to_toml(method, name, trials, base, tuning)
    if out is None:
        say(text)
    else:
        write_text(out, text)
        say(f"written to {out}")
