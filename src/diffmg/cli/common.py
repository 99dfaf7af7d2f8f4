"""Shared by all commands: consoles, options, progress bars."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from diffmg.cli import completion
from diffmg.cli.console import console, errors, say
from diffmg.core import DiffmgError, Predictions, Run, Source
from diffmg.core.options import check_names
from diffmg.core.parse import parse_json
from diffmg.core.run import shown
from diffmg.core.trust import named_by_user
from diffmg.viz import progress

__all__ = ["console", "errors", "say"]

DATA = "A data set (NAME, made ones NAME:SIZE, a fresh split NAME@SEED), a .toml description, a database, a folder/."
SWITCHES = "Switch of the engine (fused, capture, storage, columns); may be repeated."
PAIR = "KEY=VALUE"
option = partial(typer.Option, show_default="none")
"""An optional command-line option."""
Name = Annotated[str, typer.Argument(metavar="DATA", help=DATA, autocompletion=completion.data_sets)]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
TARGET = "What to predict from a database; several columns with commas between them."
Target = Annotated[str | None, option("--target", metavar="TABLE.COLUMN", help=TARGET)]
AsOf = Annotated[list[str] | None, option("--as-of", metavar="COLUMN=TIME", help="Read only rows before a time.")]
TASK = "A table of predictions (entity, moment, label): a file, a table of the database, or a SELECT."
TaskTable = Annotated[str | None, option("--task", metavar="TABLE", help=TASK)]
Label = Annotated[str | None, option("--label", help="Its column to predict.", show_default="the only one left")]
Metric = Annotated[str | None, option("--metric", help="The score that chooses.", show_default="by the label")]
BY = "More on --task: entity, time, split (columns), validation, test (dates), history, horizon, static, kind."
By = Annotated[list[str] | None, option("--by", metavar=PAIR, help=BY)]
OnUnknown = Annotated[str | None, option("--on-unknown", help="Unknown ids: error or drop.", show_default="error")]
DataRoot = Annotated[Path | None, option("--data-root", help="Where files lie; else DIFFMG_DATA, then a cache.")]
DataSeed = Annotated[int, typer.Option("--data-seed", help="Seed that draws made data.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of searches and trainings.")]
DEVICE = "cpu, cuda, or auto for a GPU where there is one."
Device = Annotated[str, typer.Option("--device", help=DEVICE, autocompletion=completion.devices)]
METHOD = "See `diffmg list`."
MethodName = Annotated[
    str | None, option("--method", "-m", help=METHOD, show_default="auto", autocompletion=completion.methods)
]
Spend = Annotated[str | None, option("--budget", help="60s, 5m, or 300 trainings.", show_default="120s for auto")]
Options = Annotated[list[str] | None, option("--option", "-o", metavar=PAIR, help="Option of the method; repeatable.")]
SETTING = "Training setting; may be repeated."
Settings = Annotated[
    list[str] | None, option("--set", "-s", metavar=PAIR, help=SETTING, autocompletion=completion.settings)
]
Switches = Annotated[list[str] | None, option("--engine", metavar=PAIR, help=SWITCHES, show_default="fastest")]
Depth = Annotated[int | None, option("--depth", help="K, the states of a meta graph: -o depth=K.", show_default="4")]
SearchSeeds = Annotated[int | None, option("--search-seeds", help="Searches: -o search_seeds=N.", show_default="3")]


def parse_pairs(texts: Iterable[str] | None) -> dict[str, Any]:
    """Parse `KEY=VALUE`; values are JSON (numbers, true, null) or plain text."""
    pairs: dict[str, Any] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise DiffmgError(f"an option is written KEY=VALUE, but got {text!r}")
        pairs[key] = parse_json(value, f"the value of {key!r}") if _is_json(value) else value
    return pairs


def names(texts: Iterable[str] | None) -> list[str]:
    """Names that are given one by one, or with commas or spaces between them."""
    return [name for text in texts or () for name in text.replace(",", " ").split()]


def _is_json(text: str) -> bool:
    """Whether a text is JSON, if only too large or too deep."""
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    except (ValueError, RecursionError):
        return True
    return True


def source(
    name: str,
    target: str | None,
    as_of: list[str] | None,
    on_unknown: str | None,
    seed: int = 0,
    predictions: Predictions | None = None,
) -> Source:
    """The data source given by the options."""
    named_by_user(name)
    times = {key: str(value) for key, value in parse_pairs(as_of).items()}
    name = database_name(name) if target or predictions else name
    return Source(name, seed, target, times, on_unknown, predictions)


def database_name(name: str) -> str:
    """The name of a database; that of a folder of tables ends with a slash."""
    return f"{name.rstrip('/')}/" if Path(name).is_dir() else name


def predictions(table: str | None, roles: Iterable[str] | None, **columns: str | None) -> Predictions | None:
    """The table of predictions given by the options; `roles` are KEY=VALUE."""
    given = {key: str(value) for key, value in parse_pairs(roles).items()}
    given |= {name: value for name, value in columns.items() if value is not None}
    if table is None:
        if given:
            raise DiffmgError(f"{', '.join(given)} are for a table of predictions, but got no --task")
        return None
    if "table" in given:
        raise DiffmgError(f"the table of predictions is given by --task, but got --by table={given['table']!r}")
    check_names(given, Predictions, "option of --by:")
    return Predictions(table, **given)  # type: ignore[arg-type]  # checked there


def method_options(option: list[str] | None, **short: int | None) -> dict[str, Any]:
    """Options of a method: from `--option` and from flags of their own."""
    return {name: value for name, value in short.items() if value is not None} | parse_pairs(option)


class ProgressWatch(progress.ProgressWatch):
    """Progress on stderr."""

    def __init__(self, metric: str, sign: int = 1, phases: Sequence[str] = ()) -> None:
        super().__init__(metric, sign, errors, phases)


def score_table(run: Run) -> Table:
    """Scores of the kept model and, for several trainings, their mean."""
    several = len(run.trained) > 1
    heads = ["score", "validation", "test", *([f"test, mean ± std of {len(run.trained)} trainings"] if several else [])]
    table = Table(*heads, title="scores of the kept model", title_justify="left")
    for name in {**run.scores("val"), **run.scores("test")}:
        row = [name, *(_cell(run.scores(part).get(name)) for part in ("val", "test"))]
        table.add_row(*row, *([f"{shown(run.mean('test', name))} ± {shown(run.std('test', name))}"] if several else []))
    return table


def _cell(value: float | None) -> str:
    return "-" if value is None else shown(value)
