"""Scores and tasks in the words of a person who does not know the method."""

from __future__ import annotations

import math
import re

from diffmg.core import Run
from diffmg.core.perfect import ERRORS
from diffmg.core.run import shown
from diffmg.viz.report.html import THIN

METRICS = {
    "macro_f1": ("macro F1", "the mean over classes of F1, which needs both precision and recall; 1 is perfect"),
    "micro_f1": ("micro F1", "F1 over all decisions together; 1 is perfect"),
    "accuracy": ("accuracy", "the share of right answers"),
    "roc_auc": ("ROC AUC", "how often a positive example is ranked above a negative one; 0.5 is chance, 1 perfect"),
    "auc": ("AUC", "how often a pair that was chosen is ranked above one that was not; 0.5 is chance, 1 perfect"),
    "average_precision": ("average precision", "precision averaged over the positives as they are found; 1 is perfect"),
    "mae": ("mean absolute error", "how far off predictions are on average, in the unit of the number; 0 is perfect"),
    "rmse": ("root mean squared error", "like the mean error, but large errors count more; 0 is perfect"),
    "r2": ("R²", "the share of the variance that is explained; 0 is the mean for everyone, 1 perfect"),
    "ndcg": ("NDCG", "how near the top of the list the right items are; 1 is perfect"),
    "recall": ("recall", "the share of the right items that are in the list"),
    "hit_rate": ("hit rate", "the share of users with a right item in the list"),
    "mrr": ("mean reciprocal rank", "one over the place of the first right item, averaged over users"),
}
SURE = 1.96
"""Standard errors on either side of a score within which it lies 95 % of the time."""


def metric_name(name: str) -> str:
    """The name of a score for people."""
    return METRICS[name][0] if name in METRICS else name


def metric_meaning(name: str) -> str:
    """What a score means; empty where that is not known."""
    return METRICS[name][1] if name in METRICS else ""


def lower_is_better(metric: str) -> bool:
    """Whether a score is an error."""
    return bool(ERRORS & {*re.split(r"[^a-z]+", metric.lower())})


def interval(score: float, error: float | None, metric: str) -> tuple[float, float] | None:
    """The ends of the 95 % interval, within what the score can be."""
    if error is None:
        return None
    low, high = score - SURE * error, score + SURE * error
    if metric in METRICS and not lower_is_better(metric):
        high = min(high, 1.0)
    return (low if metric == "r2" else max(low, 0.0)), high


def target_words(run: Run) -> str:
    """What is predicted, such as `the class of author`."""
    types, source = run.data.target_types, run.plan.source
    if len(types) == 2:
        return f"which {types[1]} to show to which {types[0]}"
    asked = source.predictions.label if source.predictions else source.target and source.target.partition(".")[2]
    number = "" if run.data.task != "regression" else run.data.digests.get("numbers", "")
    kind = {"classification": "the class", "regression": "the number"}.get(run.data.task, "the answer")
    named = asked or (number if number not in ("", "number") else "")
    return f"{named or kind} of {' and '.join(types)}"


def source_words(run: Run) -> str:
    """Where the data are from, in a word."""
    return run.plan.source.label or "own network"


def percent(value: float) -> str:
    """A share; never rounded to all or nothing."""
    if 0 < value < 0.005:
        return "under 1 %"
    return "over 99 %" if 0.995 < value < 1 else f"{value:.0%}".replace("%", " %")


def with_error(value: float, error: float | None) -> str:
    """A score and its 95 % margin, to two digits of the margin."""
    if error is None or not error > 0:
        return shown(value)
    margin = SURE * error
    places = min(6, max(0, 1 - math.floor(math.log10(margin))))
    return f"{value:.{places}f} ± {margin:.{places}f}"


def count(number: float) -> str:
    """A count with thin spaces between thousands."""
    return f"{number:,.0f}".replace(",", THIN)


def duration(seconds: float) -> str:
    """Seconds for a person."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
