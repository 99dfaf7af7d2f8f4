"""`python -m soak`: runs that are stopped in every way, many fits in one process, many answers, the page."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from fuzz.telling import PAGE, filled
from soak import endurance
from soak.access import read_only, two_writers
from soak.disk import can_mount, disk_full
from soak.power import power_lost
from soak.signals import interrupted, interrupted_twice, killed
from soak.telling import flat_table, recommend_table, rows_of, soak_table
from soak.trial import Ground, Happened, Trial, trials

RESULTS = Path(__file__).parent / "results"
TABLES = {"soak": soak_table, "fits": flat_table, "recommend": recommend_table}
FAULTS: Mapping[str, tuple[Trial, float]] = {
    "killed": (killed, 1.0),
    "Ctrl-C": (interrupted, 0.2),
    "Ctrl-C twice": (interrupted_twice, 0.2),
    "disk full": (disk_full, 0.4),
    "power cut": (power_lost, 0.4),
    "two writers": (two_writers, 0.1),
    "read-only": (read_only, 0.15),
}
"""What happens, and how often beside a kill."""
app = typer.Typer(help="Stop runs in every way, and write what came of it.", add_completion=False, no_args_is_help=True)
Keep = Annotated[bool, typer.Option("--keep", help="Write the table for the page.")]


@app.command()
def run(
    kills: Annotated[int, typer.Option("--kills", min=1, help="How often a process is killed.")] = 60,
    out: Annotated[Path, typer.Option("--out", help="Folder for what went wrong.")] = Path("soak_out"),
    keep: Keep = False,
) -> None:
    """Stop runs at random moments; exits with 1 unless all of them came to the same end."""
    start, found = time.monotonic(), list[Happened]()
    out.mkdir(parents=True, exist_ok=True)
    ground = Ground(Path(tempfile.mkdtemp(dir=out)).resolve())
    for fault, (trial, share) in FAULTS.items():
        if trial is disk_full and not can_mount(ground.place / "mount"):
            typer.echo("disk full: left out, since no file system can be mounted here")
            continue
        for one in trials(fault, trial, max(4, round(share * kills)), ground):
            found.append(one)
            if one.problems:
                typer.echo(f"{one.fault}, {one.work} {one.seed}: {'; '.join(one.problems)}")
        typer.echo(f"{fault}: {time.monotonic() - start:.0f} s")
    told = {"command": f"make soak KILLS={kills}", "seconds": round(time.monotonic() - start), "rows": rows_of(found)}
    _tell("soak", told, out, keep=keep)
    bad = sum(bool(one.problems) for one in found)
    if not bad:
        shutil.rmtree(ground.place)
    raise typer.Exit(1 if bad else 0)


@app.command()
def fits(
    count: Annotated[int, typer.Option("--count", min=4, help="Fits in this process.")] = 200, keep: Keep = False
) -> None:
    """Fit many times in one process; exits with 1 unless memory and open files stay flat."""
    rows = endurance.many_fits(count)
    _tell("fits", {"command": f"python -m soak fits --count {count}", "rows": rows}, None, keep=keep)
    raise typer.Exit(0 if endurance.is_flat(rows) else 1)


@app.command()
def recommend(users: int = 50_000, items: int = 20_000, keep: Keep = False) -> None:
    """Recommend to many, from made vectors to a file; exits with 1 unless memory stays within 10 % of its base."""
    found = endurance.recommending(users, items)
    told = {"command": f"python -m soak recommend --users {users} --items {items}", **found}
    _tell("recommend", told, None, keep=keep)
    raise typer.Exit(0 if found["peak"] <= endurance.MORE * found["base"] else 1)


@app.command()
def render() -> None:
    """Write the committed tables into the page."""
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def rendered(page: str) -> str:
    """The page with the tables of the result files."""
    for name, told in TABLES.items():
        file = RESULTS / f"{name}.json"
        if file.is_file():
            page = filled(page, name, told(json.loads(file.read_text(encoding="utf-8"))))
    return page


def _tell(name: str, found: dict[str, Any], out: Path | None, *, keep: bool) -> None:
    typer.echo(TABLES[name](found))
    for folder in (*([out] if out else []), *([RESULTS] if keep else [])):
        (folder / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if keep:
        render()


if __name__ == "__main__":
    app()
