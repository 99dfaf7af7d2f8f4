"""Reads data files; one that is not what it should be is named in the error."""

import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
from numpy.typing import NDArray

from diffmg.core import DiffmgError


def read_npz(path: Path, keys: Iterable[str] = ()) -> dict[str, NDArray[Any]]:
    """All arrays of an npz file, which must have these keys; pickled objects are refused."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            data = {key: file[key] for key in file.files}
    except (OSError, ValueError, EOFError, KeyError, AttributeError, zipfile.BadZipFile) as error:
        raise DiffmgError(f"a data file must be npz without pickled objects, but got {str(path)!r}: {error}") from error
    missing = [key for key in keys if key not in data]
    if missing:
        raise DiffmgError(f"the data file {str(path)!r} must hold the arrays {missing}, but got {sorted(data)}")
    return data


def read_columns(path: Path, delimiter: str, count: int) -> NDArray[np.int64]:
    """The first columns of gzip-packed text, which must be whole numbers, as rows."""
    head, cut = csv.ReadOptions(autogenerate_column_names=True), csv.ParseOptions(delimiter=delimiter)
    try:
        with path.open("rb") as raw, pa.CompressedInputStream(pa.PythonFile(raw), "gzip") as stream:
            table = csv.read_csv(stream, read_options=head, parse_options=cut)
        columns = [table.column(i) for i in range(count)]
    except (OSError, IndexError, pa.ArrowInvalid) as error:
        raise DiffmgError(
            f"a data file must be gzip-packed rows of {count} or more columns, but got {str(path)!r}: {error}"
        ) from error
    for column in columns:
        if not pa.types.is_integer(column.type) or column.null_count:
            raise DiffmgError(
                f"columns must be whole numbers, but got {column.type} with {column.null_count} gaps in {str(path)!r}"
            )
    return np.stack([column.to_numpy().astype(np.int64) for column in columns])
