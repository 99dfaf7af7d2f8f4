"""How sure a race's choice is: the finalists beside each other, what more budget would bring, and chance."""

from __future__ import annotations

import math
import statistics

import torch

from diffmg.core.run import Evidence, Finalist
from diffmg.race.board import Board
from diffmg.race.field import Field
from diffmg.race.result import Chosen

SHUFFLES = 200
"""Random orders of the votes that the score is compared with."""


def evidence_of(board: Board, field: Field, chosen: Chosen, limit: int | None) -> Evidence:
    """Everything a reader needs in order to judge the choice."""
    most = max(len(e.values) for e in board.entries)
    chance, share = _chance(field, chosen)
    return Evidence(
        candidates=len(board.entries),
        failed=board.failed,
        errors=tuple(dict.fromkeys(e.error for e in board.entries if e.error))[:5],
        finalists=tuple(_finalist(board, n) for n in board.ranked(least=2)),
        judged_on="folds" if field.folds is not None and most > 1 else "validation",
        running_best=tuple(board.running_best),
        gain_of_doubling=_gain_of_doubling(board),
        chance=chance,
        above_chance=share < 0.05,
        shares=chosen.shares(),
        single=chosen.single.number,
        single_score=chosen.single_score,
        ensemble_score=chosen.ensemble_score,
        epochs_limit=limit,
    )


def _finalist(board: Board, number: int) -> Finalist:
    entry = board.entries[number]
    values = [board.sign * v for v in entry.values.values()]
    return Finalist(
        number, entry.candidate.described(), statistics.fmean(values), statistics.stdev(values), len(values)
    )


def _gain_of_doubling(board: Board) -> float:
    """How much higher the best of all first trainings is expected to be than the best of half of them."""
    firsts = sorted(v for v in (next(iter(e.values.values()), -math.inf) for e in board.entries) if math.isfinite(v))
    half = len(firsts) // 2
    if half < 1:
        return math.nan
    count = len(firsts)
    chances = [math.comb(place, half - 1) / math.comb(count, half) for place in range(count)]
    return firsts[-1] - sum(value * chance for value, chance in zip(firsts, chances, strict=True))


def _chance(field: Field, chosen: Chosen) -> tuple[float, float]:
    """The mean score of votes dealt out at random, and the share of such deals that score as well."""
    whole = field.problem.task if field.folds is None else field.folds.whole
    task, votes = whole.to("cpu"), chosen.votes
    if len(votes) != task.size("val"):
        task = field.problem.task.to("cpu")
    draw = torch.Generator().manual_seed(0)
    shuffled = [
        float(task.score_votes(votes[torch.randperm(len(votes), generator=draw)], "val")) for _ in range(SHUFFLES)
    ]
    better = sum(task.sign * s >= task.sign * chosen.ensemble_score for s in shuffled)
    return statistics.fmean(shuffled), better / SHUFFLES
