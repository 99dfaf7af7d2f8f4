"""Shared by baselines that are computed at once, not trained by gradients."""

from typing import ClassVar

from diffmg.core import Settings
from diffmg.core.candidate import Candidate, CandidateSpace, OptionSpace, balances
from diffmg.methods.baselines._base import Baseline
from diffmg.methods.baselines._labels import TrainingLabels
from diffmg.tasks.problem import Problem


class FittedBaseline(Baseline):
    """A baseline whose network is `Fitted`: of the settings of a training only `balance` may matter to it."""

    on_host: ClassVar = True
    weighs_classes: ClassVar[bool] = False
    """Whether it hears how much classes weigh."""

    def space(self, problem: Problem, settings: Settings) -> CandidateSpace:
        """Its tunable options, and how much classes are evened out, where it can."""
        free = balances(problem) if self.weighs_classes and not settings.balance else {}
        return OptionSpace(Candidate(self, settings), self.tunable_on(problem), free)


class FittedOnLabels(FittedBaseline):
    """For tasks with classes or numbers of nodes."""

    towers = (1,)

    def check(self, problem: Problem, settings: Settings) -> None:
        """Also require classes or numbers."""
        super().check(problem, settings)
        TrainingLabels.of(problem.task)
