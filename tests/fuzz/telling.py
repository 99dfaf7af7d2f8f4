"""Tables of what a campaign and the faults gave, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fuzz.case import OUTCOMES

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[2] / "docs" / "trust.md"


def campaign_table(found: Mapping[str, Any]) -> str:
    """Inputs by outcomes, with sums."""
    rows = [[name.replace("_", " "), *(counts[o] for o in OUTCOMES)] for name, counts in found["counts"].items()]
    rows.append(["together", *(sum(row[i] for row in rows) for i in range(1, len(OUTCOMES) + 1))])
    return f"{table(['input', *OUTCOMES], rows)}\n\n`{found['command']}`"


def mutants_table(found: Mapping[str, Any]) -> str:
    """Faults, and after how many cases of which input each was found."""
    rows = [
        [m["fault"], m["input"].replace("_", " ") if m["input"] else "not found", m["tried"]] for m in found["mutants"]
    ]
    return f"{table(['fault', 'found by', 'cases'], rows)}\n\n`{found['command']}`"


def table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table in Markdown; the first column is text."""
    lines = [[*heads], ["---", *["---:"] * (len(heads) - 1)], *([str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def filled(page: str, name: str, text: str) -> str:
    """The page with a text between the marks of a name."""
    start, end = f"<!-- fuzz: {name} -->", f"<!-- end: {name} -->"
    return re.sub(f"{start}.*?{end}", lambda _: f"{start}\n{text}\n{end}", page, flags=re.DOTALL)
