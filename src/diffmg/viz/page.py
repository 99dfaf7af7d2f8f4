"""The HTML report of a run: the answer first, provenance last."""

from __future__ import annotations

from pathlib import Path

from diffmg.core import Run, read_history, read_run
from diffmg.core.files import write_text
from diffmg.viz.report.again import again
from diffmg.viz.report.answer import answer
from diffmg.viz.report.data import data
from diffmg.viz.report.details import details
from diffmg.viz.report.document import POLICY, document
from diffmg.viz.report.html import Section
from diffmg.viz.report.reads import reads
from diffmg.viz.report.tried import learning, tried
from diffmg.viz.report.words import duration, source_words, target_words

REPORT = "report.html"


def write_report(folder: Path, out: Path | None = None) -> Path:
    """Write the report of a run, `report.html` in its folder unless another file is named; it is self-contained."""
    path = out or folder / REPORT
    write_text(path, page(read_run(folder), folder))
    return path


def page(run: Run, folder: Path, *, policy: str = POLICY, extra: str = "") -> str:
    """The report as HTML; a server may allow more by its `policy`, and put `extra` markup before the sections."""
    return document(title_of(run), lead_of(run), sections_of(run, folder), policy=policy, extra=extra)


def sections_of(run: Run, folder: Path) -> list[Section]:
    """The sections of a run's report that have something to say."""
    history = read_history(folder)
    found = [answer(run), reads(run), details(run), data(run), tried(run, history), learning(run, history)]
    return [section for section in (*found, again(run, folder)) if section is not None]


def title_of(run: Run) -> str:
    """What is predicted, on which data."""
    return f"{source_words(run)}: {target_words(run)}"


def lead_of(run: Run) -> str:
    """How it was done, in a line."""
    how = f"method {run.plan.method.name}"
    if run.evidence is not None:
        how += f", {run.evidence.candidates} candidates tried"
    return f"{run.status} · {run.data.task} · {how} · {duration(sum(run.seconds.values()))} on {run.device}"
