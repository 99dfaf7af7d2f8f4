"""What a race leaves: the best single model, an ensemble, both chosen by validation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from diffmg.core import Task
from diffmg.core.run import Share
from diffmg.race.board import Board, Turn
from diffmg.race.choice import Pick, best_single, complete_candidates
from diffmg.race.ensemble import choose_ensemble, diverse_pool
from diffmg.race.field import Field
from diffmg.training.training import outputs_of

FEWEST = 3
"""Candidates that must have been judged on folds that go forward, for an ensemble of them."""
CONSIDERED = 200
"""The best models by themselves, whose votes are compared."""
COMPARED = 2**28
"""Most numbers of the votes of all of them."""


@dataclass(frozen=True)
class Chosen:
    """The best single model, and the ensemble; scores on validation, in the metric's own direction."""

    single: Pick
    single_score: float
    members: tuple[Pick, ...]
    ensemble_score: float

    def shares(self) -> tuple[Share, ...]:
        """For each candidate in the ensemble, its share."""
        total: dict[int, float] = {}
        for pick in self.members:
            total[pick.number] = total.get(pick.number, 0.0) + pick.share
        whole = sum(total.values())
        return tuple(Share(number, weight / whole) for number, weight in total.items())


def choose(board: Board, field: Field) -> Chosen:
    """Choose by validation: on all folds where finalists have them, else on the validation part."""
    single, complete = best_single(board, field), complete_candidates(board, field)
    if not judged_on_folds(field, complete):
        members, score = _by_models(board, field)
    else:
        members, score = _by_folds(board, field, complete)
        if not field.forward:
            members = _beside(members, _by_models(board, field)[0])
    return Chosen(single, board.sign * board.entries[single.number].value, members, score)


def _beside(judged: tuple[Pick, ...], others: tuple[Pick, ...]) -> tuple[Pick, ...]:
    """Models of the folds, and the ensemble of those that were trained on the task's own split as one more candidate.

    A short race judges one or two candidates on folds, which differ too little to make up for each other's errors.
    """
    own = 1 / (1 + len({pick.number for pick in judged}))
    scaled = [replace(p, weight=p.weight * (1 - own), share=p.share * (1 - own)) for p in judged]
    return *scaled, *(replace(p, weight=p.weight * own, share=p.share * own) for p in others)


def judged_on_folds(field: Field, complete: list[int]) -> bool:
    """Whether the ensemble is chosen on folds; where a candidate gives but one model, several candidates are needed."""
    return len(complete) >= (FEWEST if field.forward else 1)


def _by_folds(board: Board, field: Field, complete: list[int]) -> tuple[tuple[Pick, ...], float]:
    folds = field.folds
    assert folds is not None, "only finalists with folds are judged on them"
    turns = field.turns
    votes = [folds.gather([_votes(board, field, n, turn) for turn in turns]) for n in complete]
    whole = folds.whole.to("cpu")

    def score(mean: Tensor) -> float:
        return board.sign * float(whole.score_votes(mean, "val"))

    shares = choose_ensemble(votes, score, whole.standard_error(board.best()))
    mean = torch.stack([votes[n] * share for n, share in shares.items()]).sum(dim=0)
    used = turns[-1:] if folds.forward else turns
    each = [(n, share / len(used)) for n, share in shares.items()]
    members = [Pick(complete[n], turn, share, share) for n, share in each for turn in used]
    return tuple(members), board.sign * score(mean)


def _by_models(board: Board, field: Field) -> tuple[tuple[Pick, ...], float]:
    """Of all models that were trained on the task's own split."""
    task, shares, scored, picks = own_split_ensemble(board, field)
    sureness = task.vote_calibration(scored, "val")
    members = tuple(
        replace(p, weight=p.weight * share * sureness, share=share) for p, share in zip(picks, shares, strict=True)
    )
    return members, float(task.score_votes(scored, "val"))


def own_split_ensemble(board: Board, field: Field) -> tuple[Task, list[float], Tensor, list[Pick]]:
    """The greedy ensemble by the validation part: the task, shares, votes, and models with their scales as weights."""
    task = field.problem.task.to("cpu")
    own = [key for key in board.models if key[1].fold == 0]
    ranked = sorted(own, key=lambda key: (-board.entries[key[0]].values[key[1]], key))
    keys = ranked[: min(CONSIDERED, max(2, COMPARED // max(1, _votes(board, field, *ranked[0]).numel())))]
    scales = [task.vote_scale(_votes(board, field, *key)) for key in keys]
    votes = [_votes(board, field, *key) * scale for key, scale in zip(keys, scales, strict=True)]
    pool = diverse_pool(votes, [board.entries[number].candidate.method.name for number, _ in keys])

    def score(mean: Tensor) -> float:
        value = float(task.score_votes(mean, "val"))
        return board.sign * value if math.isfinite(value) else -math.inf

    margin = task.standard_error(board.best())
    chosen = {pool[n]: share for n, share in choose_ensemble([votes[n] for n in pool], score, margin).items()}
    mean = torch.stack([votes[n] * share for n, share in chosen.items()]).sum(dim=0)
    return task, list(chosen.values()), mean, [Pick(*keys[n], scales[n]) for n in chosen]


def _votes(board: Board, field: Field, number: int, turn: Turn) -> Tensor:
    """The votes of a model; computed, and kept, where its training did not need them."""
    outcome = board.models[number, turn]
    if outcome.votes is None:
        problem, candidate = field.on(turn.fold), board.entries[number].candidate
        network = candidate.method.network(problem, candidate.settings, 0, outcome.metagraphs)
        network.load_state_dict(dict(outcome.weights))
        votes = problem.task.votes(outputs_of(network, problem), "val").cpu()
        board.models[number, turn] = outcome = replace(outcome, votes=votes)
    assert outcome.votes is not None, "they were computed"
    return outcome.votes
