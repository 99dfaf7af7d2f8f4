"""What the commands share: consoles, options, progress."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from typer.core import TyperCommand

from diffmg.core.errors import DiffmgError

if TYPE_CHECKING:
    from diffmg.core.run import Run
    from diffmg.training.job import Epoch, Job

console = Console()
errors = Console(stderr=True)

Name = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A data set (NAME, made ones NAME:SIZE, a fresh split NAME@SEED), a .toml description, or a database.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option("--target", metavar="TABLE.COLUMN", help="What to predict from a database.", show_default="none"),
]
AsOf = Annotated[
    list[str] | None,
    typer.Option(
        "--as-of", metavar="COLUMN=TIME", help="Read only rows of a database before a time.", show_default="none"
    ),
]
OnUnknown = Annotated[
    str | None,
    typer.Option("--on-unknown", help="Edges to unknown ids in own tables: error or drop.", show_default="error"),
]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
DataRoot = Annotated[
    Path | None,
    typer.Option("--data-root", help="Where data files lie.", show_default="DIFFMG_DATA, then the user's cache"),
]
DataSeed = Annotated[int, typer.Option("--data-seed", help="Seed that draws made data.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of searches and trainings.")]
Device = Annotated[str, typer.Option("--device", help="cpu, cuda, or auto for a GPU where there is one.")]
StrategyName = Annotated[str, typer.Option("--strategy", help="How the meta graph is looked for; see `diffmg list`.")]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option", "-o", metavar="KEY=VALUE", help="Option of the strategy; may be repeated.", show_default="none"
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="KEY=VALUE", help="Training setting; may be repeated.", show_default="none"),
]
Switches = Annotated[
    list[str] | None,
    typer.Option(
        "--engine",
        metavar="KEY=VALUE",
        help="Switch of the engine (fused, capture, storage, columns); may be repeated.",
        show_default="the fastest that fits",
    ),
]
Depth = Annotated[int, typer.Option("--depth", help="K, the number of states of a meta graph.")]


def say(text: str, where: Console = console) -> None:
    """Print text as it is: no markup, and no breaks inside a path."""
    where.print(text, markup=False, highlight=False, soft_wrap=True)


def parse_pairs(texts: Iterable[str] | None) -> dict[str, Any]:
    """Read `KEY=VALUE`; values are JSON (numbers, true, null) or else text."""
    pairs: dict[str, Any] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise DiffmgError(f"an option is written KEY=VALUE, but got {text!r}")
        try:
            pairs[key] = json.loads(value)
        except json.JSONDecodeError:
            pairs[key] = value
    return pairs


def data_options(target: str | None, as_of: list[str] | None, on_unknown: str | None) -> dict[str, Any]:
    """Options of own data that were given."""
    times = {key: str(value) for key, value in parse_pairs(as_of).items()}
    given = {"target": target, "as_of": times or None, "on_unknown": on_unknown}
    return {name: value for name, value in given.items() if value is not None}


class SeveralWords(TyperCommand):
    """An option that may be repeated may also have several words: `--data A B` means `--data A --data B`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the option before each of its words."""
        repeatable = {name for p in self.params if getattr(p, "multiple", False) for name in p.opts}
        return super().parse_args(ctx, list(_spread(args, repeatable)))


def _spread(words: list[str], repeatable: set[str]) -> Iterator[str]:
    option, filled = "", False
    for word in words:
        if word.startswith("-"):
            name, equals, _ = word.partition("=")
            option, filled = name if name in repeatable else "", bool(equals)
        elif option and filled:
            yield option
        else:
            filled = True
        yield word


class ProgressWatch:
    """Shows each job as a bar with its current loss and score."""

    def __init__(self, metric: str) -> None:
        self.metric = metric

    def begin(self, phase: str, job: Job) -> None:
        """A job starts or goes on."""
        self.job = job
        self.progress = Progress(
            TextColumn("{task.description:<10}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[text]}"),
            console=errors,
        )
        self.progress.start()
        self.bar = self.progress.add_task(phase, total=job.total, completed=job.epoch, text="")

    def epoch(self, record: Epoch) -> None:
        """An epoch is over."""
        text = f"loss {record.train_loss:.4f}  validation {self.metric} {record.val_score:.4f}"
        self.progress.update(self.bar, completed=record.epoch, text=text)

    def end(self) -> None:
        """The job is over; one that stopped early shows a full bar."""
        if self.job.done:
            self.progress.update(self.bar, total=max(1, self.job.epoch), completed=max(1, self.job.epoch))
        self.progress.stop()


def score_table(run: Run) -> Table:
    """Validation and test scores of a run."""
    several = len(run.trained) > 1
    head = f"mean ± std of {len(run.trained)} trainings" if several else "one training"
    table = Table("score", "validation", "test", title=f"scores, {head}", title_justify="left")
    for name in run.trained[0].val if run.trained else ():
        table.add_row(name, *(_cell(run, part, name) for part in ("val", "test")))
    return table


def _cell(run: Run, part: str, name: str) -> str:
    values = run.values(part, name)  # type: ignore[arg-type]
    if not values:
        return "-"
    mean = run.mean(part, name)  # type: ignore[arg-type]
    return f"{mean:.4f}" if len(values) == 1 else f"{mean:.4f} ± {run.std(part, name):.4f}"  # type: ignore[arg-type]
