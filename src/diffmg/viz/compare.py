"""Several runs on one page: their scores beside each other, what differs, and their pictures side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from diffmg.core import DiffmgError, Run, read_run
from diffmg.core.codec import to_plain
from diffmg.core.files import write_text
from diffmg.core.run import shown
from diffmg.viz.report.document import document
from diffmg.viz.report.html import Section, bullets, folded, paragraph, strong, table, text
from diffmg.viz.report.reads import importances_of, path_label, picture
from diffmg.viz.report.rows import Row, dot_rows
from diffmg.viz.report.words import (
    count,
    duration,
    interval,
    lower_is_better,
    metric_meaning,
    metric_name,
    source_words,
    target_words,
    with_error,
)

Runs = Mapping[str, Run]
"""Runs by a name for each."""
LEAVES = ("method", "source", "settings", "engine")
"""Parts of a plan that are compared field by field."""


def write_comparison(folders: Sequence[Path], out: Path) -> Path:
    """Write one page on the runs in these folders."""
    write_text(out, comparison({str(folder): read_run(folder) for folder in folders}))
    return out


def comparison(runs: Runs, *, extra: str = "") -> str:
    """The page; raises unless all runs have the same kind of task and the same score. `extra` as in `document`."""
    check_comparable(runs)
    first = next(iter(runs.values()))
    sections = [_scores(runs), _differences(runs), _pictures(runs), _repeat(runs)]
    lead = f"{first.data.task} · {metric_name(first.metric)} of the test part"
    title = f"{len(runs)} runs: {target_words(first)}"
    return document(title, lead, [section for section in sections if section is not None], extra=extra)


def check_comparable(runs: Runs) -> None:
    """Raise unless scores of these runs mean the same thing."""
    if len(runs) < 2:
        raise DiffmgError(f"a comparison needs two or more runs, but got {', '.join(runs) or 'none'}")
    kinds: dict[tuple[Any, ...], list[str]] = {}
    for name, run in runs.items():
        kinds.setdefault((run.data.task, run.metric, " and ".join(run.data.target_types)), []).append(name)
    if len(kinds) > 1:
        told = "; ".join(f"{task} of {types} by {metric}: {', '.join(n)}" for (task, metric, types), n in kinds.items())
        raise DiffmgError(f"runs are compared by one score of one task, but got {told}; compare each group by itself")


def ordered(runs: Runs) -> list[str]:
    """The names of the runs, best test score first; those without one last."""
    sign = 1 if lower_is_better(next(iter(runs.values())).metric) else -1
    return sorted(runs, key=lambda name: (math.isnan(score_of(runs[name])), sign * score_of(runs[name])))


def score_of(run: Run) -> float:
    """The test score; NaN where there is none."""
    return run.scores("test").get(run.metric, math.nan)


def _scores(runs: Runs) -> Section:
    names, metric = ordered(runs), next(iter(runs.values())).metric
    best = runs[names[0]]
    direction = "lower is better" if lower_is_better(metric) else "higher is better"
    rows = [_row(name, runs[name], own=name == names[0]) for name in names]
    body = (
        _lead(names, best)
        + _warning(runs)
        + dot_rows(rows, f"Test {metric_name(metric)}, {direction}", ("run", "score"))
    )
    heads = ["run", "method", "test", "behind the best", "validation", "time", "candidates", "seed"]
    lines = [_line(name, runs[name], best) for name in names]
    caption = "Scores with 95 % margins; that of a difference is as if the two were judged on different examples"
    return Section("scores", "Which is better?", body + table(heads, lines, caption, left=2), "Scores")


def _lead(names: Sequence[str], best: Run) -> str:
    if math.isnan(score_of(best)):
        return paragraph("No run has a test score yet.", kind="note")
    meaning = metric_meaning(best.metric)
    note = paragraph(f"{metric_name(best.metric)}: {meaning}.", kind="note") if meaning else ""
    return (
        paragraph("Best on the test part: ", strong(names[0]), f" with {with_error(score_of(best), _error(best))}.")
        + note
    )


def _warning(runs: Runs) -> str:
    hashes = {run.data.hash for run in runs.values()}
    if len(hashes) == 1:
        return paragraph("All runs are on the same data and the same split.", kind="note")
    return paragraph(
        f"The runs are on {len(hashes)} different data or splits: their scores cannot be compared strictly.",
        kind="warn",
    )


def _row(name: str, run: Run, *, own: bool) -> Row:
    score, error = score_of(run), _error(run)
    low, high = interval(score, error, run.metric) or (None, None)
    return Row(name, score, with_error(score, error), low, high, run.plan.method.name, own)


def _line(name: str, run: Run, best: Run) -> list[object]:
    score, val = score_of(run), run.scores("val").get(run.metric)
    seconds = duration(sum(run.seconds.values()))
    tried = len(run.candidates) if run.evidence is None else run.evidence.candidates
    test = "none" if math.isnan(score) else with_error(score, _error(run))
    behind = "" if run is best or math.isnan(score) else _behind(run, best)
    return [
        name,
        run.plan.method.name,
        test,
        behind,
        "none" if val is None else shown(val),
        seconds,
        tried,
        run.plan.seed,
    ]


def _behind(run: Run, best: Run) -> str:
    errors = [_error(run), _error(best)]
    both = None if None in errors else math.hypot(*(e for e in errors if e is not None))
    return with_error(abs(score_of(best) - score_of(run)), both)


def _error(run: Run) -> float | None:
    return None if run.certainty is None else run.certainty.error


def _differences(runs: Runs) -> Section:
    plans = {name: _leaves(run) for name, run in runs.items()}
    keys = list(dict.fromkeys(key for plan in plans.values() for key in plan))
    rows = [
        [key, *(plans[n].get(key, "") for n in runs)] for key in keys if len({p.get(key) for p in plans.values()}) > 1
    ]
    same = paragraph("Nothing: the runs have the same data and the same plan.", kind="note")
    body = table(["", *runs], rows, "Data, settings and versions that differ", left=1 + len(runs)) if rows else same
    return Section("differs", "What differs?", body, "Differences")


def _leaves(run: Run) -> dict[str, str]:
    """Data, plan and versions, flat."""
    nodes, edges = (run.data.facts.get(kind, {}) for kind in ("nodes", "edges"))
    found = {"data": source_words(run), "nodes": count(sum(nodes.values())), "edges": count(sum(edges.values()))}
    found["hash of the data"] = run.data.hash[:12]
    plan = to_plain(run.plan)
    for key, value in plan.items():
        if key in LEAVES and isinstance(value, dict):
            found |= {f"{key}: {inner}": _plain(v) for inner, v in value.items() if inner != "name"}
        else:
            found[key] = _plain(value)
    found |= {"method": run.plan.method.name, "budget": str(run.plan.budget or "none"), "device": run.device}
    return found | {f"version of {k}": str(v or "unknown")[:12] for k, v in run.versions.items()}


def _plain(value: object) -> str:
    if value in (None, {}, []):
        return "none"
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return said if len(said) <= 200 else f"{said[:200]} …"


def _pictures(runs: Runs) -> Section | None:
    drawn = {name: run for name, run in runs.items() if run.metagraphs}
    if not drawn:
        return None
    boxes = "".join(f"<div><h3>{text(name)}</h3>{picture(run)}{_paths(run)}</div>" for name, run in drawn.items())
    others = [name for name in runs if name not in drawn]
    note = paragraph(f"Without a meta graph: {', '.join(others)}.", kind="note") if others else ""
    return Section("read", "What do they read?", f'<div class="side">{boxes}</div>{note}', "What they read")


def _paths(run: Run) -> str:
    found = [(i.target, i.path) for i in importances_of(run)[:5]]
    return bullets(path_label(*one) for one in found)


def _repeat(runs: Runs) -> Section:
    return Section("again", "How do I repeat them?", _commands(runs) + _hashes(runs), "Repeat")


def _commands(runs: Runs) -> str:
    lines = "\n".join(text(f"diffmg repeat {quote(name)} --out {quote(name)}-again") for name in runs)
    return f"<pre><code>{lines}</code></pre>"


def _hashes(runs: Runs) -> str:
    rows = [[name, run.data.hash] for name, run in runs.items()]
    return folded("hashes of the data", table(["run", "hash"], rows, "Data of each run", left=2))
