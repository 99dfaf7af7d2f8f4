"""Result files: JSON with one line per field, so that files are short and easy to diff."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from diffmg.core.codec import read_json
from diffmg.core.files import make_folder, write_text

RESULTS = Path(__file__).parent / "results"


def write_result(path: Path, result: Mapping[str, Any]) -> None:
    """Write a result file atomically; its folder is created if missing."""
    lines = (f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in result.items())
    make_folder(path.parent)
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")


def read_result(path: Path) -> dict[str, Any]:
    """Read a result file."""
    found: dict[str, Any] = read_json(path, "a result file")
    return found
