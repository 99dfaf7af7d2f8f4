"""Training the model of given meta graphs, or any other; the best weights on validation are kept."""

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from diffmg.core import DiffmgError, MetaGraph, Settings
from diffmg.engine.randomness import generator
from diffmg.nn import DerivedModel
from diffmg.tasks.problem import Problem
from diffmg.training.best_weights import BestWeights
from diffmg.training.epochs import EpochRunner, Reports, adam, update
from diffmg.training.job import Epoch, Job
from diffmg.training.state import load_module, load_optimizer, module_state, optimizer_state, take


def build_model(problem: Problem, metagraphs: Sequence[MetaGraph], settings: Settings, seed: int) -> DerivedModel:
    """A fresh model for these meta graphs, one per target type of the task."""
    graph, task = problem.graph, problem.task
    labels = task.known_labels() if settings.label_inputs else None
    return DerivedModel(graph, problem.arranged(metagraphs), task.outputs, settings, seed, labels=labels)


@torch.no_grad()
def outputs_of(model: nn.Module, problem: Problem) -> tuple[Tensor, ...]:
    """Outputs of a model in evaluation mode: logits, or the representations of the two towers."""
    outputs: tuple[Tensor, ...] = model.eval()(problem.graph)
    return outputs


class ModelTraining(Job):
    """Trains a model, called `model(graph, generator=...)`; `best` holds the parameters of its best epoch."""

    def __init__(self, problem: Problem, model: nn.Module, settings: Settings, seed: int) -> None:
        self.problem, self.model = problem.evened(settings), model
        self.settings, self.seed = settings, seed
        self.total = settings.max_epochs
        self.optimizer = adam(list(self.model.parameters()), settings.lr, settings.weight_decay)
        self.dropout = generator(problem.graph.device, seed, "dropout")
        self.best_weights = BestWeights(self.model, settings.patience)
        self.steps = EpochRunner(self._epoch, problem.graph, self.total, [self.dropout])
        self.best_epoch = 0
        self.best_value = -float("inf")
        self.best_score = -float("inf")

    @property
    def done(self) -> bool:
        """Whether epochs or patience have run out."""
        patience = self.settings.patience
        return self.epoch >= self.total or (patience is not None and self.epoch - self.best_epoch >= patience)

    def launch(self) -> None:
        """Start the next epochs if they run without the host; `advance` then waits for them."""
        self.steps.launch(self.epoch)

    def advance(self) -> Sequence[Epoch]:
        """Full-batch updates, each followed by one evaluation for both loss and score."""
        records = []
        for record in self.steps.advance(self.epoch):
            records.append(record)
            self.epoch = record.epoch
            value = self._value(record.val_loss, record.val_score)
            if value > self.best_value:
                self.best_epoch, self.best_value, self.best_score = self.epoch, value, record.val_score
            if self.done:
                break
        return records

    def _epoch(self, done: Tensor) -> Reports:
        task = self.problem.task
        self.model.train()
        outputs = self.model(self.problem.graph, generator=self.dropout)
        loss = task.training_loss(outputs, done, self.seed)
        update(self.optimizer, loss)
        outputs = outputs_of(self.model, self.problem)
        val_loss, score = task.follow(outputs)
        self.best_weights.update(done + 1, self._value(val_loss, score))
        return loss, val_loss, score

    def _value(self, val_loss: float | Tensor, score: float | Tensor) -> Any:
        """The value to maximise: the score, negated if lower is better, or the negative loss."""
        if self.settings.select == "loss":
            return -val_loss
        if self.settings.select == "last":
            return self.best_weights.epoch + 1 if isinstance(val_loss, Tensor) else self.epoch
        return score if self.problem.task.sign > 0 else -score

    @property
    def best(self) -> dict[str, Tensor]:
        """The parameters of the best epoch by name; empty before there is one."""
        return self.best_weights.best()

    def best_model(self) -> nn.Module:
        """A copy of the model with the parameters of its best epoch."""
        best = self.best
        if not best:
            raise DiffmgError(
                f"training must have an epoch with a validation score that is a number, but got none in {self.epoch}; "
                f"lower the learning rate ({self.settings.lr})"
            )
        model = copy.deepcopy(self.model)
        model.load_state_dict(model.state_dict() | best)
        return model

    def tensors(self) -> dict[str, Tensor]:
        """Parameters, moments, the best epoch's parameters, the state of the dropout generator."""
        best = {f"best.{name}": t.cpu().clone() for name, t in self.best.items()}
        state = module_state("model", self.model) | optimizer_state("adam", self.optimizer) | best
        return state | {"dropout": self.dropout.get_state()}

    def numbers(self) -> dict[str, Any]:
        """The best epoch, its value and its score."""
        return {"best_epoch": self.best_epoch, "best_value": self.best_value, "best_score": self.best_score}

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:
        """Resume from a checkpoint."""
        load_module("model", self.model, tensors)
        load_optimizer("adam", self.optimizer, tensors)
        self.dropout.set_state(tensors["dropout"])
        self.best_epoch, self.best_value = numbers["best_epoch"], numbers["best_value"]
        self.best_score = numbers["best_score"]
        self.best_weights.restore(take("best", tensors), self.best_value, self.best_epoch)


class Training(ModelTraining):
    """Trains the model of given meta graphs."""

    def __init__(self, problem: Problem, metagraphs: Sequence[MetaGraph], settings: Settings, seed: int) -> None:
        self.metagraphs = problem.arranged(metagraphs)
        super().__init__(problem, build_model(problem, self.metagraphs, settings, seed), settings, seed)
