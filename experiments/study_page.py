"""The page `docs/search.md`: its tables and pictures, from the files that the commands wrote."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.documents import fill
from experiments import RESULTS
from experiments.curves_svg import curves_svg
from experiments.jsonl import read_lines
from experiments.proposers import PROPOSERS, proposers_sheet
from experiments.regret import REGRET, mean_curves, regret_sheet
from experiments.study_low_rank import low_rank_sheet
from experiments.study_races import budget_sheet, folds_sheet
from experiments.study_search import alpha_sheet, found_sheet, variants_sheet
from experiments.study_shared import shared_sheet
from experiments.study_subject import STUDY, Line
from experiments.study_switches import switches_sheet
from experiments.tables import MISSING, Sheet

PAGE = "docs/search.md"
Points = dict[str, list[tuple[float, float]]]


def study_files(root: Path, folder: Path = RESULTS) -> dict[Path, str]:
    """The expected content of the page and its pictures; nothing where there is no such page."""
    page = root / PAGE
    if not page.is_file():
        return {}
    pictures = {page.parent / "figures" / name: svg for name, svg in study_figures(folder).items() if svg}
    return {page: fill(page.read_text(encoding="utf-8"), study_tables(folder)), **pictures}


def study_tables(folder: Path) -> dict[str, Callable[[], str]]:
    """The tables of the page by name."""
    sheets: dict[str, Callable[[Sequence[Line]], Sheet]] = {
        "shared": shared_sheet,
        "alpha": alpha_sheet,
        "found": found_sheet,
        "low_rank": low_rank_sheet,
        "budget": budget_sheet,
        "folds": folds_sheet,
    }
    tables: dict[str, Callable[[], str]] = {
        f"study_{what}": partial(_shown, folder, what, sheet) for what, sheet in sheets.items()
    }
    tables["study_variants"] = partial(_variants, folder)
    tables["study_switches"] = partial(_by_data, folder, ("switches", "together"), switches_sheet)
    tables["study_exhaustive"] = partial(_exhaustive, folder)
    tables["study_regret"] = partial(_regret, folder)
    tables["study_proposers"] = partial(_proposers, folder)
    tables |= {f"study_{kind}_figures": partial(_pictures, folder, kind) for kind in ("regret", "alpha")}
    return tables


def study_figures(folder: Path) -> dict[str, str]:
    """The pictures of the page by file name."""
    found = {}
    for table, lines in _grouped(_replays(folder), "table").items():
        name = f"regret-{table}.svg".replace(":", "-")
        found[name] = curves_svg(mean_curves(lines), "trainings", f"regret in points, {table}")
    for data, lines in _grouped(_lines(folder, "alpha"), "data").items():
        curves: Points = {}
        for variant, several in _grouped(lines, "variant").items():
            epochs = zip(*(line["top"] for line in several), strict=False)
            curves[variant] = [(float(n), statistics.fmean(tops)) for n, tops in enumerate(epochs, 1)]
        found[f"alpha-{data}.svg".replace(":", "-")] = curves_svg(curves, "epochs of search", f"top α, {data}")
    return found


def _pictures(folder: Path, kind: str) -> str:
    """Links to the pictures of one kind."""
    names = [name for name, svg in study_figures(folder).items() if svg and name.startswith(f"{kind}-")]
    return "\n\n".join(f"![{name.removesuffix('.svg')}](figures/{name})" for name in names)


def missing(command: str) -> str:
    """What a page shows in place of a table that nobody has made yet."""
    return f"*Not run yet: `python -m experiments {command}`.*\n"


def _lines(folder: Path, *whats: str) -> list[Line]:
    return [line for line in read_lines(folder / STUDY) if line["what"] in whats and "error" not in line]


def _replays(folder: Path) -> list[Line]:
    return [line for line in read_lines(folder / REGRET) if line["kind"] == "replay"]


def _grouped(lines: Sequence[Line], name: str) -> dict[str, list[Line]]:
    groups: dict[str, list[Line]] = {}
    for line in lines:
        groups.setdefault(line[name], []).append(line)
    return groups


def _shown(folder: Path, what: str, sheet: Callable[[Sequence[Line]], Sheet]) -> str:
    lines = _lines(folder, what)
    return sheet(lines).markdown() if lines else missing(f"study {what} DATA")


def _by_data(folder: Path, whats: tuple[str, ...], sheet: Callable[[Sequence[Line]], Sheet]) -> str:
    groups = _grouped(_lines(folder, *whats), "data")
    return "\n".join(sheet(lines).markdown() for lines in groups.values()) or missing(f"study {whats[0]} DATA")


def _variants(folder: Path) -> str:
    lines = []
    for several in _grouped(_lines(folder, "variants"), "data").values():
        random = [line for line in _lines(folder, "trained") if line["data"] == several[0]["data"]]
        lines += [*several, *({**line, "variant": "random meta graphs"} for line in random)]
    return variants_sheet(lines).markdown() if lines else missing("study variants DATA")


def _regret(folder: Path) -> str:
    groups = _grouped(_replays(folder), "table")
    return "\n".join(regret_sheet(lines).markdown() for lines in groups.values()) or missing("regret TABLE...")


def _proposers(folder: Path) -> str:
    groups = _grouped([line for line in read_lines(folder / PROPOSERS) if "error" not in line], "data")
    return "\n".join(proposers_sheet(lines).markdown() for lines in groups.values()) or missing("proposers DATA...")


def _exhaustive(folder: Path) -> str:
    lines = [line for line in read_lines(folder / REGRET) if line["kind"] == "table"]
    if not lines:
        return missing("exhaustive DATA --depth K` and `python -m experiments regret TABLE...")
    heads = ("table", "meta graphs", "programs", "low", "median", "high", "best", "noise", "best from a second seed")
    notes = (
        "validation score in percent: 10 %, 50 % and 90 % quantiles and the best over programs; noise: standard "
        "deviation over seeds, in the best tenth",
        "last column: the first seed's score of the program that is best by the second seed",
        *(f"{line['table']}: `{line['command']}`, {line['device']}, {line['bytes'] / 1000:.0f} kB" for line in lines),
    )
    return Sheet("Exhaustive tables", heads, tuple(map(_table_row, lines)), notes).markdown()


def _table_row(line: Line) -> tuple[str, ...]:
    names = ("low", "median", "high", "best", "noise", "best_by_second")
    scores = (MISSING if line[n] is None else f"{100 * line[n]:.2f}" for n in names)
    return (f"{line['table']} ({line['metric']})", str(line["metagraphs"]), str(line["programs"]), *scores)
