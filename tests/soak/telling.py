"""The table of what happened to runs, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fuzz.telling import table
from soak.trial import Happened


def rows_of(happened: Sequence[Happened]) -> list[dict[str, Any]]:
    """For each fault and work, how often it happened, and how often the run came to the same end."""
    keys = dict.fromkeys((h.fault, h.work) for h in happened)
    found = []
    for fault, work in keys:
        those = [h for h in happened if (h.fault, h.work) == (fault, work)]
        hit = [h for h in those if h.hit or h.problems]
        same = sum(not h.problems for h in hit)
        found.append({"fault": fault, "of": work, "times": len(hit), "same": same, "missed": len(those) - len(hit)})
    return found


def soak_table(found: Mapping[str, Any]) -> str:
    """Faults by the command that they happened to."""
    rows = [[r["fault"], r["of"], r["times"], r["same"]] for r in found["rows"]]
    times, same = (sum(r[name] for r in found["rows"]) for name in ("times", "same"))
    lines = table(["what happened", "to", "times", "same result in the end"], [*rows, ["together", "", times, same]])
    return f"{lines}\n\n`{found['command']}`"


def flat_table(found: Mapping[str, Any]) -> str:
    """Memory and open files after so many fits in one process."""
    rows = [[r["fits"], f"{r['bytes'] / 2**20:.1f}", r["files"]] for r in found["rows"]]
    return f"{table(['fits', 'MiB in use', 'open files'], rows)}\n\n`{found['command']}`"


def recommend_table(found: Mapping[str, Any]) -> str:
    """Memory before and while many are answered."""
    cells = [
        f"{found['users']:,}",
        f"{found['items']:,}",
        f"{found['base'] / 2**20:.0f}",
        f"{found['peak'] / 2**20:.0f}",
    ]
    row = [*(cell.replace(",", " ") for cell in cells), f"{100 * (found['peak'] / found['base'] - 1):.1f} %"]
    heads = ["users", "items", "MiB before", "MiB at most", "more"]
    return f"{table(heads, [row])}\n\n`{found['command']}`"
