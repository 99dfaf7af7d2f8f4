"""What budget buys, and where validation stops telling: from what races tried, or from candidates drawn at random."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from diffmg.core.errors import DiffmgError
from diffmg.core.files import digest_of
from diffmg.core.run import TRIED
from diffmg.core.settings import Settings
from diffmg.methods._wide import WideSpace
from diffmg.methods.auto import Auto
from diffmg.race.field import FOLDS, Field
from experiments.jsonl import read_lines
from experiments.study_shared import mean_of, spearman
from experiments.study_subject import SAMPLE, Line, Subject
from experiments.tables import MISSING, Sheet
from experiments.trained import number, train_candidates

MARKS = (10, 20, 50, 100, 200, 300, 500, 1000)
"""Numbers of candidates after which the best score is told."""
Values = tuple[float, list[float]]
"""Of one candidate: the value on the task's own split, and those on folds; higher is better."""


def budget_line(path: Path) -> Line:
    """The best value on the task's own split after so many candidates, of one race."""
    firsts = [_own(entry) for entry in tried_of(path)]
    best, curve = -math.inf, []
    for value in firsts:
        best = max(best, -math.inf if value is None else value)
        curve.append(best)
    marks = sorted({m for m in MARKS if m <= len(curve)} | {len(curve)})
    return {"candidates": len(curve), "curve": {str(m): number(curve[m - 1]) for m in marks}}


def measure_budget(subject: Subject, files: Sequence[Path]) -> list[Sheet]:
    """Best-so-far curves of races."""
    races = {digest_of(tried_file(path))[:12]: path for path in files}
    keys = {race: {"what": "budget", "race": race} for race in races}
    return [budget_sheet([subject.once(keys[race], partial(budget_line, path)) for race, path in races.items()])]


def measure_folds(subject: Subject, files: Sequence[Path]) -> list[Sheet]:
    """How far the own split and reshuffled folds agree: over what races tried, or over random candidates."""
    if files:
        races = sorted(digest_of(tried_file(path))[:12] for path in files)
        key: Line = {"what": "folds", "source": "races", "races": races}
        lines = [subject.once(key, lambda: fold_line([v for path in files for v in fold_values(path)]))]
    else:
        key = {"what": "folds", "source": "draws", "candidates": subject.candidates}
        lines = [subject.once(key, lambda: fold_line(drawn_values(subject)))]
    return [folds_sheet(lines)]


def tried_file(path: Path) -> Path:
    """The file of what a race tried, where a folder or the file itself is given."""
    file = path / TRIED if path.is_dir() else path
    if not file.is_file():
        raise DiffmgError(f"a race leaves {TRIED} in its run folder, but got no file at {str(file)!r}")
    return file


def tried_of(path: Path) -> list[Line]:
    """What a race tried."""
    lines = read_lines(tried_file(path))
    if not lines:
        raise DiffmgError(f"a race tries a candidate at least, but got none in {str(path)!r}; name another folder")
    return lines


def fold_values(path: Path) -> list[Values]:
    """The values of candidates that were trained on the own split and on folds."""
    found = []
    for entry in tried_of(path):
        own, folds = _own(entry), [v for fold, _, v, _ in entry["trainings"] if fold > 0 and v is not None]
        if own is not None and len(folds) > 1:
            found.append((own, folds))
    return found


def drawn_values(subject: Subject) -> list[Values]:
    """Random candidates of the wide space, trained on the own split and on every fold."""
    field, sign = Field.of(subject.problem, FOLDS, SAMPLE), subject.problem.task.sign
    if field.folds is None:
        raise DiffmgError(f"the task must have folds, but got none for {subject.problem.task.describe()}")
    method, rng = Auto(), random.Random(SAMPLE)
    space = WideSpace.of(subject.problem, Settings().changed(dict(subject.overrides)), method.depth, method.operations)
    candidates = [space.draw(rng) for _ in range(subject.candidates)]
    turns = [train_candidates(field, candidates, 0, subject.executor, fold) for fold in range(field.count + 1)]
    scores = [[sign * outcome.score for outcome in several] for several in zip(*turns, strict=True)]
    return [(own, folds) for own, *folds in scores if all(map(math.isfinite, (own, *folds)))]


def fold_line(values: Sequence[Values]) -> Line:
    """Correlations of the own split with the mean of folds, and the spread of a fold's score."""
    ranked = sorted(values, key=lambda pair: -pair[0])
    half = ranked[: math.ceil(len(ranked) / 2)]
    within = [statistics.stdev(folds) for _, folds in values]
    return {
        "used": len(values),
        "values": [[number(own), [number(v) for v in folds]] for own, folds in values],
        "own_and_folds": spearman(_means(values)),
        "own_and_folds_better_half": spearman(_means(half)),
        "folds_and_folds": spearman(_halves(values)),
        "folds_and_folds_better_half": spearman(_halves(half)),
        "sd_of_a_fold": number(statistics.fmean(within)) if within else None,
        "sd_of_candidates": number(statistics.stdev(m for _, m in _means(values))) if len(values) > 1 else None,
        "sd_of_better_half": number(statistics.stdev(m for _, m in _means(half))) if len(half) > 1 else None,
    }


def _means(values: Iterable[Values]) -> list[tuple[float, float]]:
    return [(own, statistics.fmean(folds)) for own, folds in values]


def _halves(values: Iterable[Values]) -> list[tuple[float, float]]:
    """Means of every second fold, and of the others: how far folds agree with themselves."""
    return [(statistics.fmean(folds[::2]), statistics.fmean(folds[1::2])) for _, folds in values]


def _own(entry: Line) -> float | None:
    """The value of the first training on the task's own split."""
    return next((value for fold, _, value, _ in entry["trainings"] if fold == 0), None)


def budget_sheet(lines: Sequence[Line]) -> Sheet:
    """A row per data set: mean over races of the best validation score after so many candidates."""
    groups: dict[str, list[Line]] = {}
    for line in lines:
        groups.setdefault(line["data"], []).append({str(m): line["curve"].get(str(m)) for m in MARKS})
    marks = [str(m) for m in MARKS if any(line[str(m)] is not None for several in groups.values() for line in several)]
    rows = tuple((d, str(len(s)), *(mean_of(s, mark, 100, 2) for mark in marks)) for d, s in groups.items())
    return Sheet(
        "Best validation score of a race, in percent, by candidates tried", ("data set", "races", *marks), rows
    )


def folds_sheet(lines: Sequence[Line]) -> Sheet:
    """A row per data set and source of candidates."""
    heads = (
        "data set", "candidates", "own split and folds", "better half", "folds and other folds", "better half",
        "SD of one fold", "SD of candidates", "SD of the better half",
    )  # fmt: skip
    names = ("own_and_folds", "own_and_folds_better_half", "folds_and_folds", "folds_and_folds_better_half")
    rows = []
    for line in lines:
        correlations = [MISSING if line[n] is None else f"{line[n]:.2f}" for n in names]
        spreads = (f"sd_of_{n}" for n in ("a_fold", "candidates", "better_half"))
        sds = [MISSING if line[n] is None else f"{100 * line[n]:.2f}" for n in spreads]
        rows.append((f"{line['data']}, {line['source']}", str(line["used"]), *correlations, *sds))
    notes = ("rank correlations over candidates; the better half by the own split; spreads in percentage points",)
    return Sheet("Where validation stops telling", heads, tuple(rows), notes)
