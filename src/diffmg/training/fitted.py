"""Training in one step: networks that are computed from the training labels at once."""

import copy
from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from diffmg.core import Settings
from diffmg.nn.fitted import Fitted
from diffmg.tasks.problem import Problem
from diffmg.training.job import Epoch, Job
from diffmg.training.state import load_module, module_state
from diffmg.training.training import ModelTraining, outputs_of


class FittedTraining(Job):
    """Fits a network once and evaluates it; to its callers, a training of one epoch."""

    total = 1

    def __init__(self, problem: Problem, model: Fitted, settings: Settings, seed: int) -> None:
        self.problem, self.model, self.settings, self.seed = problem.evened(settings), model, settings, seed
        self.best_epoch, self.best_value, self.best_score = 0, -float("inf"), -float("inf")

    def launch(self) -> None:
        """Nothing runs ahead of the host."""

    def advance(self) -> Sequence[Epoch]:
        """Fit, then evaluate on validation."""
        self.model.fit(self.problem, self.seed)
        outputs, task = outputs_of(self.model, self.problem), self.problem.task
        val_loss, score = (float(x) for x in task.evaluate(outputs, "val"))
        self.epoch = self.best_epoch = 1
        self.best_score = score
        self.best_value = -val_loss if self.settings.select == "loss" else score * task.sign
        return [Epoch(1, float(task.loss(outputs, "train")), val_loss, score)]

    @property
    def best(self) -> dict[str, Tensor]:
        """Its state by name; empty before it was fitted."""
        return dict(self.model.state_dict()) if self.epoch else {}

    def best_model(self) -> nn.Module:
        """A copy of the fitted network."""
        return copy.deepcopy(self.model)

    def tensors(self) -> dict[str, Tensor]:
        """What was fitted."""
        return module_state("model", self.model) if self.epoch else {}

    def numbers(self) -> dict[str, Any]:
        """Its value and its score."""
        return {"best_value": self.best_value, "best_score": self.best_score}

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:
        """Resume from a checkpoint."""
        if tensors:
            load_module("model", self.model, tensors)
            self.best_epoch, self.best_value, self.best_score = 1, numbers["best_value"], numbers["best_score"]


AnyTraining = ModelTraining | FittedTraining


def training_of(problem: Problem, network: nn.Module, settings: Settings, seed: int) -> AnyTraining:
    """The training of a network: by gradients, or in one step."""
    if isinstance(network, Fitted):
        return FittedTraining(problem, network, settings, seed)
    return ModelTraining(problem, network, settings, seed)
