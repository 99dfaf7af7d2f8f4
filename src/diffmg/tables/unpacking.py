"""Limits of what a file of a table becomes in memory, checked before it is read."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet

from diffmg.core import DiffmgError
from diffmg.core.limits import CELLS, SMALL_BYTES, UNPACKED_BYTES, UNPACKED_RATIO

STEP = 2**22
"""Bytes unpacked at a time."""


def check_unpacked(path: Path, packing: str) -> None:
    """Raise if a compressed file becomes too large, or grows as only a file made for that does."""
    most = min(UNPACKED_BYTES, max(SMALL_BYTES, UNPACKED_RATIO * path.stat().st_size))
    size = 0
    with pa.input_stream(str(path), compression=packing) as stream:
        while found := len(stream.read(STEP)):
            size += found
            if size > most:
                raise DiffmgError(
                    f"a file of {path.stat().st_size} bytes must unpack to at most {most}, but got more in "
                    f"{str(path)!r}; if it is really so large, unpack it first"
                )


def check_cells(file: parquet.ParquetFile, path: Path) -> None:
    """Raise if a Parquet file says that it holds more than can be read."""
    about = file.metadata
    size = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    if size > UNPACKED_BYTES or about.num_rows * max(1, about.num_columns) > CELLS:
        raise DiffmgError(
            f"a table must have at most {CELLS} cells and {UNPACKED_BYTES} bytes, but got {about.num_rows} rows of "
            f"{about.num_columns} columns and {size} bytes in {str(path)!r}"
        )
