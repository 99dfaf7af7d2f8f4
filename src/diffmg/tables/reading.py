"""Tables from files and from anything that speaks Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet

from diffmg.errors import DiffmgError, unknown

DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
MAGIC = {".parquet": b"PAR1", ".gz": b"\x1f\x8b", ".bz2": b"BZh", ".zst": b"\x28\xb5\x2f\xfd"}


def read_table(path: Path, encoding: str = "utf8") -> pa.Table:
    """Read CSV, TSV or Parquet, packed or not, by the ending of the file's name."""
    kind = path.suffixes[-2] if path.suffix in PACKED and len(path.suffixes) > 1 else path.suffix
    if kind not in (*DELIMITERS, ".parquet"):
        raise unknown(f"ending of the file {path.name!r}:", kind, (*DELIMITERS, ".parquet"))
    _check_content(path)
    try:
        table = parquet.read_table(path) if kind == ".parquet" else _read_csv(path, DELIMITERS[kind], encoding)
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError, LookupError, UnicodeError) as error:
        raise DiffmgError(
            f"{str(path)!r} must be a whole table in {encoding}, but got: {error}; "
            "check that every row has as many columns as the head, or set `encoding`"
        ) from error
    if not table.num_rows:
        raise DiffmgError(f"a table must have rows, but got none in {str(path)!r}")
    return table


def as_table(given: Any, what: str) -> pa.Table:
    """Anything that speaks the Arrow stream protocol (pandas, polars, Arrow), or a mapping of columns, as a table."""
    if isinstance(given, pa.Table):
        return given
    try:
        if hasattr(given, "__arrow_c_stream__"):
            return pa.table(given)
        if isinstance(given, Mapping):
            return pa.table({str(name): pa.array(column) for name, column in given.items()})
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
        raise DiffmgError(f"the table of {what} must have plain columns of one length, but got: {error}") from error
    raise DiffmgError(f"the table of {what} must speak Arrow or map names to columns, but got {type(given).__name__}")


def column(table: pa.Table, name: str, what: str) -> pa.ChunkedArray:
    """A column by name; an unknown one raises with the nearest."""
    if name not in table.column_names:
        raise unknown(f"column of {what}:", name, table.column_names)
    return table.column(name)


def key_column(table: pa.Table, names: Sequence[str], what: str) -> pa.ChunkedArray:
    """A column of ids; several columns become one text each row, joined by '/', missing where one of them is."""
    columns = [column(table, name, what) for name in names]
    if len(columns) == 1:
        return _decoded(columns[0])
    texts = [c.cast(pa.string()) for c in columns]
    return pa.compute.binary_join_element_wise(*texts, "/", null_handling="emit_null")


def _decoded(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_large_string(values.type) or pa.types.is_string_view(values.type):
        values = values.cast(pa.string())
    if pa.types.is_integer(values.type):
        values = values.cast(pa.int64())
    return values


def _read_csv(path: Path, delimiter: str, encoding: str) -> pa.Table:
    with pa.input_stream(str(path), compression=PACKED.get(path.suffix)) as stream:
        return csv.read_csv(
            stream,
            read_options=csv.ReadOptions(encoding=encoding),
            parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(strings_can_be_null=True),
        )


def _check_content(path: Path) -> None:
    """The first bytes must agree with the ending."""
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except FileNotFoundError as error:
        raise DiffmgError(f"a table must be a file, but got none at {str(path)!r}") from error
    except OSError as error:
        raise DiffmgError(
            f"a table must be a file that can be read, but got {str(path)!r}: {error.strerror}"
        ) from error
    if not head:
        raise DiffmgError(f"a table must have a head and rows, but got an empty file: {str(path)!r}")
    wanted = MAGIC.get(path.suffix)
    found = next((ending for ending, magic in MAGIC.items() if head.startswith(magic)), None)
    if (wanted is not None and not head.startswith(wanted)) or (wanted is None and found is not None):
        looks = f"the start of {found!r}" if found else f"{head!r}"
        raise DiffmgError(
            f"the content of {path.name!r} must be what its ending says, but got {looks}; rename the file"
        )
