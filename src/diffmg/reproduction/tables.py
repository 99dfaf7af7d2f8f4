"""Tables of what came out beside the paper's figures: for the terminal, as Markdown, as HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from diffmg.reproduction.spec import Reproduction
from diffmg.run import Run

MISSING = "-"
Runs = Mapping[tuple[str, str], Run]
"""By method and data set."""


@dataclass(frozen=True)
class Row:
    """A method: per data set what came out and what the paper says."""

    method: str
    cells: tuple[tuple[str, str], ...]
    note: str = ""


def rows_of(table: Reproduction, runs: Runs) -> list[Row]:
    """A row per method, in the order of the plan file."""
    cell: Callable[[Run], str] = _cost if table.kind == "cost" else _score
    rows = []
    for method in table.methods:
        found = [runs.get((method.name, data)) for data in table.data]
        ours = [MISSING if run is None else cell(run) for run in found]
        theirs = [_paper(table.paper.get(method.name, {}).get(data)) for data in table.data]
        rows.append(Row(method.name, tuple(zip(ours, theirs, strict=True)), method.note))
    return rows


def _score(run: Run) -> str:
    """Mean ± standard deviation of the test score in percent, number of seeds, spread of the search."""
    spread = f" ± {100 * run.std('test'):.2f}" if len(run.trained) > 1 else ""
    text = f"{100 * run.mean('test'):.2f}{spread} ({len(run.trained)})"
    if len(run.candidates) > 1:
        scores = [100 * c.val_score for c in run.candidates]
        text += f", searches {min(scores):.1f} to {max(scores):.1f} on validation"
    return text


def _cost(run: Run) -> str:
    """Mean seconds of a search and of a training."""
    search = [s for phase, s in run.seconds.items() if phase.startswith("search")]
    training = [s for phase, s in run.seconds.items() if phase.startswith(("train", "repeat"))]
    parts = [f"{sum(p) / len(p):.2f} s" for p in (search, training) if p]
    return " search, ".join(parts) + (" training" if training else "")


def _paper(figure: Any) -> str:
    if figure is None:
        return MISSING
    return " ± ".join(f"{number:.2f}" for number in figure) if isinstance(figure, list) else str(figure)


def heads(table: Reproduction) -> list[str]:
    """Heads of the columns."""
    return ["method", *(f"{data}{what}" for data in table.data for what in ("", ", paper"))]


def cells(row: Row) -> list[str]:
    """A row as text."""
    return [row.method, *(text for pair in row.cells for text in pair)]


def markdown(table: Reproduction, rows: Sequence[Row]) -> str:
    """A Markdown table with its notes."""
    lines = ["| " + " | ".join(heads(table)) + " |", "|---|" + "---:|" * (2 * len(table.data))]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells(row)) + " |" for row in rows]
    notes = [f"- {row.method}: {row.note}" for row in rows if row.note]
    return "\n".join([*lines, *([""] if notes else []), *notes]) + "\n"


def html(table: Reproduction, rows: Sequence[Row]) -> str:
    """A page that needs nothing else."""
    style = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem}td,th{padding:.25rem .9rem .25rem 0;text-align:left}"
    head = "".join(f"<th>{escape(h)}</th>" for h in heads(table))
    body = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in cells(row)) + "</tr>" for row in rows)
    notes = "".join(f"<p>{escape(row.method)}: {escape(row.note)}</p>" for row in rows if row.note)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(table.title)}</title>'
        f"<style>{style}</style></head><body><h1>{escape(table.title)}</h1>"
        f"<table><tr>{head}</tr>{body}</table>{notes}</body></html>\n"
    )


FORMS: Mapping[str, Callable[[Reproduction, Sequence[Row]], str]] = {"md": markdown, "html": html}
