"""Commands that use a model: score, predict, recommend."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from diffmg.cli import common, output
from diffmg.cli.common import console, say
from diffmg.core import DiffmgError, Source
from diffmg.core.files import write_text
from diffmg.core.perfect import warning_on
from diffmg.core.run import shown

if TYPE_CHECKING:
    from diffmg.runs.model import Model
    from diffmg.tasks.answers import Answers

OutFile = Annotated[Path | None, common.option("--out", help="CSV file to write.", show_default="print")]
Ids = Annotated[list[str] | None, common.option("--id", help="Only this id; may be repeated.", show_default="all")]
Data = Annotated[str | None, common.option("--data", help="Where the data are now.", show_default="where they were")]

AT = "With a task of predictions: predict every entity at this moment, from what is dated before it."
At = Annotated[str | None, common.option("--at", metavar="TIME", help=AT)]


def score(run: common.RunPath, data: Data = None, data_root: common.DataRoot = None) -> output.Value:
    """Score the model of a run on the test part again."""
    table = Table("score", "test", title="kept model", title_justify="left")
    scores = _load(run, data, data_root).scores("test")
    for name, value in scores.items():
        table.add_row(name, shown(value))
    console.print(table)
    warnings = list(warning_on({"test": scores}))
    for line in warnings:
        say(line, common.errors)
    return {"scores": {"test": scores}, "warnings": warnings}


def predict(
    run: common.RunPath,
    out: OutFile = None,
    node: Ids = None,
    at: At = None,
    data: Data = None,
    data_root: common.DataRoot = None,
) -> output.Value:
    """Predict every node of the target type: its class, with probabilities, or its numbers."""
    from diffmg.runs.model import Model

    if at is None and (data is None or Model.load(run).recipe.description is None):
        model = _load(run, data, data_root, verb="predict")
        return _write(out, model.answers(_as_ids(node, model)))
    model, wanted = _load(run, None, data_root, verb="predict").on_newer(data, at=at)
    return _write(out, model.answers(wanted if node is None else _as_ids(node, model)))


def recommend(
    run: common.RunPath,
    user: Ids = None,
    k: Annotated[int, typer.Option("-k", help="Items per user.")] = 10,
    exclude_seen: Annotated[bool, typer.Option(help="Leave out what a user is known to have chosen.")] = True,
    out: OutFile = None,
    data: Data = None,
    data_root: common.DataRoot = None,
) -> output.Value:
    """Recommend the best items to each user."""
    model = _load(run, data, data_root, verb="recommend")
    return _write(out, model.answers(_as_ids(user, model), k=k, exclude_seen=exclude_seen))


def _load(run: Path, data: str | None, data_root: Path | None, verb: str | None = None) -> Model:
    """The model of a run on its data."""
    from diffmg.runs.model import Model

    model = Model.load(run, root=data_root)
    if verb not in (None, model.task.verb):
        raise DiffmgError(
            f"`{verb}` is not for {model.task.kind}, but got such a run: {str(run)!r}; use `{model.task.verb}`"
        )
    return model if data is None else model.on(_moved(model.recipe.source, data))


def _moved(source: Source, name: str) -> Source:
    """The same data at another place, without the options that do not apply to its kind of source."""
    from dataclasses import replace

    moved = replace(source, name=name)
    if not moved.is_database:
        moved = replace(moved, target=None, as_of={})
    return moved if moved.is_described else replace(moved, on_unknown=None)


def _as_ids(texts: list[str] | None, model: Model) -> Any:
    """Ids with the dtype of the network's: integers, or else text."""
    import numpy as np

    if texts is None:
        return None
    known = model.problem.graph.ids_of(model.recipe.data.target_types[0])
    try:
        return np.asarray(texts).astype(known.dtype if known.dtype.kind in "iu" else str)
    except (ValueError, OverflowError):
        return np.asarray(texts)


def _write(out: Path | None, answers: Answers) -> output.Value:
    """Print or write the answers; for `--json` their rows, or how many were written where."""
    if out is None:
        output.emit(answers.to_csv())
        return {"rows": [dict(zip(answers.columns, row, strict=True)) for row in answers.rows()]}
    write_text(out, answers.to_csv())
    say(f"written to {out}")
    return {"written": out, "count": len(answers)}
