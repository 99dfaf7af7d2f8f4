"""Scoring networks on validation examples that they were not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from diffmg.core import DiffmgError, Method, Task
from diffmg.core.task import Folds
from diffmg.explain.voters import Voter
from diffmg.methods.ensemble import Ensemble


@dataclass(frozen=True)
class Judge:
    """Scores what networks answer on validation examples that they were not trained on."""

    groups: tuple[tuple[Task, tuple[int, ...]], ...]
    """Tasks on the host, each with the numbers of the networks that are judged on its validation part."""
    whole: Task
    folds: Folds | None
    weights: tuple[float, ...]

    @classmethod
    def of(cls, method: Method, voters: Sequence[Voter], task: Task) -> Judge:
        """By fold, where networks were trained on folds."""
        task, weights = task.to("cpu"), tuple(v.weight for v in voters)
        used = sorted({v.fold for v in voters})
        if used == [0]:
            return cls(((task, tuple(range(len(voters)))),), task, None, weights)
        assert isinstance(method, Ensemble), "only members of an ensemble have folds"
        folds = task.folds(method.folds, method.fold_seed)
        assert folds is not None, "members were trained on them"
        groups = [(folds.tasks[f - 1], tuple(n for n, v in enumerate(voters) if v.fold == f)) for f in used if f]
        if len(groups) == 1:
            return cls(tuple(groups), groups[0][0], None, weights)
        if len(groups) < len(folds.tasks) or 0 in used:
            raise DiffmgError(
                f"the folds of an ensemble must all be there to judge it, but got {used} of {len(folds.tasks)}"
            )
        return cls(tuple(groups), folds.whole, folds, weights)

    def task_of(self, number: int) -> Task:
        """The task that a network is judged on."""
        return next(task for task, numbers in self.groups if number in numbers)

    def votes(self, outputs: Sequence[tuple[Tensor, ...]]) -> Tensor:
        """The votes of all networks together, from the outputs of each."""
        found = []
        for task, numbers in self.groups:
            own = [outputs[n] for n in numbers]
            blended = own[0] if len(outputs) == 1 else task.blend(own, [self.weights[n] for n in numbers])
            found.append(task.votes(blended, "val"))
        return found[0] if self.folds is None else self.folds.gather(found)
