"""What each meta path is worth: the drop of the validation score without it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from diffmg.core import DiffmgError, MetaPath, Method, Task
from diffmg.core.importance import PathImportance
from diffmg.explain.all_rows import path_contributions
from diffmg.explain.judge import Judge
from diffmg.explain.limits import levels_within, one_pass
from diffmg.explain.tower import towers_of
from diffmg.explain.voters import Voter, voters_of
from diffmg.nn import DerivedModel
from diffmg.tasks.problem import Problem
from diffmg.training.training import outputs_of

MOST = 24
"""Paths that are judged: those that bring most to the nodes of the validation part."""
DRAWS = 40
"""Resamples of the validation part, at most, for the standard error."""
PATHS, NUMBERS, WORK = 1000, 5e7, 3e9
"""Limits on all models together: paths that are told apart, numbers in memory, multiplications."""
Key = tuple[int, MetaPath]
"""The number of a tower, and a path into it."""


@dataclass(frozen=True)
class Opened:
    """A network with a meta graph, and what each path brings to the rows that are judged."""

    network: DerivedModel
    results: tuple[Tensor, ...]
    """What comes before the norm, of each tower's rows."""
    rows: tuple[Tensor, ...]
    parts: dict[Key, Tensor]

    def size(self, key: Key) -> float:
        """How much of the result a path is."""
        return float(self.parts[key].norm() / self.results[key[0]].norm().clamp_min(1e-12))

    def without(self, key: Key, outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The outputs if nothing arrived along a path."""
        number, rows = key[0], self.rows[key[0]]
        rest = self.network.finished(number, self.results[number] - self.parts[key], rows)
        changed = outputs[number].clone()
        changed[rows.cpu()] = rest.cpu()
        return tuple(changed if n == number else z for n, z in enumerate(outputs))


@torch.no_grad()
def path_importances(method: Method, network: torch.nn.Module, problem: Problem) -> tuple[PathImportance, ...]:
    """The meta paths that bring most, by how much worse the validation score is without them; test is never read.

    A path is taken out before the norm of every network of an ensemble that has it. Raises where no network has a meta
    graph, where one was trained on validation labels, and where the network is too large.
    """
    voters = voters_of(method, network)
    if any(voter.refitted for voter in voters):
        raise DiffmgError(
            "importances need validation labels that the model was not trained on, but got one after a refit; "
            "those of what was chosen are in run.json"
        )
    if sum(one_pass(voter.network, problem.graph) for voter in voters) > WORK:
        raise _too_large(problem, len(voters))
    judge = Judge.of(method, voters, problem.task)
    outputs = [tuple(z.cpu() for z in outputs_of(voter.network, problem)) for voter in voters]
    opened = [_open(voter, judge.task_of(n), problem, len(voters)) for n, voter in enumerate(voters)]
    sizes = _largest(opened, [voter.weight for voter in voters])
    keys = list(sizes)
    base = judge.votes(outputs)
    both = list(zip(opened, outputs, strict=True))
    others = (judge.votes([_without(one, key, z) for one, z in both]) for key in keys)
    found = [
        PathImportance(problem.task.target_types[key[0]], key[1], drop, std, sizes[key])
        for key, (drop, std) in zip(keys, _drops(judge.whole, base, others), strict=True)
        if math.isfinite(drop)
    ]
    return tuple(sorted(found, key=lambda p: -p.drop))  # of equal drops, the path that brings more is first


def _without(one: Opened | None, key: Key, outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return outputs if one is None or key not in one.parts else one.without(key, outputs)


def _open(voter: Voter, task: Task, problem: Problem, several: int) -> Opened | None:
    """A network taken apart; None without a meta graph."""
    if not isinstance(voter.network, DerivedModel):
        return None
    parts: dict[Key, Tensor] = {}
    results, rows = [], []
    towers = towers_of(voter.network, problem.graph)
    for number, (tower, judged) in enumerate(zip(towers, task.judged("val"), strict=True)):
        index = torch.arange(len(tower.result)) if judged is None else judged
        index = index.to(tower.result.device)
        most = min(PATHS, NUMBERS / (len(index) * tower.result.shape[1])) / (several * len(towers))
        levels, complete = levels_within(tower, int(most), WORK / (several * len(towers)))
        if len(levels) < 2 and not complete:
            raise _too_large(problem, several)
        paths = [path for level in levels for path in level]
        for path, values in path_contributions(tower, paths, index).items():
            if values.any():
                parts[number, path] = values
        results.append(tower.result[index])
        rows.append(index)
    return Opened(voter.network, tuple(results), tuple(rows), parts)


def _too_large(problem: Problem, models: int) -> DiffmgError:
    return DiffmgError(
        f"a network must be small enough to take its meta paths apart (about {WORK:.0e} multiplications), "
        f"but got {sum(problem.graph.num_nodes.values())} nodes and {models} models"
    )


def _largest(opened: Sequence[Opened | None], weights: Sequence[float]) -> dict[Key, float]:
    """The paths that bring most, and how much: the mean over the networks with a meta graph, by their weights."""
    sizes: dict[Key, float] = {}
    known = [(one, weight) for one, weight in zip(opened, weights, strict=True) if one is not None]
    for one, weight in known:
        for key in one.parts:
            sizes[key] = sizes.get(key, 0.0) + weight * one.size(key) / sum(w for _, w in known)
    return dict(sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:MOST])


def _drops(task: Task, base: Tensor, others: Iterator[Tensor]) -> Iterator[tuple[float, float]]:
    """For each model that lacks something, how far its score is behind, and the standard error of that."""
    score, whole = float(task.score_votes(base, "val")), task.resample_votes(base, "val", DRAWS)
    for votes in others:
        drop = task.sign * (score - float(task.score_votes(votes, "val")))
        rest = None if whole is None else task.resample_votes(votes, "val", DRAWS)
        if whole is None or rest is None:
            yield drop, math.sqrt(2) * task.standard_error(score)
            continue
        gaps = whole.minus(rest)
        yield drop, float(gaps.std(ddof=1)) if len(gaps) > 1 else 0.0
