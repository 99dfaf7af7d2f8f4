"""Commands that use a model: score, predict, recommend."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from diffmg.cli import common
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


def score(run: common.RunPath, data: Data = None, data_root: common.DataRoot = None) -> None:
    """Score the model of a run on the test part again."""
    table = Table("score", "test", title="kept model", title_justify="left")
    scores = _load(run, data, data_root).scores("test")
    for name, value in scores.items():
        table.add_row(name, shown(value))
    console.print(table)
    for line in warning_on({"test": scores}):
        say(line, common.errors)


def predict(
    run: common.RunPath,
    out: OutFile = None,
    node: Ids = None,
    at: At = None,
    data: Data = None,
    data_root: common.DataRoot = None,
) -> None:
    """Predict every node of the target type: its class, with probabilities, or its numbers."""
    from diffmg.runs.model import Model

    if at is None and (data is None or Model.load(run).recipe.description is None):
        model = _load(run, data, data_root, verb="predict")
        _write(out, model.answers(_as_ids(node, model)))
        return
    model, wanted = _load(run, None, data_root, verb="predict").on_newer(data, at=at)
    _write(out, model.answers(wanted if node is None else _as_ids(node, model)))


def recommend(
    run: common.RunPath,
    user: Ids = None,
    k: Annotated[int, typer.Option("-k", help="Items per user.")] = 10,
    exclude_seen: Annotated[bool, typer.Option(help="Leave out what a user is known to have chosen.")] = True,
    out: OutFile = None,
    data: Data = None,
    data_root: common.DataRoot = None,
) -> None:
    """Recommend the best items to each user."""
    model = _load(run, data, data_root, verb="recommend")
    _write(out, model.answers(_as_ids(user, model), k=k, exclude_seen=exclude_seen))


def load_model(run: Path, data: str | None, data_root: Path | None, *, at: str | None = None) -> Model:
    """The model of a run on its data, or on newer data where its task has moments."""
    model = _load(run, None, data_root)
    if at is None and (data is None or model.recipe.description is None):
        return model if data is None else model.on(_moved(model.recipe.source, data))
    return model.on_newer(data, at=at)[0]


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
    """Ids of the first target type; None for all."""
    if texts is None:
        return None
    return typed_ids(texts, model, model.recipe.data.target_types[0])


def typed_ids(texts: list[str], model: Model, node_type: str) -> Any:
    """Ids of a type with the dtype of the network's: integers, or else text."""
    import numpy as np

    known = model.problem.graph.ids_of(node_type)
    try:
        return np.asarray(texts).astype(known.dtype if known.dtype.kind in "iu" else str)
    except (ValueError, OverflowError):
        return np.asarray(texts)


def _write(out: Path | None, answers: Answers) -> None:
    if out is None:
        typer.echo(answers.to_csv(), nl=False)
    else:
        write_text(out, answers.to_csv())
        say(f"written to {out}")
