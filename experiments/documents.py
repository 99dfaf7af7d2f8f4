"""The repository's pages with tables and pictures generated from the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.documents import MARK, fill
from diffmg.core.errors import DiffmgError
from experiments import RESULTS, TABLES, plan_path
from experiments.comparing import kept_differences
from experiments.figures import figures
from experiments.gallery_page import gallery_files
from experiments.jsonl import read_lines
from experiments.memory import memory_table
from experiments.pipelines import pipelines_markdown
from experiments.planted import PLANTED, planted_sheet
from experiments.predictions_table import predictions_markdown
from experiments.ranking_table import ranking_markdown
from experiments.runner import done_cells
from experiments.seeds import seeds_sheet
from experiments.spec import Table, read_table
from experiments.steady import STEADY, steady_sheets
from experiments.study_page import study_files
from experiments.tables import Cells, Sheet, markdown, percent, plus_minus

PAGES = ("README.md", "docs/results.md")
FIGURES = "figures"
"""Folder of a page's pictures, beside it."""
SUMMARY = ("published", "diffmg", "random_search", "average", "gcn", "hgt")
"""Rows that the README shows."""


@dataclass(frozen=True)
class Done:
    """A table and its finished runs."""

    table: Table
    cells: Cells


def done_tables(folder: Path = RESULTS) -> dict[str, Done]:
    """All tables with their runs."""
    tables = {name: read_table(plan_path(name)) for name in TABLES}
    return {name: Done(table, done_cells(table, folder)) for name, table in tables.items()}


def table_text(done: Done, folder: Path) -> str:
    """A table as Markdown."""
    if done.table.kind == "search":
        return pipelines_markdown(done.table, done.cells, kept_differences(done.table, folder))
    if done.table.kind == "ranking":
        return ranking_markdown(done.table, done.cells)
    if done.table.kind == "predictions":
        return predictions_markdown(done.table, done.cells)
    return markdown(done.table, done.cells)


def place_for(path: Path, name: str) -> str:
    """The text of a document; raises if it has no marker for a table."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    found = [place for _, place, _ in MARK.findall(text)]
    if name not in found:
        raise DiffmgError(
            f"a document has a place for the table, `<!-- table: {name} -->` and `<!-- end -->` on lines of their own, "
            f"but got {str(path)!r}, which has {found or 'none'}"
        )
    return text


def wanted(root: Path, done: Mapping[str, Done], folder: Path = RESULTS) -> dict[Path, str]:
    """The expected content of every page and picture."""
    tables: dict[str, Callable[[], str]] = {name: partial(table_text, found, folder) for name, found in done.items()}
    paper = {d: f for name in ("classification", "recommendation") for d, f in done[name].table.paper["diffmg"].items()}
    tables["summary"] = partial(summary, done)
    tables["seeds"] = lambda: seeds_sheet(folder, paper).markdown()
    tables["memory"] = partial(memory_table, folder)
    tables["planted"] = lambda: planted_sheet(read_lines(folder / PLANTED)).markdown()
    tables["steady"] = lambda: "\n".join(sheet.markdown() for sheet in steady_sheets(read_lines(folder / STEADY)))
    files = {root / page: fill((root / page).read_text(encoding="utf-8"), tables) for page in PAGES}
    for found in done.values():
        files |= {root / "docs" / FIGURES / name: svg for name, svg in figures(found.table, found.cells).items()}
    searched = done["search"].cells if "search" in done else {}
    return files | study_files(root, folder) | gallery_files(root, searched, folder)


def summary(done: Mapping[str, Done]) -> str:
    """The default, the authors' meta graphs, our searches and the simplest baselines, next to the paper."""
    text = Sheet("", ("data set", "score (%)", "paper", "auto", *SUMMARY), tuple(_summary_rows(done))).markdown()
    return text.replace("|---|---:|", "|---|---|", 1)


def _summary_rows(done: Mapping[str, Done]) -> Iterator[tuple[str, ...]]:
    for name in ("classification", "recommendation"):
        table, cells = done[name].table, done[name].cells
        for data in table.data:
            found = [done["search"].cells.get(("auto", data)), *(cells.get((row, data)) for row in SUMMARY)]
            metric = next((cell.metric for cell in found if cell), "").replace("_", " ")
            ours = ("" if cell is None else percent(cell) for cell in found)
            yield data, metric, plus_minus(table.paper["diffmg"][data]), *ours
