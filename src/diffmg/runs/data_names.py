"""What to do with a path that was given where a data set's name was expected."""

from __future__ import annotations

from pathlib import Path

from diffmg.core import DiffmgError
from diffmg.core.files import is_file_name


def check_no_tables(name: str) -> None:
    """Raise if a name is that of a folder, or of a file with one table, and of no data set."""
    from diffmg.datasets import DATASETS

    path = Path(name)
    if name.partition(":")[0].partition("@")[0] in DATASETS.names():
        return
    if path.is_dir():
        raise DiffmgError(
            f"a folder of tables needs a column to predict, but got {name!r} without one; "
            f"add --target TABLE.COLUMN, where TABLE is a file's name without its ending"
        )
    if is_file_name(name):
        raise DiffmgError(
            f"one table is no network, but got {name!r}; give the folder that it is in, with "
            f"--target {path.name.partition('.')[0]}.COLUMN, or a description of tables (.toml)"
        )
