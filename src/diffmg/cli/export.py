"""The command that writes a network out as tables."""

from pathlib import Path
from typing import Annotated

import typer

from diffmg.cli import common, output
from diffmg.cli.common import say


def export(
    name: common.Name,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder for the tables.")],
    target: common.Target = None,
    as_of: common.AsOf = None,
    on_unknown: common.OnUnknown = None,
    data_root: common.DataRoot = None,
    data_seed: common.DataSeed = 0,
) -> output.Value:
    """Write a network and its task as Parquet files with a description, to be read again by `fit`."""
    from diffmg.runs.sources import open_problem
    from diffmg.tables.export import export_tables

    source = common.source(name, target, as_of, on_unknown, data_seed)
    written = export_tables(open_problem(source, root=data_root), folder)
    say(f"written to {written}")
    return {"written": written}
