from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from benchmarks.reference import RetrainReference, StackedNetwork, Tower, train
from diffmg.core.metagraph import MetaGraph
from diffmg.core.program import compile_program
from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.engine.randomness import generator
from diffmg.methods.search.random import RandomMetaGraph
from diffmg.nn import Encoder
from diffmg.tasks import NodeClassification
from diffmg.tasks.problem import Problem
from diffmg.training import Training
from diffmg.training.training import build_model, outputs_of
from reference_weights import CLOSE, copy_model, copy_tower, gradient, gradients, model_values, tower_values, value
from worlds import metagraphs, worlds

SETTINGS = Settings(dim=8, dropout=0.0, patience=None, max_epochs=6)
VARIANTS = [SETTINGS, replace(SETTINGS, layer_norm=False), replace(SETTINGS, tanh=True)]


def drawn(problem: Problem, seed: int = 0) -> tuple[MetaGraph, ...]:
    return RandomMetaGraph().search(problem, SETTINGS, seed).found()


def loss_of(live: RetrainReference, part: str) -> Tensor:
    return live.targets.loss(live.targets.predicted(live.model(live.metagraphs), part), part)


def several_labels(problem: Problem) -> Problem:
    """The same network where an author may have two of the four fields."""
    task = problem.task
    labels = torch.nn.functional.one_hot(task.labels, task.outputs) | torch.nn.functional.one_hot(
        (task.labels + torch.arange(len(task.labels)) % 2) % task.outputs, task.outputs
    )
    parts = {part: index.numpy() for part, index in task.parts.items()}
    return Problem(problem.graph, NodeClassification.build(task.target, labels.numpy(), **parts))


def in_double(network: StackedNetwork) -> StackedNetwork:
    """The same network with products in double precision; its matrices are still those of single precision."""
    network.matrices = {relation: matrix.double() for relation, matrix in network.matrices.items()}
    network.inputs = [x if x is None else x.double() for x in network.inputs]
    return network


def reference_in_double(problem: Problem, found: tuple[MetaGraph, ...], settings: Settings) -> RetrainReference:
    live = RetrainReference(problem, found, settings, 99)
    live.model.double()
    for tower in live.model.towers:
        in_double(tower.network)
    return live


def assert_same(theirs: dict[str, Tensor], ours: dict[str, Tensor]) -> None:
    """Equal but for the matrices, which both keep in single precision."""
    assert theirs.keys() == ours.keys()
    for name, x in ours.items():
        torch.testing.assert_close(theirs[name], x, rtol=0, atol=1e-5 * max(1.0, x.abs().max().item()), msg=name)


@given(worlds(), st.data(), st.sampled_from(["learned", "plain", "off"]), st.booleans(), st.booleans())
def test_a_tower_is_the_encoder_on_any_network(world, data, norm, tanh, weighted):
    """Outputs, and gradients of every parameter and every weight."""
    graph, metagraph = world.graph(), data.draw(metagraphs(world.schema))
    assume(compile_program(metagraph).steps)
    settings, learned = Settings(dim=4, layer_norm=norm != "off", tanh=tanh, dropout=0.0), norm == "learned"
    types, draw = graph.schema.node_types, generator("cpu", 0)
    encoder = Encoder(graph, types, settings, draw, learned_norm=learned).double()
    tower = Tower(in_double(StackedNetwork(graph)), metagraph.target, settings, learned_scale=learned).double()
    copy_tower(encoder, tower)
    start = torch.linspace(0.3, 1.0, len(metagraph.choices), dtype=torch.float64)
    weights = [start.clone().requires_grad_() for _ in range(2)]
    ours = encoder(graph.to(dtype=torch.float64), compile_program(metagraph), weights[0] if weighted else None)
    theirs = tower(metagraph, weights[1] if weighted else None)
    direction = torch.from_numpy(np.random.default_rng(0).standard_normal(ours.shape))
    (ours * direction).sum().backward()
    (theirs * direction).sum().backward()
    assert_same({"output": theirs, "weights": gradient(weights[1])}, {"output": ours, "weights": gradient(weights[0])})
    assert_same(tower_values(encoder, tower, gradient), gradients(encoder))


