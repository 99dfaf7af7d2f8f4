"""What each switch and setting is worth alone, and the good ones together: paired differences on random meta graphs."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from diffmg.core.candidate import Candidate
from diffmg.core.errors import DiffmgError
from diffmg.core.settings import Settings
from diffmg.methods._wide import WideSpace
from diffmg.methods.given import Given
from diffmg.methods.search._base import spaces_of
from diffmg.methods.search.random_search import draw
from diffmg.race.field import Field
from diffmg.race.trial import Outcome
from experiments.study_subject import Line, Subject
from experiments.tables import MISSING, Sheet
from experiments.trained import MetaGraphs, number, train_candidates

CHUNK = 128
"""Trainings whose weights are in memory at the same time."""
SURE = 2.0
"""Standard errors above zero from which on a change counts as good."""
Change = Mapping[str, Any]


def measure_switches(subject: Subject) -> list[Sheet]:
    """Every change alone; then the best value of each switch that is surely good, together, on other meta graphs."""
    key = {"what": "switches", "depth": subject.depth, "metagraphs": subject.candidates}
    alone = subject.once(key, partial(_alone, subject))
    together = subject.once({**key, "what": "together"}, partial(_together, subject, alone["changes"]))
    return [switches_sheet([alone, together])]


def changes_of(subject: Subject) -> list[Change]:
    """Every other value of everything that the wide space varies, alone; only those that the task allows."""
    values = WideSpace.of(subject.problem, Settings(), 1, 1).values
    found: list[Change] = []
    for name, options in sorted(values.items()):
        others = [value for value in dict.fromkeys(options) if value != getattr(subject.settings, name)]
        found += [{name: value} for value in others if _allowed(subject, {name: value})]
    return found


def _allowed(subject: Subject, change: Change) -> bool:
    everything = Given(tuple(space.everything() for space in spaces_of(subject.problem, 1)))
    try:
        everything.check(subject.problem, subject.settings.changed(dict(change)))
    except DiffmgError:
        return False
    return True


def drawn(subject: Subject, seed: int) -> list[MetaGraphs]:
    """Random meta graphs with one or two operations a link."""
    rng, spaces = random.Random(seed), spaces_of(subject.problem, subject.depth)
    counts = [1 + n % 2 for n in range(subject.candidates)]
    return [tuple(draw(space, count, rng) for space in spaces) for count in counts]


def _alone(subject: Subject) -> Line:
    changes = changes_of(subject)
    scores = _scores(subject, drawn(subject, 1), [{}, *changes])
    return {"base": scores[0], "changes": [_told(c, scores[0], s) for c, s in zip(changes, scores[1:], strict=True)]}


def _together(subject: Subject, alone: Sequence[Line]) -> Line:
    """The good changes at once, judged on meta graphs that did not choose them."""
    change = good_together(alone)
    base, changed = _scores(subject, drawn(subject, 2), [{}, change])
    return {"base": base, "changes": [_told(change, base, changed)]}


def good_together(alone: Sequence[Line]) -> dict[str, Any]:
    """Of each switch the value with the largest mean gain, where that is surely above zero."""
    best: dict[str, tuple[float, Any]] = {}
    for line in alone:
        ((name, value),) = line["change"].items()
        mean, error = line["mean"], line["error"]
        if mean is not None and mean > SURE * error and mean > best.get(name, (0.0, None))[0]:
            best[name] = (mean, value)
    return {name: value for name, (_, value) in best.items()}


def _scores(subject: Subject, several: Sequence[MetaGraphs], changes: Sequence[Change]) -> list[list[float | None]]:
    """For each change, the score of every meta graph, higher is better; all from one seed."""
    settings = [subject.settings.changed(dict(change)) for change in changes]
    candidates = [Candidate(Given(metagraphs), chosen) for chosen in settings for metagraphs in several]
    field, sign, found = Field(subject.problem), subject.problem.task.sign, list[float | None]()
    for start in range(0, len(candidates), CHUNK):
        outcomes: list[Outcome] = train_candidates(field, candidates[start : start + CHUNK], 0, subject.executor)
        found += [number(sign * outcome.score) for outcome in outcomes]
    return [found[n : n + len(several)] for n in range(0, len(found), len(several))]


def _told(change: Change, base: Sequence[float | None], changed: Sequence[float | None]) -> Line:
    gains = [b - a for a, b in zip(base, changed, strict=True) if a is not None and b is not None]
    mean = statistics.fmean(gains) if gains else None
    error = statistics.stdev(gains) / math.sqrt(len(gains)) if len(gains) > 1 else math.inf
    better = sum(gain > 0 for gain in gains)
    numbers = {"mean": mean, "error": error if math.isfinite(error) else 1e9}
    return {"change": dict(change), **numbers, "better": better, "pairs": len(gains), "scores": list(changed)}


def switches_sheet(lines: Sequence[Line]) -> Sheet:
    """Gains in percentage points, the largest first; what is together comes last."""
    rows = []
    for line in lines:
        ranked = sorted(line["changes"], key=lambda told: math.inf if told["mean"] is None else -told["mean"])
        words = "together: " if line["what"] == "together" else ""
        rows += [(f"{line['data']}, {words}{_words(told['change'])}", *_cells(told)) for told in ranked]
    heads = ("data set, change", "gain", "better on")
    notes = (
        "validation, percentage points: mean ± standard error of paired differences over random meta graphs",
        f"`together` takes what gains more than {SURE:g} standard errors alone, and is judged on other meta graphs",
    )
    return Sheet("What a switch is worth", heads, tuple(rows), notes)


def _words(change: Change) -> str:
    return ", ".join(f"{name}={value}" for name, value in change.items()) or "nothing"


def _cells(told: Line) -> tuple[str, str]:
    if told["mean"] is None:
        return MISSING, MISSING
    return f"{100 * told['mean']:+.2f} ± {100 * told['error']:.2f}", f"{told['better']} of {told['pairs']}"
