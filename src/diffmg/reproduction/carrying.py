"""Carrying a table out: one run folder per method and data set, taken up again where it was stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from diffmg.experiment import Experiment
from diffmg.folder import RunFolder
from diffmg.reproduction.spec import Method, Reproduction
from diffmg.run import RUN, Run, read_run
from diffmg.sources import open_problem
from diffmg.train import Quiet, Watch


def carry_out(
    table: Reproduction,
    folder: Path,
    *,
    device: str = "auto",
    seed: int = 0,
    root: Path | None = None,
    watch: Callable[[str, str], Watch] = lambda _name, _metric: Quiet(),
) -> Iterator[tuple[Method, str, Run]]:
    """Do every run that is not done yet; yields each with its method and data set, as soon as it is there."""
    for data in table.data:
        for method in table.methods:
            path = folder_of(folder, table, method.name, data)
            yield method, data, _run(table, method, data, path, device, seed, root, watch)


def folder_of(folder: Path, table: Reproduction, method: str, data: str) -> Path:
    """The run folder of a method on a data set: another number of seeds is another run."""
    return folder / f"{method}-{data}-{table.seeds}"


def _run(
    table: Reproduction,
    method: Method,
    data: str,
    path: Path,
    device: str,
    seed: int,
    root: Path | None,
    watch: Callable[[str, str], Watch],
) -> Run:
    """A run that is done is read; one that was stopped goes on; the others start."""
    if (path / RUN).exists() and read_run(path).status == "done":
        return read_run(path)
    plan = method.plan(data, table.seeds, seed, device)
    problem = open_problem(plan.data, root=root)
    place = RunFolder.unfinished(path) if (path / RUN).exists() else RunFolder.create(path)
    return Experiment(plan, problem, place, watch(f"{method.name} on {data}", problem.task.metric)).execute().run