@pytest.mark.parametrize("settings", VARIANTS, ids=["norm", "no norm", "tanh"])
@pytest.mark.parametrize("seed", range(3))
def test_an_evaluation_and_its_gradients_are_ours(problem, settings, seed):
    """In double precision: sums of small gradients in another order lose digits of single precision."""
    found, live = drawn(problem, seed), reference_in_double(problem, drawn(problem, seed), settings)
    problem = replace(problem, graph=problem.graph.to(dtype=torch.float64))
    graph, task, model = problem.graph, problem.task, build_model(problem, found, settings, seed).double()
    copy_model(model, live.model)
    outputs = outputs_of(model, problem)
    seen = live.evaluate()
    torch.testing.assert_close(live.outputs, outputs, **CLOSE)
    assert seen["val_loss"] == pytest.approx(float(task.loss(outputs, "val")), rel=1e-5)
    assert seen["val_score"] == pytest.approx(float(task.scores(outputs, "val")[task.metric]), rel=1e-5)
    model.train()
    task.loss(model(graph), "train").backward()
    loss_of(live, "train").backward()
    torch.testing.assert_close(model_values(model, live.model, gradient), gradients(model), **CLOSE)


def test_an_epoch_is_ours(problem):
    """Without dropout: the losses, the score, and every parameter after the update."""
    found = drawn(problem)
    job, live = Training(problem, found, SETTINGS, 0), RetrainReference(problem, found, SETTINGS, 1)
    copy_model(job.model, live.model)
    before = {name: p.clone() for name, p in value_of(job).items()}
    seen = live.epoch()
    job.advance()
    after = value_of(job)
    torch.testing.assert_close(model_values(job.model, live.model, value), after, rtol=1e-3, atol=1e-5)
    assert all(not torch.equal(after[name], p) for name, p in before.items())
    outputs = outputs_of(job.model, problem)
    assert seen["val_loss"] == pytest.approx(float(problem.task.loss(outputs, "val")), rel=1e-4)


def value_of(job: Training) -> dict[str, Tensor]:
    return {name: p.detach() for name, p in job.model.named_parameters()}


def test_dropout_acts_in_the_update_and_not_in_the_evaluation(problem):
    live = RetrainReference(problem, drawn(problem), replace(SETTINGS, dropout=0.5), 0)
    live.model.train()
    assert not torch.equal(loss_of(live, "train"), loss_of(live, "train"))
    assert live.evaluate() == live.evaluate()
    live.epoch()
    assert live.evaluate() == live.evaluate()


def test_same_seed_same_epochs(problem):
    settings = replace(SETTINGS, dropout=0.5)
    first = [RetrainReference(problem, drawn(problem), settings, seed) for seed in (0, 1)]
    again = RetrainReference(problem, drawn(problem), settings, 0)
    torch.testing.assert_close(again.evaluate(), first[0].evaluate())
    assert first[0].evaluate() != first[1].evaluate()


def test_several_labels_a_node_are_judged_as_ours(classification):
    problem = several_labels(classification)
    found = drawn(problem)
    model, live = build_model(problem, found, SETTINGS, 0), RetrainReference(problem, found, SETTINGS, 1)
    copy_model(model, live.model)
    outputs, seen = outputs_of(model, problem), live.evaluate()
    assert seen["val_loss"] == pytest.approx(float(problem.task.loss(outputs, "val")), rel=1e-5)
    assert seen["val_score"] == pytest.approx(float(problem.task.scores(outputs, "val")["macro_f1"]), rel=1e-5)
    assert 0 < seen["val_score"] < 1


def test_training_keeps_the_epoch_that_validation_chose(problem):
    settings = replace(SETTINGS, lr=0.05, max_epochs=12)
    result, live = train(problem, drawn(problem), settings, 3), RetrainReference(problem, drawn(problem), settings, 3)
    scores = [live.epoch()["val_score"] for _ in range(12)]
    assert result["val"] == result["value"] == max(scores)
    assert result["epoch"] == scores.index(max(scores)) + 1
    assert 0 <= result["test"] <= 1


def test_training_stops_when_out_of_patience(classification):
    settings = replace(SETTINGS, patience=1, select="loss", max_epochs=100, lr=1.0)
    result = train(classification, drawn(classification), settings, 0)
    assert result["value"] < 0
    assert 1 <= result["epoch"] < 100


def test_what_was_planted_is_learned():
    """As a whole it works: the planted meta graph classifies the made network."""
    from diffmg.datasets.academic import Academic

    result = train(load_dataset("academic:400"), Academic.planted, Settings(dim=16, max_epochs=40), 0)
    assert result["test"] > 0.6
