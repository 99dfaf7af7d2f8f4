"""Retraining: train the model of given meta graphs, keep the epoch that is best on validation."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from diffmg.errors import DiffmgError
from diffmg.metagraph import MetaGraph
from diffmg.nn import EncoderOptions, Model
from diffmg.nn.model import types_of
from diffmg.randomness import generator
from diffmg.train.job import Epoch, Job
from diffmg.train.problem import Problem
from diffmg.train.settings import TrainSettings
from diffmg.train.state import load_module, load_optimizer, module_state, optimizer_state, take


def encoder_options(settings: TrainSettings) -> EncoderOptions:
    """The encoder that retraining uses."""
    norm = "learned" if settings.layer_norm else "off"
    return EncoderOptions(settings.dim, norm, settings.tanh, settings.dropout)  # type: ignore[arg-type]


def build_model(problem: Problem, metagraphs: Sequence[MetaGraph], settings: TrainSettings, seed: int) -> Model:
    """A fresh model for these meta graphs, one per target type of the task."""
    return Model(
        problem.graph, types_of(problem.arranged(metagraphs)), problem.task.outputs, encoder_options(settings), seed
    )


@torch.no_grad()
def outputs_of(model: Model, problem: Problem, metagraphs: Sequence[MetaGraph]) -> tuple[Tensor, ...]:
    """Outputs of a model as it is, without dropout: logits, or the representations of the two towers."""
    outputs: tuple[Tensor, ...] = model.eval()(problem.graph, metagraphs)
    return outputs


class Training(Job):
    """Trains one model; `best` holds the parameters of its best epoch."""

    def __init__(self, problem: Problem, metagraphs: Sequence[MetaGraph], settings: TrainSettings, seed: int) -> None:
        self.problem, self.metagraphs = problem, problem.arranged(metagraphs)
        self.settings, self.seed = settings, seed
        self.total = settings.max_epochs
        self.model = build_model(problem, self.metagraphs, settings, seed)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay, fused=True
        )
        self.dropout = generator(problem.graph.device, seed, "dropout")
        self.best: dict[str, Tensor] = {}
        self.best_epoch = 0
        self.best_value = -float("inf")
        self.best_score = -float("inf")

    @property
    def done(self) -> bool:
        """Out of epochs or of patience."""
        patience = self.settings.patience
        return self.epoch >= self.total or (patience is not None and self.epoch - self.best_epoch >= patience)

    def advance(self) -> Epoch:
        """One full-batch update and one evaluation, which serves the loss and the score."""
        graph, task = self.problem.graph, self.problem.task
        self.model.train()
        self.optimizer.zero_grad()
        loss = task.loss(self.model(graph, self.metagraphs, generator=self.dropout), "train")
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        outputs = outputs_of(self.model, self.problem, self.metagraphs)
        val_loss = float(task.loss(outputs, "val"))
        score = float(task.scores(outputs, "val")[task.metric])
        self.epoch += 1
        value = score if self.settings.select == "score" else -val_loss
        if value > self.best_value:
            self.best_epoch, self.best_value, self.best_score = self.epoch, value, score
            self.best = {name: t.detach().clone() for name, t in self.model.state_dict().items()}
        return Epoch(self.epoch, float(loss.detach()), val_loss, score)

    def best_model(self) -> Model:
        """A copy of the model with the parameters of its best epoch."""
        if not self.best:
            raise DiffmgError(
                f"training must have an epoch with a validation score that is a number, but got none in {self.epoch}; "
                f"lower the learning rate ({self.settings.lr})"
            )
        model = copy.deepcopy(self.model)
        model.load_state_dict(self.best)
        return model

    def tensors(self) -> dict[str, Tensor]:
        """Parameters, moments, the best epoch's parameters, the dropout stream."""
        best = {f"best.{name}": t.cpu().clone() for name, t in self.best.items()}
        state = module_state("model", self.model) | optimizer_state("adam", self.optimizer) | best
        return state | {"dropout": self.dropout.get_state()}

    def numbers(self) -> dict[str, Any]:
        """What the choice of the best epoch rests on."""
        return {"best_epoch": self.best_epoch, "best_value": self.best_value, "best_score": self.best_score}

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:
        """Go on from a saved state."""
        load_module("model", self.model, tensors)
        load_optimizer("adam", self.optimizer, tensors)
        self.best = {name: t.to(self.problem.graph.device) for name, t in take("best", tensors).items()}
        self.dropout.set_state(tensors["dropout"])
        self.best_epoch, self.best_value = numbers["best_epoch"], numbers["best_value"]
        self.best_score = numbers["best_score"]
