"""Reads tables from files and Arrow-compatible objects."""

from collections.abc import Sequence
from csv import reader
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as parquet

from diffmg.core import DiffmgError, unknown
from diffmg.core.arrow import as_frame, checked_table, plain
from diffmg.core.steps import step
from diffmg.tables.unpacking import check_cells, check_unpacked

DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
OTHERS = (",", ";", "\t", "|")
"""Delimiters to try if the header does not contain the usual one."""
PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
MAGIC = {".parquet": b"PAR1", ".gz": b"\x1f\x8b", ".bz2": b"BZh", ".zst": b"\x28\xb5\x2f\xfd"}
MAGIC |= {".xlsx": b"PK\x03\x04", ".sqlite": b"SQLi"}
KEYS = ("string", "integer", "floating", "decimal", "boolean", "date", "timestamp", "null")
"""Arrow types allowed for ids."""
GUESSED = {b"types": b"guessed"}
"""Metadata of tables read from text, whose column types are inferred."""
NOTES = b"notes"
"""Metadata of tables with notes on how they were read."""


def read_table(path: Path | str, encoding: str = "utf8", names: Sequence[str] = ()) -> pa.Table:
    """Read CSV, TSV or Parquet, optionally compressed, by its ending; `names` are those of a text without a head."""
    path = Path(path)
    endings = [ending.lower() for ending in path.suffixes]
    packing = PACKED.get(endings.pop()) if endings and endings[-1] in PACKED else None
    kind = endings[-1] if endings else ""
    if kind not in (*DELIMITERS, ".parquet"):
        raise unknown(f"ending of the file {path.name!r}:", kind, (*DELIMITERS, ".parquet"))
    _check_content(path)
    step(f"reading {path.name}")
    try:
        if packing is not None:
            check_unpacked(path, packing)
        if kind == ".parquet":
            table = _read_parquet(path, packing)
            table.validate(full=True)  # a damaged file may hold text that is none
        else:
            table = _read_text(path, packing, DELIMITERS[kind], encoding, names)
    except (pa.ArrowException, OSError, LookupError, UnicodeError) as error:
        raise DiffmgError(
            f"{str(path)!r} must be a whole table in {encoding}, but got: {error}; "
            "check that every row has as many columns as the head, or set `encoding`"
        ) from error
    if not table.num_rows:
        raise DiffmgError(f"a table must have rows, but got none in {str(path)!r}")
    return checked_table(table, repr(path.name))


def as_table(given: Any, what: str) -> pa.Table:
    """A table from an object with the Arrow stream protocol (pandas, polars, Arrow) or a mapping of columns."""
    return as_frame(given, what)


def column(table: pa.Table, name: str, what: str) -> pa.ChunkedArray:
    """A column by name; an unknown name raises an error that suggests the nearest."""
    if table.schema.get_field_index(name) < 0:
        raise unknown(f"column of {what}:", name, table.column_names)
    return table.column(name)


def key_column(table: pa.Table, names: Sequence[str], what: str) -> pa.ChunkedArray:
    """A column of ids; several columns are joined by '/' to text, missing if any of them is.

    A '/' or a backslash within a value gets a backslash before it, so that different keys never become the same text.
    """
    columns = [plain(column(table, name, what)) for name in names]
    for name, values in zip(names, columns, strict=True):
        if not any(getattr(pa.types, f"is_{kind}")(values.type) for kind in KEYS):
            raise DiffmgError(f"ids in column {name!r} of {what} must be text or whole numbers, but got {values.type}")
    if len(columns) == 1:
        return columns[0]
    texts = (pc.replace_substring_regex(c.cast(pa.string()), r"([/\\])", r"\\\1") for c in columns)
    return pc.binary_join_element_wise(*texts, "/", null_handling="emit_null")


def first_bytes(path: Path, what: str, content: str) -> bytes:
    """The first 16 bytes of a file, which must be readable and not empty."""
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        raise DiffmgError(f"{what} must be a file that can be read, but got {str(path)!r}: {error.strerror}") from error
    if not head:
        raise DiffmgError(f"{what} must have {content}, but got an empty file: {str(path)!r}")
    return head


def with_notes(table: pa.Table, notes: Sequence[str]) -> pa.Table:
    """The table with notes on how it was read, for the notes of the network."""
    return table.replace_schema_metadata({**(table.schema.metadata or {}), NOTES: "\n".join(notes).encode()})


