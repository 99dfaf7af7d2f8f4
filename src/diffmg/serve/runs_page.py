"""The page of a folder of runs: a table from which runs are opened and compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from urllib.parse import quote

from diffmg.serve.report_page import style
from diffmg.serve.shelf import Shelved
from diffmg.viz.compare import score_of
from diffmg.viz.report.document import POLICY, document
from diffmg.viz.report.html import Html, Section, folded, paragraph, table, text
from diffmg.viz.report.words import metric_name, source_words, target_words, with_error

FORM_POLICY = POLICY.replace("form-action 'none'", "form-action 'self'")
HEADS = ("run", "data", "answers", "method", "score", "test", "when (UTC)", "status")


def runs_page(name: str, shelved: Sequence[Shelved]) -> str:
    """The table, and below it what could not be read."""
    runs = [one for one in shelved if one.run is not None]
    broken = [[one.name, one.reason] for one in shelved if one.run is None]
    parts = [Section("runs", "Which runs are there?", _form(runs), "Runs")]
    if broken:
        body = table(["folder", "why it is no run"], broken, "Folders that could not be read", left=2)
        title = "1 folder" if len(broken) == 1 else f"{len(broken)} folders"
        parts.append(Section("broken", "What could not be read?", folded(title, body), "Not read"))
    lead = f"{len(runs)} run{'' if len(runs) == 1 else 's'}, newest first"
    return document(f"Runs in {name}/", lead, parts, policy=FORM_POLICY, extra=f"<style>{style()}</style>")


def _form(runs: Sequence[Shelved]) -> str:
    if not runs:
        return paragraph("None yet: `diffmg fit DATA --out FOLDER/NAME` writes one.", kind="note")
    note = paragraph("Open one by its name, or tick several of the same task and compare them.", kind="note")
    rows = [_row(one) for one in runs]
    button = "<p><button>Compare those ticked</button></p>"
    caption = "The score that chose, on the test part, with its 95 % margin"
    return f'{note}<form class="runs" action="/compare">{table(HEADS, rows, caption, left=len(HEADS))}{button}</form>'


def _row(one: Shelved) -> list[object]:
    run = one.run
    assert run is not None, "only runs have a row"
    score, error = score_of(run), run.certainty.error if run.certainty else None
    said = "none" if math.isnan(score) else with_error(score, error)
    when = f"{one.when:%Y-%m-%d %H:%M}" if one.when else ""
    name = text(one.name)
    tick = f'<input type="checkbox" name="run" value="{name}" aria-label="compare {name}">'
    link = Html(f'{tick} <a href="/runs/{quote(one.name, safe="")}">{name}</a>')
    return [
        link,
        source_words(run),
        target_words(run),
        run.plan.method.name,
        metric_name(run.metric),
        *map(_in_a_line, (said, when)),
        run.status,
    ]


def _in_a_line(value: str) -> Html:
    return Html(f'<span class="line">{text(value)}</span>')
