"""Answers in files: CSV, Parquet or JSON lines by the ending, written block by block and renamed when complete."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet

from diffmg.core import DiffmgError, unknown
from diffmg.core.files import write_atomically
from diffmg.tasks.answers import Answers

Writer = Callable[[Path, Iterable[Answers]], None]


def write_answers(path: Path | str, blocks: Iterable[Answers], *, safe_cells: bool = False) -> int:
    """Write blocks of answers with the same columns; returns the number of rows.

    `safe_cells`: as in `Answers.to_csv`. A path without an ending is CSV.
    """
    path, rows = Path(path), 0
    check_ending(path, safe_cells=safe_cells)

    def counted() -> Iterable[Answers]:
        nonlocal rows
        for block in blocks:
            rows += len(block)
            yield block

    write = _csv(safe_cells) if path.suffix.lower() in ("", ".csv") else WRITERS[path.suffix.lower()]
    write_atomically(path, lambda temporary: write(temporary, counted()))
    return rows


def check_ending(path: Path | str, *, safe_cells: bool = False) -> None:
    """Raise unless answers can be written to a file of this name: to be called before they are computed."""
    ending = Path(path).suffix.lower()
    if ending not in ("", ".csv", *WRITERS):
        raise unknown("ending of a file of answers:", ending, (".csv", *WRITERS))
    if safe_cells and ending in WRITERS:
        raise DiffmgError(f"safe cells are for CSV, which spreadsheets open, but got a file that ends with {ending!r}")


def csv_lines(blocks: Iterable[Answers], *, safe_cells: bool = False) -> Iterable[str]:
    """The text of a CSV file, block by block."""
    for number, block in enumerate(blocks):
        yield block.to_csv(head=not number, safe_cells=safe_cells)


def _csv(safe_cells: bool) -> Writer:
    def write(path: Path, blocks: Iterable[Answers]) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            file.writelines(csv_lines(blocks, safe_cells=safe_cells))

    return write


def _json_lines(path: Path, blocks: Iterable[Answers]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        for block in blocks:
            names = [*block.columns]
            for row in block.rows():
                cells = dict(zip(names, map(_json_cell, row), strict=True))
                file.write(json.dumps(cells, ensure_ascii=False, default=str) + "\n")


def _json_cell(value: Any) -> Any:
    """JSON has no number that is not finite: null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _parquet(path: Path, blocks: Iterable[Answers]) -> None:
    writer = None
    try:
        for block in blocks:
            table = block.to_arrow()
            writer = writer or parquet.ParquetWriter(path, table.schema)
            writer.write_table(table.cast(writer.schema))
    finally:
        if writer is not None:
            writer.close()


WRITERS: Mapping[str, Writer] = {".parquet": _parquet, ".jsonl": _json_lines}
"""What writes a file, by its ending; `.csv` apart, which has an option."""
