"""The command that turns a question into a table of predictions."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from diffmg.cli import common, output
from diffmg.cli.common import console, say
from diffmg.core import DiffmgError
from diffmg.core.trust import named_by_user

if TYPE_CHECKING:
    import pyarrow as pa

    from diffmg.tables.asking import Asked

PREDICT = "The question: count, exists, sum, mean, min, max, or count(distinct T.C), such as 'count(orders) > 0'."
Predict = Annotated[str, typer.Option("--predict", metavar="QUESTION", help=PREDICT)]
Of = Annotated[str, typer.Option("--of", metavar="TABLE", help="Of whom or what: a table with a primary key.")]
Within = Annotated[str, typer.Option("--within", metavar="PERIOD", help="How long after a moment, such as 30d.")]
Every = Annotated[str | None, common.option("--every", metavar="PERIOD", help="How often.", show_default="--within")]
OutTable = Annotated[Path, typer.Option("--out", help="Table to write (.csv, .parquet), to be looked at and edited.")]
Since = Annotated[str | None, common.option("--since", metavar="DATE", help="The first moment is not earlier.")]
UNTIL = "Where the data end."
Until = Annotated[
    str | None, common.option("--until", metavar="DATE", help=UNTIL, show_default="the last row asked of")
]
HELD = "Moments of test, and of validation."
Held = Annotated[int | None, common.option("--held", help=HELD, show_default="a sixth")]
EVERYONE = "Ask of undated entities before they are seen in the question's tables, too."
Everyone = Annotated[bool, typer.Option("--all", help=EVERYONE, show_default="no")]
TIME = "Time column of a table of the question; may be repeated."
STATIC = "A table whose rows were known from the beginning, whatever their dates; may be repeated."
Static = Annotated[list[str] | None, common.option("--static", metavar="TABLE", help=STATIC)]
Times = Annotated[
    list[str] | None, common.option("--time", metavar="TABLE.COLUMN", help=TIME, show_default="recognised")
]

OVERWRITE = "Write over a table that is there."
Overwrite = Annotated[bool, typer.Option("--overwrite", help=OVERWRITE, show_default="no")]


def ask(
    data: Annotated[str, typer.Argument(metavar="DATABASE", help="A database.")],
    predict: Predict,
    of: Of,
    within: Within,
    out: OutTable,
    every: Every = None,
    since: Since = None,
    until: Until = None,
    held: Held = None,
    everyone: Everyone = False,
    time: Times = None,
    static: Static = None,
    overwrite: Overwrite = False,
) -> output.Value:
    """Ask what will be: write a table of predictions (entity, moment, label, split) for `fit --task`."""
    from diffmg.core import Source
    from diffmg.tables.answering import Ask
    from diffmg.tables.asking import ask as answered

    named_by_user(data)
    database = common.database_name(data)
    if not Source(database).is_database:
        raise DiffmgError(
            f"a question is asked of a database, but got {data!r}; give a file of SQLite or DuckDB, an address, "
            "or a folder of tables"
        )
    write = _writer(out, overwrite=overwrite)
    found = answered(
        database, Ask(predict, of, within, every, since, until, held, everyone, tuple(time or ()), tuple(static or ()))
    )
    write(found.table)
    for note in found.notes:
        say(note)
    parts, fit = _parts(found.table), fit_command(data, out, found, static or ())
    console.print(_summary(parts))
    say(f"written to {out}; fit it with:\n{fit}")
    return {"written": out, "notes": found.notes, "parts": parts, "fit": fit}


def fit_command(data: str, out: Path, asked: Asked, static: Sequence[str]) -> str:
    """The command that fits the table."""
    _, moment, label, split = asked.table.column_names
    given = {"entity": asked.entity, "time": moment, "split": split, "horizon": asked.horizon, "kind": asked.kind}
    given |= {"static": ",".join(static)} if static else {}
    by = [word for name, value in given.items() for word in ("--by", f"{name}={value}")]
    return shlex.join(["diffmg", "fit", data, "--task", str(out), "--label", label, *by])


def _writer(out: Path, *, overwrite: bool) -> Callable[[pa.Table], None]:
    """Writes a table by the ending of its name; a file that is there may have been edited, so it is kept."""
    import pyarrow.csv as csv
    import pyarrow.parquet as parquet

    from diffmg.core.files import write_atomically

    kinds = {".csv": csv.write_csv, ".parquet": parquet.write_table}
    if out.suffix not in kinds:
        raise DiffmgError(f"a table of predictions is written as .csv or .parquet, but got {str(out)!r}")
    if out.exists() and not overwrite:
        raise DiffmgError(
            f"a table of predictions is a new file, but got {str(out)!r}, which exists already; "
            "choose another name, or replace it with --overwrite"
        )
    return lambda table: write_atomically(out, lambda path: kinds[out.suffix](table, path))


def _parts(table: pa.Table) -> dict[str, dict[str, Any]]:
    """Rows, entities and the mean label of each part."""
    import pyarrow.compute as pc

    entity, _, label, split = table.column_names
    found = {}
    for part in ("train", "val", "test"):
        rows = table.filter(pc.equal(table.column(split), part))
        who, mean = len(pc.unique(rows.column(entity))), pc.mean(rows.column(label)).as_py()
        found[part] = {"predictions": rows.num_rows, "entities": who, "mean label": mean}
    return found


def _summary(parts: Mapping[str, Mapping[str, Any]]) -> Table:
    shown = Table("part", "predictions", "entities", "mean label", title="predictions", title_justify="left")
    for part, of in parts.items():
        mean = of["mean label"]
        shown.add_row(part, str(of["predictions"]), str(of["entities"]), "-" if mean is None else f"{mean:.4g}")
    return shown
