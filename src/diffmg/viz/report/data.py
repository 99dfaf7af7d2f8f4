"""The data in a glance: what there is, how it was split, what was done to it, and what may know the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diffmg.core import Run
from diffmg.core.run import shown
from diffmg.viz.report.html import Section, bullets, folded, paragraph, table
from diffmg.viz.report.words import count

LEAK = "leak: "
SHOWN = 12


def data(run: Run) -> Section:
    """Types, split, notes."""
    leaks = [note for note in run.notes if note.startswith(LEAK)]
    rest = [note for note in run.notes if not note.startswith(LEAK)]
    body = _guard(leaks) + f'<div class="charts"><div>{_types(run)}</div><div>{_split(run)}</div></div>'
    return Section("data", "What are the data?", body + _relations(run) + _notes(rest), "Data")


def _guard(leaks: Sequence[str]) -> str:
    if not leaks:
        return paragraph("No column, relation or duplicate was noted that may know the answer.", kind="note")
    lines = "".join(paragraph(leak, kind="warn") for leak in leaks)
    return paragraph("The leak guard found what may know the answer:") + lines


def _types(run: Run) -> str:
    nodes: Mapping[str, int] = run.data.facts.get("nodes", {})
    edges: Mapping[str, int] = run.data.facts.get("edges", {})
    if not nodes:
        return ""
    rows = [[f"{t} (predicted)" if t in run.data.target_types else t, count(n)] for t, n in nodes.items()]
    total = f"{count(sum(nodes.values()))} nodes of {len(nodes)} types, {count(sum(edges.values()))} edges"
    return table(["node type", "nodes"], rows, total)


def _split(run: Run) -> str:
    labels: Mapping[str, Mapping[str, float]] = run.data.facts.get("labels", {})
    names = list(dict.fromkeys(name for part in labels.values() for name in part))
    if not names:
        return ""
    rows = [[name, *(_cell(labels[part].get(name)) for part in labels)] for name in names[:SHOWN]]
    if len(names) > SHOWN:
        rest = [sum(labels[part].get(name, 0) for name in names[SHOWN:]) for part in labels]
        rows.append([f"{len(names) - SHOWN} more", *map(_cell, rest)])
    words = {"train": "training", "val": "validation"}
    return table(["", *(words.get(part, part) for part in labels)], rows, "What is known, by part of the split")


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return count(value) if float(value).is_integer() else shown(value)


def _relations(run: Run) -> str:
    edges: Mapping[str, int] = run.data.facts.get("edges", {})
    rows = [[name, count(number)] for name, number in edges.items()]
    if not rows or run.metagraphs:  # they are listed beside the picture
        return ""
    return folded(f"{len(rows)} relations", table(["relation", "edges"], rows, "Relations of the network"))


def _notes(notes: Sequence[str]) -> str:
    return folded(f"{len(notes)} notes on how columns and relations were read", bullets(notes))
