"""How sure the model is: what it confuses, its curves, how far off it is, what it recommends."""

from __future__ import annotations

from diffmg.core import Run
from diffmg.core.details import Confusion, Details, Recommended, Residuals
from diffmg.core.run import shown
from diffmg.viz.report.html import Html, Section, folded, paragraph, table, text
from diffmg.viz.report.plot import Line, plot
from diffmg.viz.report.words import count, metric_name, percent

WHOLE = (0.0, 1.0)
SHOWN = 12
"""Classes that are listed at once."""


def details(run: Run) -> Section | None:
    """The section; None for a run without details."""
    found = run.details
    if found is None:
        return None
    body = _grid([_confusion(found.confusion), _classes(found)], "side")
    body += _grid([_roc(found), _precision_recall(found), _calibration(found), _lengths(found)], "charts")
    body += _grid([_scatter(one) for one in found.residuals], "side")
    body += _examples(run, found.examples)
    return Section("sure", "How sure is it, and where is it wrong?", body, "Certainty") if body else None


def _classes(found: Details) -> str:
    rows = [[c.name, shown(c.precision), shown(c.recall), shown(c.f1), count(c.support)] for c in found.classes]
    if not rows:
        return ""
    heads = ["class", "precision", "recall", "F1", "examples"]
    rest = table(heads, rows[SHOWN:], "Other classes") if len(rows) > SHOWN else ""
    return table(heads, rows[:SHOWN], "Each class on the test part") + folded(f"{len(rows) - SHOWN} more classes", rest)


def _confusion(found: Confusion | None) -> str:
    if found is None:
        return ""
    rows = []
    for name, row in zip(found.names, found.counts, strict=True):
        total = max(1, sum(row))
        rows.append([name, *(Html(f'<i style="--s:{n / total:.3f}">{count(n)}</i>') for n in row)])
    right = sum(row[i] for i, row in enumerate(found.counts))
    total = sum(map(sum, found.counts))
    caption = f"True class (rows) against the answer (columns): {count(right)} of {count(total)} are right"
    return table(["", *found.names], rows, caption, kind="confusion")


def _roc(found: Details) -> str:
    if "roc" not in found.curves:
        return ""
    lines = [Line("", [(0, 0), (1, 1)], quiet=True, dashed=True), Line("", found.curves["roc"])]
    return _chart("ROC curve", plot(lines, "false alarms", "found", x=WHOLE, y=WHOLE), found.of)


def _precision_recall(found: Details) -> str:
    if "precision_recall" not in found.curves:
        return ""
    lines = [Line("", found.curves["precision_recall"])]
    return _chart("Precision and recall", plot(lines, "recall", "precision", x=WHOLE, y=WHOLE), found.of)


def _calibration(found: Details) -> str:
    if not found.calibration:
        return ""
    points = [(b.predicted, b.happened) for b in found.calibration]
    lines = [Line("", [(0, 0), (1, 1)], quiet=True, dashed=True), Line("", points, both=True)]
    chart = plot(lines, "said probability", "came true", x=WHOLE, y=WHOLE)
    total = sum(b.count for b in found.calibration)
    off = sum(b.count * abs(b.predicted - b.happened) for b in found.calibration) / total
    return _chart("Calibration", chart, f"{found.of}; off by {percent(off)} on average")


def _lengths(found: Details) -> str:
    named = [
        Line(metric_name(name), found.curves[name], both=True) for name in ("recall", "ndcg") if name in found.curves
    ]
    if not named:
        return ""
    return _chart(
        "Lists of any length", plot(named, "length of the list, k", "score", y=WHOLE), "users of the test part"
    )


def _scatter(found: Residuals) -> str:
    values = [v for point in found.points for v in point]
    ends = (min(values), max(values))
    lines = [Line("", [(ends[0], ends[0]), (ends[1], ends[1])], quiet=True, dashed=True)]
    lines.append(Line("", found.points, dots=True))
    chart = plot(lines, "true", "predicted", x=ends, y=ends, label=f"predicted against true {found.name}")
    return _chart("Predicted against true", chart, found.name, _quantiles(found))


def _quantiles(found: Residuals) -> str:
    q = found.quantiles
    if not {"50", "25", "75", "2.5", "97.5"} <= set(q):
        return ""
    half, most = (f"{q[low]:.4g} and {q[high]:.4g}" for low, high in (("25", "75"), ("2.5", "97.5")))
    return paragraph(
        f"Of {found.name}, half of the predictions are off by between {half}, 95 % by between {most}; the median is "
        f"{q['50']:.4g} (predicted minus true)."
    )


def _chart(title: str, chart: str, note: str, below: str = "") -> str:
    said = f"<small>{text(note)}</small>" if note else ""
    return f"<h3>{text(title)}</h3>{said}{chart}{below}"


def _grid(boxes: list[str], kind: str) -> str:
    """Boxes beside each other as far as there is room."""
    drawn = "".join(f"<div>{box}</div>" for box in boxes if box)
    return f'<div class="{kind}">{drawn}</div>' if drawn else ""


def _examples(run: Run, found: tuple[Recommended, ...]) -> str:
    if not found:
        return ""
    rows = [[e.user, _list(e.known), _hits(e), _list(e.wanted)] for e in found]
    user, item = run.data.target_types[:2]
    heads = [user, "chose before", f"recommended {item}, best first", "chose in the test part"]
    caption = (
        f"Recommendations for {len(found)} nodes of {user} that were drawn at random; ✓ was chosen in the test part"
    )
    return table(heads, rows, caption, left=4)


def _hits(example: Recommended) -> Html:
    words = [
        f"<strong>✓ {text(i)}</strong>" if h else text(i) for i, h in zip(example.items, example.hits, strict=True)
    ]
    return Html(", ".join(words) or "nothing is left")


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"
