"""Commands that go on with a run or do it again: resume, repeat."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from diffmg.cli import common
from diffmg.cli.running import SaveEvery, carry_out, execute, make_experiment


def resume(run: common.RunPath, data_root: common.DataRoot = None, save_every: SaveEvery = 5.0) -> None:
    """Go on with a run that was stopped; its result is the same as if it had not been."""
    from diffmg.core.errors import DiffmgError
    from diffmg.core.plan import Plan
    from diffmg.core.run import read_run
    from diffmg.runs.folder import RunFolder

    folder = RunFolder.unfinished(run, save_every)
    before = read_run(run)
    experiment = make_experiment(Plan.from_dict(before.plan), data_root)
    if experiment.start.data != before.data:
        raise DiffmgError(
            f"a run goes on with the data it started on ({before.data['graph']}, {before.data['task']}), "
            f"but got other data ({experiment.start.data['graph']}, {experiment.start.data['task']})"
        )
    execute(experiment, folder)


def repeat(
    run: common.RunPath,
    out: Annotated[Path, typer.Option("--out", help="The run folder to write.")],
    device: Annotated[str | None, typer.Option("--device", help="Another device.", show_default="as in RUN")] = None,
    data_root: common.DataRoot = None,
    save_every: SaveEvery = 5.0,
) -> None:
    """Do again what another run did, from its run.json alone."""
    from diffmg.core.plan import Plan
    from diffmg.core.run import read_run

    plan = Plan.from_dict(read_run(run).plan)
    carry_out(plan if device is None else replace(plan, device=device), out, data_root, save_every)
