"""What was tried: the race or the searches, their finalists, and how scores grew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from diffmg.core import MetaGraph, Run
from diffmg.core.run import Evidence, shown
from diffmg.viz.evidence import words_of
from diffmg.viz.report.html import Section, bullets, table
from diffmg.viz.report.plot import Line, Point, plot
from diffmg.viz.report.rows import Row, dot_rows
from diffmg.viz.report.words import metric_name, percent

FINALISTS = 10
BESIDE = "beside-"
History = Sequence[Mapping[str, Any]]


def tried(run: Run, history: History) -> Section | None:
    """What a race or several searches tried; None where there was one candidate."""
    if run.evidence is not None:
        return Section("tried", "What was tried?", _race(run, run.evidence, history), "Tried")
    if len(run.candidates) < 2:
        return None
    rows = [
        [
            f"{i} (chosen)" if i == run.chosen else i,
            "none" if c.val_score is None else shown(c.val_score),
            _paths(c.metagraphs),
        ]
        for i, c in enumerate(run.candidates)
    ]
    heads = ["search seed", f"validation {metric_name(run.metric)}", "longest meta paths"]
    return Section("tried", "What was tried?", table(heads, rows, "What each search found", left=3), "Tried")


def learning(run: Run, history: History) -> Section | None:
    """The validation score by epoch, of searches and trainings; a race has too many to show."""
    if run.evidence is not None:
        return None
    curves = _curves(history)
    lines = [Line(name, points, dashed=name.startswith(BESIDE)) for name, points in curves.items()]
    body = plot(lines, "epoch", f"validation {metric_name(run.metric)}")
    return Section("learning", "How did it learn?", body, "Learning") if body else None


def _curves(history: History) -> dict[str, list[Point]]:
    curves: dict[str, list[Point]] = {}
    for record in history:
        if record["val_score"] is not None:
            curves.setdefault(record["phase"], []).append((record["epoch"], record["val_score"]))
    return curves


def _race(run: Run, found: Evidence, history: History) -> str:
    lines = [line for line in words_of(run) if not line.startswith(("finalists", "  0", "  and", "no better"))]
    return bullets(line.strip() for line in lines) + _growth(run, found, history) + _finalists(run, found)


def _growth(run: Run, found: Evidence, history: History) -> str:
    curves = {name: points for name, points in _curves(history).items() if not name.startswith(BESIDE)}
    points = next(iter(curves.values()), [(n + 1.0, v) for n, v in enumerate(found.running_best)])
    name = f"best validation {metric_name(run.metric)}"
    chart = plot([Line("", points, both=len(points) < 40)], "trainings" if curves else "batches", name)
    return f"<h3>Best score so far</h3>{chart}" if chart else ""


def _finalists(run: Run, found: Evidence) -> str:
    shares = {s.candidate: s.share for s in found.shares}
    rows = [
        Row(
            f.described,
            f.mean,
            f"{shown(f.mean)} ± {shown(f.std)}",
            f.mean - f.std,
            f.mean + f.std,
            f"{f.trainings} trainings"
            + (f", {percent(shares[f.candidate])} of the ensemble" if f.candidate in shares else ""),
            f.candidate == found.single,
        )
        for f in found.finalists[:FINALISTS]
    ]
    caption = f"Finalists: validation {metric_name(run.metric)}, mean and standard deviation of their trainings"
    return dot_rows(rows, caption, ("candidate", "score"))


def _paths(metagraphs: Sequence[MetaGraph]) -> str:
    paths = [path for metagraph in metagraphs for path in metagraph.longest_paths()]
    return "; ".join(" · ".join(r.name for r in path) or "own features" for path in paths)
