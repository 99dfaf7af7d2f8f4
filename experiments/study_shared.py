"""Whether shared weights can judge meta graphs: their scores beside those of real trainings."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from functools import partial

import torch
from torch import Tensor

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import MetaGraph
from diffmg.core.space import SearchSpace
from diffmg.methods.search._gradient import GradientSearch
from diffmg.methods.search.diffmg import DiffMGSearch
from diffmg.training.job import Quiet, drive
from experiments.study_subject import Line, Subject
from experiments.tables import MISSING, Sheet
from experiments.trained import MetaGraphs, number

Numbers = Sequence[float | None]
JUDGES = {
    "published": ("diffmg", {}),
    "published, always exploring": ("diffmg", {"epsilon": 1.0, "decay": 1.0}),
    "messages not scaled": ("diffmg_corrected", {"warm_up": 0.0}),
    "messages not scaled, always exploring": ("diffmg_corrected", {"warm_up": 1.0}),
}
"""Ways to train shared weights: a search and its options."""


def measure_shared(subject: Subject) -> list[Sheet]:
    """Correlation of shared-weights scores with real ones, for every judge and search seed."""
    lines = []
    for judge in JUDGES:
        for seed in range(subject.seeds):
            counts = {"depth": subject.depth, "candidates": subject.candidates}
            key = {"what": "shared", **counts, "judge": judge, "seed": seed}
            lines.append(subject.once(key, partial(_measured, subject, judge, seed)))
    return [shared_sheet(lines)]


def _measured(subject: Subject, judge: str, seed: int) -> Line:
    search = subject.method(*JUDGES[judge]).search(subject.problem, subject.settings, seed)
    assert isinstance(search, GradientSearch), "all judges search by gradients"
    drive("search", search, Quiet())
    trained, sign = subject.trained_at_random(), subject.problem.task.sign
    pairs = list(zip(shared_scores(search, subject.random_metagraphs()), trained, strict=True))
    return compared([(sign * a, sign * b) for (a, _), b in pairs if b is not None and math.isfinite(a)])


@torch.no_grad()
def shared_scores(search: GradientSearch, several: Iterable[MetaGraphs]) -> list[tuple[float, float]]:
    """Validation score and loss of meta graphs with the weights of a search, scaled by α where the search does so."""
    problem, found = search.problem, []
    for metagraphs in several:
        towers = zip(search.towers, metagraphs, strict=True)
        weights = [t.weights(_picks(t.space, m).to(t.mask.device)) for t, m in towers]
        scaled = weights if isinstance(search, DiffMGSearch) else None
        loss, score = problem.task.evaluate(search.model(problem.graph, metagraphs, scaled), "val")
        found.append((float(score), float(loss)))
    return found


def _picks(space: SearchSpace, metagraph: MetaGraph) -> Tensor:
    """For each link, the number of its candidate."""
    several = zip(space.candidates, metagraph.operations, strict=True)
    return torch.tensor([candidates.index(operations[0]) for candidates, operations in several])


def compared(pairs: Sequence[tuple[float, float]]) -> Line:
    """How far the first numbers, of a proxy, tell the order of the second ones, of real trainings."""
    if not pairs:
        raise DiffmgError("a comparison needs meta graphs with two scores, but got none; look at a single training")
    real = [b for _, b in pairs]
    middle = statistics.median(real)
    picked = max(pairs)[1]
    better = [pair for pair in pairs if pair[1] >= middle]
    return {
        "pairs": [[number(a), number(b)] for a, b in pairs],
        "spearman": spearman(pairs),
        "spearman_better_half": spearman(better),
        "picked": number(picked),
        "better_than_picked": sum(b > picked for b in real),
        "mean": number(statistics.fmean(real)),
        "best": number(max(real)),
    }


def spearman(pairs: Sequence[tuple[float, float]]) -> float | None:
    """The rank correlation; None where one side is constant."""
    from scipy.stats import spearmanr

    if len(pairs) < 3 or any(len(set(side)) < 2 for side in zip(*pairs, strict=True)):
        return None
    return number(float(spearmanr(*zip(*pairs, strict=True)).statistic), 3)


def shared_sheet(lines: Sequence[Line]) -> Sheet:
    """Means over search seeds, a row per data set and judge."""
    groups: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        groups.setdefault((line["data"], line["judge"]), []).append(line)
    heads = ("data set, shared weights", "seeds", "rank correlation", "of the better half", "picked", "mean", "best")
    rows = tuple((f"{data}, {judge}", *_cells(several)) for (data, judge), several in groups.items())
    count = max((len(line["pairs"]) for line in lines), default=0)
    notes = (
        f"over {count} random meta graphs; `picked`: the really trained validation score, in percent, of the one that "
        "shared weights like best, beside the mean and the best of all",
    )
    return Sheet("Shared weights as a judge of meta graphs", heads, rows, notes)


def _cells(lines: Sequence[Line]) -> tuple[str, ...]:
    correlations = (mean_of(lines, name, 1, 2) for name in ("spearman", "spearman_better_half"))
    return (str(len(lines)), *correlations, *(mean_of(lines, name, 100, 2) for name in ("picked", "mean", "best")))


def mean_of(lines: Sequence[Line], name: str, scale: float, digits: int) -> str:
    """Mean ± standard deviation of a number over lines."""
    values = [scale * line[name] for line in lines if line[name] is not None]
    spread = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.{digits}f}{spread}" if values else MISSING
