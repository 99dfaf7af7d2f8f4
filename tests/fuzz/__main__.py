"""`python -m fuzz`: a campaign of fuzzed inputs, one case again, the faults that oracles must find, the page."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from fuzz import campaign as campaigns
from fuzz.case import GOOD
from fuzz.inputs import INPUTS
from fuzz.telling import PAGE, RESULTS, campaign_table, filled, mutants_table

app = typer.Typer(help="Fuzz every input, and write what came of it.", add_completion=False, no_args_is_help=True)
Out = Annotated[Path, typer.Option("--out", help="Folder for failing cases and the table.")]


@app.command()
def campaign(
    cases: Annotated[int, typer.Option("--cases", min=1, help="How many cases.")] = 1000,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Worker processes.")] = 2,
    out: Out = Path("fuzz_out"),
    keep: Annotated[bool, typer.Option("--keep", help="Write the table for the page, too.")] = False,
) -> None:
    """Run cases of all inputs; exits with 1 if any of them failed."""
    start, done = time.monotonic(), []
    for one in campaigns.campaign(cases, out / "failed", workers):
        done.append(one)
        if one.result.outcome not in GOOD:
            typer.echo(f"{one.input} {one.seed} {one.result.outcome}: {one.result.detail!r:.300}")
        if len(done) % 500 == 0:
            typer.echo(f"{len(done)} cases, {time.monotonic() - start:.0f} s")
    found = {"command": f"make fuzz N={cases}", "cases": len(done), "seconds": round(time.monotonic() - start)}
    found |= {"slowest": round(max(one.result.seconds for one in done), 1), "counts": campaigns.counts(done)}
    for folder in (out, *([RESULTS] if keep else [])):
        _write(folder / "campaign.json", found)
    if keep:
        render()
    (out / "campaign.md").write_text(campaign_table(found) + "\n", encoding="utf-8")
    typer.echo(campaign_table(found))
    bad = Counter(one.result.outcome for one in done if one.result.outcome not in GOOD)
    typer.echo(f"{len(done)} cases in {found['seconds']} s; failed: {dict(bad) or 'none'}")
    raise typer.Exit(1 if bad else 0)


@app.command()
def case(name: str, seed: int, out: Out = Path("fuzz_out")) -> None:
    """Run one case again; its files stay if it fails."""
    if name not in INPUTS:
        raise typer.BadParameter(f"one of {', '.join(INPUTS)}")
    typer.echo(campaigns.run_one(name, seed, out / "failed"))


@app.command()
def mutants(
    most: Annotated[int, typer.Option("--most", help="Seeds that are tried for a fault.")] = 60,
    keep: Annotated[bool, typer.Option("--keep", help="Write the table for the page.")] = False,
) -> None:
    """Put faults into the program, one at a time; exits with 1 if the oracles miss one."""
    import torch

    from fuzz.mutants import report

    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = []
    for mutant, found in report(most):
        where = {"input": None, "tried": "-"} if found is None else {"input": found.input, "tried": found.tried}
        rows.append({"fault": mutant.fault, **where})
        typer.echo(
            f"{mutant.fault}: {'NOT FOUND' if found is None else f'{found.input} {found.seed}, {found.detail:.120}'}"
        )
    told = {"command": "make mutants", "mutants": rows}
    if keep:
        _write(RESULTS / "mutants.json", told)
        render()
    typer.echo(mutants_table(told))
    raise typer.Exit(0 if all(row["input"] for row in rows) else 1)


@app.command()
def render() -> None:
    """Write the committed tables into the page."""
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def rendered(page: str) -> str:
    """The page with the tables of the result files."""
    for name, told in (("campaign", campaign_table), ("mutants", mutants_table)):
        file = RESULTS / f"{name}.json"
        if file.is_file():
            page = filled(page, name, told(json.loads(file.read_text(encoding="utf-8"))))
    return page


def _write(path: Path, found: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    app()
