"""Commands that use a model: score, predict, recommend."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from diffmg.cli import common, output
from diffmg.cli.common import console, say
from diffmg.core import DiffmgError, Source
from diffmg.core.perfect import warning_on
from diffmg.core.run import shown

if TYPE_CHECKING:
    from diffmg.runs.model import Model
    from diffmg.tasks.answers import Answers

OUT = "File to write: .csv, .parquet or .jsonl (JSON lines)."
OutFile = Annotated[Path | None, common.option("--out", help=OUT, show_default="print CSV")]
SAFE = "In CSV, put an apostrophe before text that a spreadsheet would run as a formula."
SafeCells = Annotated[bool, typer.Option("--safe-cells", help=SAFE, show_default="no")]
ITEMS = "Only these items: an id, or a file with one id a line or a column of them; may be repeated."
WHY = "Add the meta path that adds most to each score, and the node it mostly comes from; takes a while for many."
Why = Annotated[bool, typer.Option("--why", help=WHY, show_default="no")]
Items = Annotated[list[str] | None, common.option("--items", metavar="ID|FILE", help=ITEMS, show_default="all")]
Ids = Annotated[list[str] | None, common.option("--id", help="Only this id; may be repeated.", show_default="all")]
Data = Annotated[str | None, common.option("--data", help="Where the data are now.", show_default="where they were")]

AT = "With a task of predictions: predict every entity at this moment, from what is dated before it."
At = Annotated[str | None, common.option("--at", metavar="TIME", help=AT)]
NEWER = "Of newer data, rows that refer to nothing that is there: error or drop."
NewerUnknown = Annotated[str | None, common.option("--on-unknown", help=NEWER, show_default="as it was fitted")]


def score(run: common.RunPath, data: Data = None, data_root: common.DataRoot = None) -> output.Value:
    """Score the model of a run on the test part again."""
    table = Table("score", "test", title="kept model", title_justify="left")
    scores = load(run, data, data_root).scores("test")
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
    on_unknown: NewerUnknown = None,
    data_root: common.DataRoot = None,
    safe_cells: SafeCells = False,
) -> output.Value:
    """Predict every node of the target type: its class, with probabilities, or its numbers."""
    from diffmg.runs.model import Model

    check_out(out, safe_cells)
    if at is None and (data is None or Model.load(run).recipe.description is None):
        if on_unknown is not None:
            raise DiffmgError(f"--on-unknown is for newer data of a task with moments, but got {on_unknown!r} without")
        model, wanted = load(run, data, data_root, verb="predict"), None
    else:
        from diffmg.runs.newer import newer_notes

        fitted = load(run, None, data_root, verb="predict")
        model, wanted = fitted.on_newer(data, at=at, on_unknown=on_unknown)
        for note in newer_notes(model.problem):
            say(note, common.errors)
    ids = wanted if node is None else as_ids(at_moment(node, model, wanted), model)
    return write(out, model.stream(ids), safe_cells)


def recommend(
    run: common.RunPath,
    user: Ids = None,
    k: Annotated[int, typer.Option("-k", help="Items per user.")] = 10,
    exclude_seen: Annotated[bool, typer.Option(help="Leave out what a user is known to have chosen.")] = True,
    items: Items = None,
    why: Why = False,
    out: OutFile = None,
    data: Data = None,
    data_root: common.DataRoot = None,
    safe_cells: SafeCells = False,
) -> output.Value:
    """Recommend the best items to each user."""
    check_out(out, safe_cells)
    model = load(run, data, data_root, verb="recommend")
    allowed = None if items is None else as_ids(listed(items, model.recipe.data.target_types[1]), model, 1)
    asked = as_ids(user, model)
    return write(out, model.stream(asked, k=k, exclude_seen=exclude_seen, items=allowed, why=why), safe_cells)


def load_model(run: Path, data: str | None, data_root: Path | None, *, at: str | None = None) -> Model:
    """The model of a run on its data, or on newer data where its task has moments."""
    return load_at(run, data, data_root, at)[0]


def load_at(run: Path, data: str | None, data_root: Path | None, at: str | None) -> tuple[Model, Any]:
    """The same, and the ids of the predictions at a moment, if one is given."""
    model = load(run, None, data_root)
    if at is None and (data is None or model.recipe.description is None):
        return (model if data is None else model.on(_moved(model.recipe.source, data))), None
    return model.on_newer(data, at=at)


def at_moment(texts: list[str], model: Model, wanted: Any) -> list[str]:
    """Ids of predictions; where those at a moment are wanted, the id of an entity stands for its prediction then."""
    from diffmg.tasks.answers import split_ids

    keys = model.problem.graph.keys.get(model.recipe.data.target_types[0], ())
    if wanted is None or not keys:
        return texts
    found = dict(zip(split_ids(wanted.tolist(), len(keys))[0].tolist(), wanted.tolist(), strict=True))
    return [found.get(text, text) for text in texts]


def load(run: Path, data: str | None, data_root: Path | None, verb: str | None = None) -> Model:
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


def as_ids(texts: list[str] | None, model: Model, target: int = 0) -> Any:
    """Ids of a target type, the first one by default; None for all."""
    if texts is None:
        return None
    return typed_ids(texts, model, model.recipe.data.target_types[target])


def typed_ids(texts: list[str], model: Model, node_type: str) -> Any:
    """Ids of a type with the dtype of the network's: integers, or else text."""
    import numpy as np

    known = model.problem.graph.ids_of(node_type)
    try:
        return np.asarray(texts).astype(known.dtype if known.dtype.kind in "iu" else str)
    except (ValueError, OverflowError):
        return np.asarray(texts)


def listed(words: list[str], node_type: str) -> list[str]:
    """Ids given as words, or in files: one a line, or the column called like the type or `id`, or else the first."""
    found: list[str] = []
    for word in words:
        found += _in_file(Path(word), node_type) if Path(word).is_file() else [word]
    return found


def _in_file(path: Path, node_type: str) -> list[str]:
    from diffmg.core.files import is_file_name, read_text

    if path.suffix.lower() == ".txt" or not is_file_name(path.name):
        return [line for line in read_text(path, "a file of ids").splitlines() if line]
    from diffmg.core.arrow import plain
    from diffmg.tables.reading import read_table

    table = read_table(path)
    name = next(name for name in (node_type, "id", *table.column_names) if name in table.column_names)
    return [str(value) for value in plain(table.column(name)).drop_null().to_pylist()]


def check_out(out: Path | None, safe_cells: bool) -> None:
    """Raise for a file of an unknown kind before anything is computed."""
    from diffmg.tasks.answer_files import check_ending

    if out is not None:
        check_ending(out, safe_cells=safe_cells)


def write(out: Path | None, blocks: Iterable[Answers], safe_cells: bool = False) -> output.Value:
    """Write answers to a file, or print them as CSV, the same bytes; for `--json` their rows, or how many and where."""
    from diffmg.tasks.answer_files import csv_lines, write_answers

    if out is not None:
        count = write_answers(out, blocks, safe_cells=safe_cells)
        say(f"written to {out}")
        return {"written": out, "count": count}
    if output.is_json():
        return {"rows": [dict(zip(some.columns, row, strict=True)) for some in blocks for row in some.rows()]}
    for text in csv_lines(blocks, safe_cells=safe_cells):
        output.emit(text)
    return {}
