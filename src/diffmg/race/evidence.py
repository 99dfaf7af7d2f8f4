"""How sure a race's choice is: the finalists beside each other, what more budget would bring, and chance."""

from __future__ import annotations

import math
import statistics

import torch
from torch import Tensor

from diffmg.core import Task
from diffmg.core.run import Evidence, Finalist
from diffmg.race.board import Board
from diffmg.race.choice import complete_candidates
from diffmg.race.field import Field
from diffmg.race.result import Chosen, judged_on_folds

RARE = 0.02
"""A score that fewer random deals than this share reach is above chance."""
SHUFFLES = 200
"""Random orders of the votes that the score is compared with."""


def evidence_of(board: Board, field: Field, chosen: Chosen) -> Evidence:
    """Everything a reader needs in order to judge the choice."""
    return Evidence(
        candidates=sum(bool(entry.values) for entry in board.entries),
        failed=board.failed,
        errors=tuple(dict.fromkeys(e.error for e in board.entries if e.error))[:5],
        finalists=tuple(_finalist(board, n) for n in board.ranked(least=2)),
        judged_on="folds" if judged_on_folds(field, complete_candidates(board, field)) else "validation",
        running_best=tuple(board.running_best),
        gain_of_doubling=_gain_of_doubling(board),
        shares=chosen.shares(),
        single=chosen.single.number,
        single_score=chosen.single_score,
        ensemble_score=chosen.ensemble_score,
        cut=sum(limit > 0 for limit in board.limits),
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


def chance_of(task: Task, votes: Tensor, score: float) -> tuple[float, bool]:
    """What votes that know nothing score on the test part, and whether the model is surely better than they are.

    Validation cannot tell: everything was chosen by it.
    """
    draw, blind = torch.Generator().manual_seed(0), task.blind_votes("test")
    return _dealt(task, votes, score, draw) if blind is None else _swapped(task, votes, blind, score, draw)


def _dealt(task: Task, votes: Tensor, score: float, draw: torch.Generator) -> tuple[float, bool]:
    """The mean score of the votes dealt out at random, and whether the score is higher than nearly all such deals."""
    dealt = [float(task.score_votes(task.dealt(votes, draw), "test")) for _ in range(SHUFFLES)]
    as_good = sum(task.sign * s >= task.sign * score for s in dealt)
    return statistics.fmean(dealt), as_good / SHUFFLES < RARE


def _swapped(task: Task, votes: Tensor, blind: Tensor, score: float, draw: torch.Generator) -> tuple[float, bool]:
    """The score of blind votes, and whether swapping them with the model's, example by example, nearly always loses.

    A paired permutation test: were the model no better, either could have made any of the votes.
    """

    def lead(one: Tensor, other: Tensor) -> float:
        return task.sign * float(task.score_votes(one, "test") - task.score_votes(other, "test"))

    chance = float(task.score_votes(blind, "test"))
    gain, as_good = task.sign * (score - chance), 0
    for _ in range(SHUFFLES):
        swap = torch.rand(len(votes), 1, generator=draw) < 0.5
        as_good += lead(torch.where(swap, blind, votes), torch.where(swap, votes, blind)) >= gain
    return chance, gain > 0 and as_good / SHUFFLES < RARE
