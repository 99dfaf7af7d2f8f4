"""Commands that continue or repeat a run: resume, repeat."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffmg.cli import common, output
from diffmg.cli.console import say
from diffmg.cli.fit import On, Overwrite, SaveEvery, execute, executor_of, fit_in_new_folder, open_data
from diffmg.core import read_run

if TYPE_CHECKING:
    from diffmg.runs.folder import RunFolder


def resume(
    run: common.RunPath, data_root: common.DataRoot = None, save_every: SaveEvery = 5.0, on: On = "here"
) -> output.Value:
    """Go on with a run that was stopped; its result is the same as if it had not been."""
    from diffmg.runs.folder import RunFolder
    from diffmg.runs.runner import check_same_data

    if RunFolder.has_leftovers(run):
        return finish(RunFolder(run))
    folder, begun = RunFolder.unfinished(run, save_every), read_run(run)
    problem = open_data(begun.plan, data_root)
    check_same_data(begun, problem)
    with executor_of(begun.plan, on) as executor:
        return execute(begun.plan, problem, folder, executor)


def finish(folder: RunFolder) -> output.Value:
    """Do what was left of a run that was stopped when its results were written."""
    from diffmg.runs.lock import locked
    from diffmg.viz import write_report

    with locked(folder.path):
        folder.finish()
        write_report(folder.path)
    say(f"run folder: {folder.path}")
    return {"folder": folder.path, **read_run(folder.path).to_dict()}


def repeat(
    run: common.RunPath,
    out: Annotated[Path, typer.Option("--out", help="The run folder to write.")],
    device: Annotated[str | None, typer.Option("--device", help="Another device.", show_default="as in RUN")] = None,
    data_root: common.DataRoot = None,
    save_every: SaveEvery = 5.0,
    overwrite: Overwrite = False,
) -> output.Value:
    """Do again what another run did, from its run.json alone."""
    done = read_run(run)
    plan = done.plan if done.spent is None else replace(done.plan, budget=done.spent)
    plan = plan if device is None else replace(plan, device=device)
    return fit_in_new_folder(plan, out, data_root, save_every, overwrite=overwrite)
