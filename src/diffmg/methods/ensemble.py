"""Several trained models as one: their votes are averaged, weighted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from diffmg.core import METHODS, DiffmgError, MetaGraph, Method, MethodSpec, Settings, Task
from diffmg.core.task import Folds
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._item_weights import ItemWeights, sum_of
from diffmg.tasks.problem import Problem
from diffmg.training.job import Immediate, Search

Joined = Literal["", "val", "all"]


@dataclass(frozen=True)
class Member:
    """One model of an ensemble: how its network is rebuilt, and the weight of its votes."""

    method: MethodSpec
    settings: Settings
    seed: int
    weight: float
    metagraphs: tuple[MetaGraph, ...] = ()
    fold: int = 0
    """0 where it was trained on the task's own split, else the number of the fold, from 1."""
    joined: Joined = ""
    """Whether it was trained on validation labels too, or on all labels."""


@METHODS.add("ensemble")
@dataclass(frozen=True)
class Ensemble(Method):
    """Members found by a race. It is not trained: its weights are those of its members."""

    members: tuple[Member, ...] = ()
    folds: int = 0
    fold_seed: int = 0

    summary = "several trained models, averaged; what a race leaves for prediction"
    family = "given"
    towers = ()

    def check(self, problem: Problem, settings: Settings) -> None:  # noqa: ARG002
        """It needs members."""
        if not self.members:
            raise DiffmgError("an ensemble needs one or more members, but got none; fit with `auto`, or with a budget")

    def search(self, problem: Problem, settings: Settings, seed: int) -> Search:  # noqa: ARG002
        """No search: finishes at once."""
        return Immediate(())

    def network(
        self,
        problem: Problem,
        settings: Settings,
        seed: int,  # noqa: ARG002
        metagraphs: Sequence[MetaGraph] = (),  # noqa: ARG002
    ) -> nn.Module:
        """The networks of its members, each on the fold it was trained on."""
        self.check(problem, settings)
        folds = problem.task.folds(self.folds, self.fold_seed) if self.folds else None
        networks = [
            m.method.make().network(_own_problem(problem, m, folds), m.settings, m.seed, m.metagraphs)
            for m in self.members
        ]
        return EnsembleNetwork(networks, [m.weight for m in self.members], problem)


def _own_problem(problem: Problem, member: Member, folds: Folds | None) -> Problem:
    """The problem with the labels that a member was trained on."""
    task: Task | None = problem.task
    if member.joined:
        task = problem.task.joined(test=member.joined == "all")
    elif member.fold and folds is not None:
        task = folds.tasks[member.fold - 1]
    return problem if task is None else replace(problem, task=task)


class EnsembleNetwork(nn.Module):
    """The members' networks, called like any other."""

    def __init__(self, networks: Sequence[nn.Module], weights: Sequence[float], problem: Problem) -> None:
        super().__init__()
        self.members, self.weights, self.task = nn.ModuleList(networks), tuple(weights), problem.task

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
        """The weighted average of the members' votes.

        Vectors as long as there are items are not set side by side: recommenders by weights of items are summed first.
        """
        long = [(m, w) for m, w in zip(self.members, self.weights, strict=True) if isinstance(m, ItemWeights)]
        others = [(m, w) for m, w in zip(self.members, self.weights, strict=True) if not isinstance(m, ItemWeights)]
        outputs, weights = [member(graph, generator=generator) for member, _ in others], [w for _, w in others]
        if long:
            outputs.append(sum_of([m for m, _ in long], [w for _, w in long], graph))
            weights.append(1.0)
        return self.task.blend(outputs, weights)
