"""JSON Lines files: one record per line, read completely and rewritten atomically."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from diffmg.core.errors import DiffmgError
from diffmg.core.files import make_folder, read_text, write_text


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The records of a file; none if it does not exist."""
    text = read_text(path, "a file of JSON lines") if path.exists() else ""
    records = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise DiffmgError(f"every line must be JSON, but got line {number} of {str(path)!r}: {error}") from error
        if not isinstance(record, dict):
            raise DiffmgError(f"every line must be an object, but got {record!r} in line {number} of {str(path)!r}")
        records.append(record)
    return records


def write_lines(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """Overwrite the file with these records, one per line."""
    make_folder(path.parent)
    lines = (json.dumps(record, ensure_ascii=False, separators=(",", ":")) for record in records)
    write_text(path, "".join(line + "\n" for line in lines))
