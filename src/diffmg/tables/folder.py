"""A folder of tables (CSV, TSV, Parquet) as a database: in memory, by DuckDB, read in the same way as single files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from diffmg.core import DiffmgError
from diffmg.core.files import is_file_name
from diffmg.tables.reading import read_table

if TYPE_CHECKING:
    from sqlalchemy import Engine


def files_of(folder: Path) -> dict[str, Path]:
    """The tables of a folder by name, that of the file without its endings."""
    found: dict[str, Path] = {}
    for path in sorted(p for p in folder.iterdir() if p.is_file() and is_file_name(p.name)):
        name = path.name.split(".")[0]
        if name in found:
            raise DiffmgError(
                f"every table of a folder needs a name of its own, but got {found[name].name!r} and {path.name!r} "
                f"in {str(folder)!r}; rename one"
            )
        found[name] = path
    if not found:
        raise DiffmgError(f"a folder of tables has files .csv, .tsv, .txt or .parquet, but got none in {str(folder)!r}")
    return found


def folder_engine(folder: Path) -> Engine:
    """A database in memory with the tables of a folder."""
    from sqlalchemy import StaticPool, create_engine

    tables = {name: read_table(path) for name, path in files_of(folder).items()}
    options = {"config": {"autoinstall_known_extensions": False}}
    engine = create_engine("duckdb:///:memory:", connect_args=options, poolclass=StaticPool)
    with engine.connect() as connection:
        quote, driver = connection.dialect.identifier_preparer.quote, connection.connection.driver_connection
        for name, table in tables.items():
            driver.register("table_to_copy", table)  # type: ignore[union-attr]
            driver.execute(f"CREATE TABLE {quote(name)} AS SELECT * FROM table_to_copy")  # type: ignore[union-attr]
            driver.unregister("table_to_copy")  # type: ignore[union-attr]
    return engine


def name_in(address: str, file: str) -> str:
    """The name of a file as a table of a folder; else the file."""
    folder, path = Path(address), Path(file)
    inside = "://" not in address and folder.is_dir() and path.resolve().parent == folder.resolve()
    return path.name.split(".")[0] if inside and is_file_name(file) else file
