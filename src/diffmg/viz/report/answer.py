"""The answer first: how good the model is, beside simple ways and beside chance."""

from __future__ import annotations

from diffmg.core import Run
from diffmg.core.details import Beside
from diffmg.core.perfect import perfect_scores
from diffmg.core.run import shown
from diffmg.viz.evidence import nothing
from diffmg.viz.report.html import Section, folded, paragraph, strong, table, text
from diffmg.viz.report.rows import Row, dot_rows
from diffmg.viz.report.words import (
    count,
    interval,
    lower_is_better,
    metric_meaning,
    metric_name,
    percent,
    target_words,
    with_error,
)
from diffmg.viz.words import many

SURELY, PROBABLY = 0.975, 0.9


def answer(run: Run) -> Section:
    """The score in large letters, a sentence, a dot plot, and all other scores on demand."""
    score = run.scores("test").get(run.metric)
    head = paragraph(_status(run), kind="note") if score is None else _big(run, score)
    warnings = "".join(paragraph(line, kind="warn") for line in (*perfect_scores(run), *_chance_warning(run)))
    body = head + paragraph(*sentence(run)) + warnings + _dots(run, score) + _left_out(run) + _all_scores(run)
    return Section("answer", "How good is it?", body, "Score")


def sentence(run: Run) -> list[object]:
    """What is predicted, how well, and how well the simple ways do."""
    score, name = run.scores("test").get(run.metric), metric_name(run.metric)
    said: list[object] = [f"Predicts {target_words(run)}"]
    if score is None:
        return [*said, "."]
    error, found = (run.certainty.error if run.certainty else None), run.certainty
    seen = f" on {count(found.units)} {many(found.of)} whose answers it never saw" if found else ""
    said += [f": {name} ", strong(with_error(score, error)), f"{seen}. "]
    best = _best_rival(run)
    if best is not None:
        own = with_error(best.test[run.metric], best.error)
        said.append(f"The best simple way tried, {best.method} ({best.summary}), has {own}: {_verdict(best)} ")
    if found and found.chance is not None:
        blind = f" ({found.blind})" if found.blind else ""
        said.append(f"Answers that know nothing{blind} have {shown(found.chance)}.")
    return said


def _status(run: Run) -> str:
    if run.status != "done":
        return f"This run is {run.status}: there is no test score yet."
    return "There is no test part, so there is no test score."


def _big(run: Run, score: float) -> str:
    ends = interval(score, run.certainty.error if run.certainty else None, run.metric)
    between = "" if ends is None else f", 95 % between {shown(ends[0])} and {shown(ends[1])}"
    small = f"<small>{text(metric_name(run.metric))}{text(between)}</small>"
    meaning = metric_meaning(run.metric)
    note = paragraph(f"{metric_name(run.metric)}: {meaning}.", kind="note") if meaning else ""
    return f'<p class="big">{text(shown(score))} {small}</p>{note}'


def _best_rival(run: Run) -> Beside | None:
    tried = [rival for rival in run.beside if run.metric in rival.test]
    sign = -1 if lower_is_better(run.metric) else 1
    return max(tried, key=lambda rival: sign * rival.test[run.metric], default=None)


def _verdict(rival: Beside) -> str:
    """Whether the model is better than a rival, in words."""
    if rival.wins is None:
        return "the model is better." if (rival.lead or 0) > 0 else "the model is not better."
    if 1 - PROBABLY < rival.wins < PROBABLY:
        return f"no clear difference (the model is better in {percent(rival.wins)} of resamples of the test part)."
    worse = rival.wins < 0.5
    share = 1 - rival.wins if worse else rival.wins
    sure = "surely" if share >= SURELY else "probably"
    word = "worse" if worse else "better"
    return f"the model is {sure} {word} ({word} in {percent(share)} of resamples of the test part)."


def _chance_warning(run: Run) -> list[str]:
    found = run.certainty
    if found is None or found.above_chance is not False:
        return []
    return [f"No better than chance: {nothing(run)}."]


def _dots(run: Run, score: float | None) -> str:
    if score is None:
        return ""
    found, metric = run.certainty, run.metric
    rows = [_row("this model", score, found.error if found else None, metric, run.plan.method.name, own=True)]
    rivals = [r for r in run.beside if metric in r.test]
    rivals.sort(key=lambda r: r.test[metric], reverse=not lower_is_better(metric))
    rows += [_row(r.method, r.test[metric], r.error, metric, r.summary) for r in rivals]
    if found and found.chance is not None:
        rows.append(_row("chance", found.chance, None, metric, found.blind or "its answers dealt out at random"))
    direction = "lower is better" if lower_is_better(metric) else "higher is better"
    margin = "; lines are 95 % intervals" if any(row.low is not None for row in rows) else ""
    return dot_rows(rows, f"Test {metric_name(metric)}, {direction}{margin}", ("method", "score"))


def _row(name: str, score: float, error: float | None, metric: str, note: str, *, own: bool = False) -> Row:
    low, high = interval(score, error, metric) or (None, None)
    return Row(name, score, with_error(score, error), low, high, note, own)


def _left_out(run: Run) -> str:
    lines = [f"{r.method} was left out: {r.refused}" for r in run.beside if r.refused]
    return folded("simple ways that were left out", "".join(paragraph(line) for line in lines))


def _all_scores(run: Run) -> str:
    """Scores of the kept model and, for several trainings, their mean."""
    several, rows = len(run.trained) > 1, []
    for name in {**run.scores("val"), **run.scores("test")}:
        row: list[object] = [metric_name(name), *(_number(run.scores(part).get(name)) for part in ("val", "test"))]
        spread = (
            f"{shown(run.mean('test', name))} ± {shown(run.std('test', name))}" if run.values("test", name) else "none"
        )
        rows.append([*row, *([spread] if several else []), *(_number(r.test.get(name)) for r in _tried(run))])
    if not rows:
        return ""
    heads = ["score", "validation", "test"]
    heads += [f"test, mean ± std of {len(run.trained)} trainings"] if several else []
    heads += [f"test, {r.method}" for r in _tried(run)]
    return folded("all scores", table(heads, rows, "Scores of the kept model, and of what stands beside it"))


def _tried(run: Run) -> list[Beside]:
    return [r for r in run.beside if r.test]


def _number(value: float | None) -> str:
    return "none" if value is None else shown(value)