def notes_of(table: pa.Table) -> list[str]:
    """Notes on how a table was read."""
    written: bytes = (table.schema.metadata or {}).get(NOTES, b"")
    return written.decode().splitlines()


def is_guessed(table: pa.Table) -> bool:
    """Whether the table was read from text, so that integer columns may really be strings."""
    return GUESSED.items() <= (table.schema.metadata or {}).items()


def first_row(path: Path, encoding: str = "utf8") -> list[str] | None:
    """The cells of the first line of a text file, its head if it has one; None for other files."""
    endings = [ending.lower() for ending in path.suffixes]
    packing = PACKED.get(endings.pop()) if endings and endings[-1] in PACKED else None
    if not endings or endings[-1] not in DELIMITERS:
        return None
    _check_content(path)
    delimiter = _delimiter(path, packing, DELIMITERS[endings[-1]], encoding)
    with pa.input_stream(str(path), compression=packing) as stream:
        lines = stream.read(2**16).decode(encoding, errors="replace").removeprefix("\ufeff").splitlines()
    return next(reader(lines[:1], delimiter=delimiter), [])


def _read_parquet(path: Path, packing: str | None) -> pa.Table:
    with pa.input_stream(str(path), compression=packing) as stream:
        file = parquet.ParquetFile(pa.BufferReader(stream.read_buffer()) if packing else path)
        check_cells(file, path)
        return file.read()


def _read_text(path: Path, packing: str | None, usual: str, encoding: str, names: Sequence[str]) -> pa.Table:
    """A table from text; column types are inferred, unless that would change a value."""
    delimiter = _delimiter(path, packing, usual, encoding)
    parsing = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)

    def read(**given: Any) -> pa.Table:
        """Read with these conversion options."""
        convert = csv.ConvertOptions(strings_can_be_null=True, **given)
        with pa.input_stream(str(path), compression=packing) as stream:
            reading = csv.ReadOptions(encoding=encoding, column_names=list(names) or None)
            return csv.read_csv(stream, reading, parsing, convert)

    table = checked_table(read(), repr(path.name))
    broken = [field.name for field in table.schema if pa.types.is_binary(field.type)]
    if broken:
        raise UnicodeError(f"bytes that are no {encoding} in the columns {broken}")
    if patterns := _codes(table):
        texts = read(include_columns=list(patterns), column_types=dict.fromkeys(patterns, pa.string()))
        for name, pattern in patterns.items():
            if pc.any(pc.match_substring_regex(texts.column(name), pattern)).as_py():
                table = table.set_column(table.column_names.index(name), name, texts.column(name))
    return table.replace_schema_metadata(GUESSED)


def _codes(table: pa.Table) -> dict[str, str]:
    """Numeric columns that may be codes, with a pattern for values that numbers cannot represent exactly.

    Codes such as 007 would lose their leading zeros, and codes of twenty digits their last digits.
    """
    patterns = {}
    for field in table.schema:
        if pa.types.is_integer(field.type):
            patterns[field.name] = "^-?0[0-9]"
        elif pa.types.is_floating(field.type) and (pc.max(pc.abs(table.column(field.name))).as_py() or 0) >= 2**53:
            patterns[field.name] = "^-?[0-9]{16,}$"
    return patterns


def _delimiter(path: Path, packing: str | None, usual: str, encoding: str) -> str:
    """The usual delimiter, or another one if the header has only that."""
    with pa.input_stream(str(path), compression=packing) as stream:
        head = stream.read(2**16).decode(encoding, errors="replace").partition("\n")[0]
    return usual if usual in head else next((d for d in OTHERS if d in head), usual)


def _check_content(path: Path) -> None:
    """The first bytes must match the file extension."""
    if not path.exists():
        raise DiffmgError(f"a table must be a file, but got none at {str(path)!r}")
    head = first_bytes(path, "a table", "a head and rows")[:4]
    wanted = MAGIC.get(path.suffix.lower())
    found = next((ending for ending, magic in MAGIC.items() if head.startswith(magic)), None)
    if (wanted is not None and not head.startswith(wanted)) or (wanted is None and found is not None):
        looks = f"the start of {found!r}" if found else repr(head)
        raise DiffmgError(
            f"the content of {path.name!r} must be what its ending says, but got {looks}; rename or convert the file"
        )
