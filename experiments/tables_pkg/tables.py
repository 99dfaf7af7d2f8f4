"""Tables of what came out beside the paper's figures: for the terminal, as Markdown, as HTML."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from diffmg.core.run import Run
from diffmg.reproduction.spec import Method, Reproduction

MISSING = "-"
Runs = Mapping[tuple[str, str], Run]
"""By method and data set."""


@dataclass(frozen=True)
class Sheet:
    """A table of text."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def sheets(table: Reproduction, runs: Runs) -> list[Sheet]:
    """The table itself, and how far apart the searches lie where there were several."""
    return [_figures(table, runs), *_spread(table, runs)]


def _figures(table: Reproduction, runs: Runs) -> Sheet:
    """A row per method, in the order of the plan file, the paper's figure beside ours where it has any."""
    compared = bool(table.paper or table.reruns)
    cell: Callable[[Method, Run], str] = _cost if table.kind == "cost" else _score
    rows = []
    for method in table.methods:
        found = [runs.get((method.name, data)) for data in table.data]
        seeds = sorted({len(run.trained) for run in found if run is not None})
        row = [method.name, " to ".join(map(str, dict.fromkeys([*seeds[:1], *seeds[-1:]]))) or MISSING]
        for data, run in zip(table.data, found, strict=True):
            row.append(MISSING if run is None else cell(method, run))
            row += [_theirs(table, method.name, data)] if compared else []
        rows.append(tuple(row))
    columns = ("", ", paper") if compared else ("",)
    heads = ("method", "seeds", *(f"{data}{what}" for data in table.data for what in columns))
    notes = [f"{method.name}: {method.note}" for method in table.methods if method.note]
    return Sheet(table.title, heads, tuple(rows), (*notes, *_remarks(table, runs)))


def _score(_method: Method, run: Run) -> str:
    """Mean ± standard deviation of the test score in percent."""
    spread = f" ± {100 * run.std('test'):.2f}" if len(run.trained) > 1 else ""
    return f"{100 * run.mean('test'):.2f}{spread}"


def _cost(method: Method, run: Run) -> str:
    """Seconds of a search, or of a training where nothing was searched."""
    search, training = search_seconds(method, run), _median(run, ("train", "repeat"))
    return f"{'≈ ' if method.scale != 1 else ''}{search:.2f} s" if search else f"{training:.2f} s training"


def search_seconds(method: Method, run: Run) -> float:
    """Of one search, extrapolated where only a part of it was run; 0 where nothing was searched."""
    return method.scale * _median(run, ("search",))


def _median(run: Run, phases: tuple[str, ...]) -> float:
    return statistics.median([s for phase, s in run.seconds.items() if phase.startswith(phases)] or [0.0])


def _theirs(table: Reproduction, method: str, data: str) -> str:
    """The paper's figure, and those of others who ran the method again."""
    figure = table.paper.get(method, {}).get(data)
    parts = [] if figure is None else [_minutes(figure) if table.kind == "cost" else _plus_minus(figure)]
    parts += [f"{who} {rows[method][data]:.2f}" for who, rows in table.reruns.items() if data in rows.get(method, {})]
    return ", ".join(parts) or MISSING


def _plus_minus(figure: Sequence[float]) -> str:
    return " ± ".join(f"{number:.2f}" for number in figure)


def _minutes(figure: Sequence[float]) -> str:
    """Minutes in all, and in parentheses those for λ, the weights of the candidates."""
    return f"{figure[0]:g}{''.join(f' ({part:g})' for part in figure[1:])} min"


def _remarks(table: Reproduction, runs: Runs) -> Iterator[str]:
    """How settings were chosen, where it all ran, and for a cost, whether the methods come in the paper's order."""
    if table.budget:
        tuning = table.tuning
        again = f", the best {tuning.finals} of them {tuning.trainings} times" if tuning.trainings > 1 else ""
        yield f"tuned rows: {tuning.budget} settings trained for each data set{again}; validation chose"
    yield from _machines(runs)
    if table.kind != "cost":
        return
    for data in table.data:
        ours = {m.name: search_seconds(m, runs[m.name, data]) for m in table.methods if (m.name, data) in runs}
        names = [name for name, seconds in ours.items() if seconds and data in table.paper.get(name, {})]
        mine, paper = sorted(names, key=lambda n: ours[n]), sorted(names, key=lambda n: table.paper[n][data][0])
        word = "as in the paper" if mine == paper else f"in the paper {' < '.join(paper)}"
        if len(names) > 1:
            yield f"order on {data}: {' < '.join(mine)}, {word}"


def _machines(runs: Runs) -> Iterator[str]:
    """The device of most runs, then the others, each with the runs it did."""
    devices: dict[str, list[tuple[str, str]]] = {}
    for cell, run in runs.items():
        devices.setdefault(run.device, []).append(cell)
    for number, device in enumerate(sorted(devices, key=lambda d: -len(devices[d]))):
        cells = ", ".join(f"{method} on {data}" for method, data in devices[device])
        yield f"device of {cells}: {device}" if number else f"device: {device}"


def _spread(table: Reproduction, runs: Runs) -> Iterator[Sheet]:
    """Validation scores of what the searches found, lowest to highest, in rows where they found different things."""
    rows = []
    for method in table.methods:
        found = [runs.get((method.name, data)) for data in table.data]
        if any(run is not None and len({c.metagraphs for c in run.candidates}) > 1 for run in found):
            rows.append((method.name, *(_between(run) for run in found)))
    if rows:
        title = "Spread of the searches: validation score in percent of what each found (searches)"
        yield Sheet(title, ("method", *table.data), tuple(rows))


def _between(run: Run | None) -> str:
    if run is None or len(run.candidates) < 2:
        return MISSING
    scores = [100 * c.val_score for c in run.candidates]
    return f"{min(scores):.1f} to {max(scores):.1f} ({len(scores)})"


def markdown(several: Sequence[Sheet]) -> str:
    """Markdown tables with their notes."""
    return "\n".join(_markdown(sheet) for sheet in several)


def _markdown(sheet: Sheet) -> str:
    lines = [f"**{sheet.title}**", "", _line(sheet.heads), "|---|" + "---:|" * (len(sheet.heads) - 1)]
    lines += map(_line, sheet.rows)
    notes = [f"- {note}" for note in sheet.notes]
    return "\n".join([*lines, *([""] if notes else []), *notes]) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def html(several: Sequence[Sheet]) -> str:
    """A page that needs nothing else."""
    style = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem}td,th{padding:.25rem .9rem .25rem 0;text-align:left}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(several[0].title)}</title>'
        f"<style>{style}</style></head><body>{''.join(map(_html, several))}</body></html>\n"
    )


def _html(sheet: Sheet) -> str:
    head = "".join(f"<th>{escape(h)}</th>" for h in sheet.heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in sheet.rows)
    notes = "".join(f"<li>{escape(note)}</li>" for note in sheet.notes)
    return f"<h2>{escape(sheet.title)}</h2><table><tr>{head}</tr>{body}</table>" + (
        f"<ul>{notes}</ul>" if notes else ""
    )


FORMS: Mapping[str, Callable[[Sequence[Sheet]], str]] = {"md": markdown, "html": html}
