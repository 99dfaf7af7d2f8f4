"""Markdown tables of results next to the paper's figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from experiments.cells import Cell
from experiments.spec import Row, Table

MISSING = "-"
Cells = Mapping[tuple[str, str], Cell]
"""By row and data set."""


@dataclass(frozen=True)
class Sheet:
    """A table of text."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def markdown(self) -> str:
        """A Markdown table with its notes."""
        lines = [f"**{self.title}**", ""] if self.title else []
        lines += [_line(self.heads), "|---|" + "---:|" * (len(self.heads) - 1), *map(_line, self.rows)]
        notes = [f"- {note}" for note in self.notes]
        return "\n".join([*lines, *([""] if notes else []), *notes]) + "\n"


def markdown(table: Table, cells: Cells) -> str:
    """The table itself and, for several searches, the spread of their scores."""
    return "\n".join(sheet.markdown() for sheet in sheets(table, cells))


def sheets(table: Table, cells: Cells) -> list[Sheet]:
    """The same as text tables."""
    return [_figures(table, cells), *_spread(table, cells)]


def percent(cell: Cell) -> str:
    """Mean ± standard deviation of the test score in percent."""
    return f"{100 * cell.mean:.2f}" + (f" ± {100 * cell.std:.2f}" if len(cell.test) > 1 else "")


def search_seconds(row: Row, cell: Cell) -> float:
    """Seconds of one search, extrapolated if only a part was run; 0 without a search."""
    return row.scale * cell.median_seconds("search")


def plus_minus(figure: Sequence[float]) -> str:
    """A figure of the paper, in percent already."""
    return " ± ".join(f"{number:.2f}" for number in figure)


def _figures(table: Table, cells: Cells) -> Sheet:
    """One line per row, in the order of the plan file, with the paper's figure next to ours if there is one."""
    compared = bool(table.paper or table.reruns)
    shown: Callable[[Row, Cell], str] = _cost if table.kind == "cost" else lambda _row, cell: percent(cell)
    lines = []
    for row in table.methods:
        found = [cells.get((row.name, data)) for data in table.data]
        seeds = sorted({len(cell.test) for cell in found if cell is not None})
        line = [row.name, " to ".join(map(str, dict.fromkeys([*seeds[:1], *seeds[-1:]]))) or MISSING]
        for data, cell in zip(table.data, found, strict=True):
            line.append(MISSING if cell is None else shown(row, cell))
            line += [_theirs(table, row.name, data)] if compared else []
        lines.append(tuple(line))
    columns = ("", ", paper") if compared else ("",)
    heads = ("method", "seeds", *(f"{data}{what}" for data in table.data for what in columns))
    notes = [f"{row.name}: {row.note}" for row in table.methods if row.note]
    return Sheet(table.title, heads, tuple(lines), (*notes, *_remarks(table, cells)))


def _cost(row: Row, cell: Cell) -> str:
    """Seconds of a search, or of a training if there was no search."""
    search, training = search_seconds(row, cell), cell.median_seconds("train", "repeat")
    return f"{'≈ ' if row.scale != 1 else ''}{search:.2f} s" if search else f"{training:.2f} s training"


def _theirs(table: Table, row: str, data: str) -> str:
    """The paper's figure, and those of others who reproduced the method."""
    figure = table.paper.get(row, {}).get(data)
    parts = [] if figure is None else [_minutes(figure) if table.kind == "cost" else plus_minus(figure)]
    parts += [f"{who} {rows[row][data]:.2f}" for who, rows in table.reruns.items() if data in rows.get(row, {})]
    return ", ".join(parts) or MISSING


def _minutes(figure: Sequence[float]) -> str:
    """Total minutes, and in parentheses those for λ, the weights of the candidates."""
    return f"{figure[0]:g}{''.join(f' ({part:g})' for part in figure[1:])} min"


def _remarks(table: Table, cells: Cells) -> Iterator[str]:
    """How settings were tuned, the devices and, for costs, whether methods rank as in the paper."""
    if table.tuned:
        tuning = table.tuning
        again = f", the best {tuning.finalists} of them {tuning.trainings} times" if tuning.trainings > 1 else ""
        yield f"tuned rows: {tuning.budget} settings trained for each data set{again}; validation chose"
    yield from devices(cells)
    if table.kind != "cost":
        return
    for data in table.data:
        ours = {r.name: search_seconds(r, cells[r.name, data]) for r in table.methods if (r.name, data) in cells}
        names = [name for name, seconds in ours.items() if seconds and data in table.paper.get(name, {})]
        mine, paper = sorted(names, key=lambda n: ours[n]), sorted(names, key=lambda n: table.paper[n][data][0])
        word = "as in the paper" if mine == paper else f"in the paper {' < '.join(paper)}"
        if len(names) > 1:
            yield f"order on {data}: {' < '.join(mine)}, {word}"


def devices(cells: Cells) -> Iterator[str]:
    """The device of most cells, then the others, each with its cells."""
    devices: dict[str, list[tuple[str, str]]] = {}
    for where, cell in cells.items():
        devices.setdefault(cell.device, []).append(where)
    for number, device in enumerate(sorted(devices, key=lambda d: -len(devices[d]))):
        names = ", ".join(f"{row} on {data}" for row, data in devices[device])
        yield f"device of {names}: {device}" if number else f"device: {device}"


def _spread(table: Table, cells: Cells) -> Iterator[Sheet]:
    """Range of validation scores over searches, for rows whose searches found different results."""
    lines = []
    for row in table.methods:
        found = [cells.get((row.name, data)) for data in table.data]
        if any(cell is not None and len({c.metagraphs for c in cell.candidates}) > 1 for cell in found):
            lines.append((row.name, *map(_between, found)))
    if lines:
        title = "Spread of the searches: validation score in percent of what each found (searches)"
        yield Sheet(title, ("method", *table.data), tuple(lines))


def _between(cell: Cell | None) -> str:
    if cell is None or len(cell.candidates) < 2:
        return MISSING
    scores = sorted(100 * c.val_score for c in cell.candidates if c.val_score is not None)
    lowest = "none" if len(scores) < len(cell.candidates) else f"{scores[0]:.1f}"
    return f"{lowest} to {scores[-1]:.1f} ({len(cell.candidates)})" if scores else MISSING


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
