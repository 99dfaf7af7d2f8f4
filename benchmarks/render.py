"""The tables of speed in README.md and docs/performance.md, filled in from the result files."""

from __future__ import annotations

from pathlib import Path

from benchmarks.documents import fill, update
from benchmarks.speed_tables import TABLES

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("README.md", "docs/performance.md")


def render_documents(check: bool, root: Path = ROOT) -> list[Path]:
    """Update the documents (with `check`, only compare); returns the outdated ones."""
    paths = [root / name for name in DOCUMENTS]
    return update({path: fill(path.read_text(encoding="utf-8"), TABLES) for path in paths}, check)
