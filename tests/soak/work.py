"""What is stopped: short runs on made data, and how a stopped one is brought to its end."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from diffmg.core import read_run
from run_files import content
from soak.child import Ended, run

DATA = "academic:200"
EVERY = ("--save-every", "0.05")
SETTINGS = ("-s", "max_epochs=25", "-s", "dim=16", *EVERY)


@dataclass(frozen=True)
class Work:
    """A fit, and what is stopped of it: the fit itself, its resumption, or the writing of its report."""

    name: str
    fit: tuple[str, ...]
    stopped: str = "fit"


WORKS = (
    Work("fit", ("--method", "diffmg", "-o", "epochs=15", "--search-seeds", "2", "--repeats", "2", *SETTINGS)),
    Work("race", ("--budget", "8", "--batch", "2", *SETTINGS)),
    Work("resume", ("--method", "diffmg", "-o", "epochs=15", "--search-seeds", "2", *SETTINGS), "resume"),
    Work("report", ("--method", "gcn", *SETTINGS), "report"),
)


def fit_command(work: Work, folder: Path) -> tuple[object, ...]:
    """The arguments of its fit."""
    return ("fit", DATA, "--out", folder, *work.fit)


def state_of(folder: Path) -> str:
    """Where a folder stands: `new`, `running`, `interrupted`, `left over`, `unreported`, `done`."""
    if not (folder / "run.json").exists():
        return "new"
    status = read_run(folder).status
    if status == "done":
        return "left over" if (folder / "checkpoints").exists() else _reported(folder)
    return str(status)


def _reported(folder: Path) -> str:
    return "done" if (folder / "report.html").exists() else "unreported"


def next_command(work: Work, folder: Path) -> tuple[object, ...] | None:
    """What a person would type now; None where all is done."""
    commands: dict[str, tuple[object, ...] | None] = {
        "new": fit_command(work, folder),
        "running": ("resume", folder, *EVERY),
        "interrupted": ("resume", folder, *EVERY),
        "left over": ("resume", folder),
        "unreported": ("report", folder),
        "done": None,
    }
    return commands[state_of(folder)]


def brought_to_end(work: Work, folder: Path) -> list[str]:
    """Go on with a stopped run until it is done; what went wrong on the way."""
    for _ in range(4):
        command = next_command(work, folder)
        if command is None:
            return []
        ended: Ended = run(command, folder.with_suffix(".log"))
        if ended.fault or ended.code:
            return [f"{command[0]} of a stopped run: {ended.fault or ended.err.strip()[-300:]}"]
    return ["a run that does not come to its end"]


def differences(folder: Path, expected: Path) -> list[str]:
    """Files of two finished runs that differ, timings apart; what is there beside them."""
    one, other = content(folder), content(expected)
    found = [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]
    names = {path.name for path in folder.iterdir()} ^ {path.name for path in expected.iterdir()}
    return [*(f"{name} differs" for name in found), *(f"{name} is in one folder only" for name in sorted(names))]


def check(work: Work, folder: Path, expected: Path) -> list[str]:
    """Bring a stopped run to its end and compare it with one that nobody stopped."""
    return brought_to_end(work, folder) or differences(folder, expected)


def straight(work: Work, place: Path) -> tuple[Path, float]:
    """A run that nobody stops, and the seconds that the stoppable part of it takes."""
    folder = place / f"straight-{work.name}"
    ended = run(fit_command(work, folder), place / "straight.log")
    assert ended.code == 0, ended.err
    seconds = ended.seconds
    if work.stopped == "report":
        seconds = run(("report", folder), place / "straight.log").seconds
    return folder, seconds


def begun(work: Work, folder: Path, expected: Path) -> Sequence[object]:
    """Put a folder into the state in which the stopped command starts; that command."""
    shutil.rmtree(folder, ignore_errors=True)
    if work.stopped == "report":
        shutil.copytree(expected, folder)
        return ("report", folder)
    return fit_command(work, folder)
