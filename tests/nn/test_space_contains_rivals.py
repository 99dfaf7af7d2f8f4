"""With the right switches and parameters, the model of a meta graph computes what its rivals compute."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from diffmg.core.metagraph import EMPTY, MetaGraph, links_of
from diffmg.core.schema import Relation
from diffmg.core.settings import Settings
from diffmg.graph.network import HeteroGraph
from diffmg.methods._plain_rivals import LINEAR as LIGHTGCN
from diffmg.methods._plain_rivals import alternating
from diffmg.methods.baselines.lightgcn import LightGCN
from diffmg.methods.baselines.mlp import MLP
from diffmg.nn import Affine, DerivedModel
from diffmg.tasks import NodeClassification, Recommendation
from diffmg.tasks.problem import Problem
from diffmg.training.training import build_model
from small_networks import small_classification, small_recommendation

DIM = 3
LINEAR = Settings(dim=DIM, dropout=0.0, shared_map=False, layer_norm=False, activation="none")
SYMMETRIC = replace(LINEAR, aggregate="symmetric", self_loops=False)
TO_USER, TO_ITEM = Relation("item", "bought_by", "user"), Relation("user", "bought", "item")
KNOWS = Relation("person", "knows", "person")


def assert_same(ours: Tensor, theirs: Tensor) -> None:
    assert theirs.abs().max() > 1e-2
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)


def set_affine(map_: nn.Module, weight: Tensor, bias: Tensor | float = 0.0) -> None:
    assert isinstance(map_, Affine)
    with torch.no_grad():
        map_.weight.copy_(weight)
        map_.bias.copy_(torch.as_tensor(bias).expand_as(map_.bias))


def shop() -> Problem:
    """Users and items without features; the last of each has no edges, and tags say nothing here."""
    edges = np.array([[0, 1, 2, 0, 2, 3], [0, 0, 0, 1, 2, 3]])
    relations = {TO_ITEM: edges, TO_USER: edges[::-1], Relation("tag", "on", "item"): np.array([[0], [3]])}
    graph = HeteroGraph.build({"user": 5, "item": 5, "tag": 1}, relations)
    positives = {"train": [[3, 0], [1, 1]], "val": [[3, 1]]}
    negatives = {"train": [[0, 3], [1, 3]], "val": [[3, 2]]}
    return Problem(graph, Recommendation.build("user", "item", (5, 5), positives, negatives))


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_lightgcn(layers):
    problem = shop()
    theirs = LightGCN(layers=layers).network(problem, LINEAR, 0)
    found = alternating(problem.graph.schema, "user", "item", layers)
    ours = build_model(problem, found, Settings(dim=DIM).changed({**LIGHTGCN, "biases": False}), 1)
    tower = ours.encoders[0]
    assert tower.node_types == ("item", "user")
    for projection, table in zip(tower.projections, (theirs.item, theirs.user), strict=True):
        set_affine(projection, table / (layers + 1))
    for got, wanted in zip(ours(problem.graph), theirs(problem.graph), strict=True):
        assert_same(got, wanted)


def features_only(problem: Problem, settings: Settings) -> DerivedModel:
    return build_model(problem, [MetaGraph.features_only(t) for t in problem.task.target_types], settings, 1)


@pytest.mark.parametrize("made", [small_classification, small_recommendation])
def test_an_mlp_of_one_layer(made):
    problem = made()
    theirs, ours = MLP(layers=1).network(problem, LINEAR, 0), features_only(problem, LINEAR)
    for tower, projection in zip(ours.encoders, theirs.projections, strict=True):
        set_affine(tower.projections[0], projection.weight, projection.bias)
    ours.head.load_state_dict(theirs.head.state_dict())
    for got, wanted in zip(ours(problem.graph), theirs(problem.graph), strict=True):
        assert_same(got, wanted)


def test_an_mlp_of_two_layers():
    """Its second layer and its head are two affine maps in a row: one."""
    problem = small_classification()
    theirs = MLP(layers=2).network(problem, LINEAR, 0)
    ours = features_only(problem, replace(LINEAR, activation="relu"))
    set_affine(ours.encoders[0].projections[0], theirs.projections[0].weight, theirs.projections[0].bias)
    second, head = theirs.layers[0], theirs.head
    set_affine(ours.head, second.weight @ head.weight, second.bias @ head.weight + head.bias)
    assert_same(ours(problem.graph)[0], theirs(problem.graph)[0])


def acquaintances() -> Problem:
    """Twelve people, the last one alone; four have a known label of three."""
    rng = np.random.default_rng(0)
    half = rng.integers(0, 11, (2, 16))
    edges = np.unique(np.concatenate([half, half[::-1]], axis=1), axis=1)
    graph = HeteroGraph.build({"person": 12}, {KNOWS: edges})
    task = NodeClassification.build("person", np.arange(12) % 3, train=[0, 1, 2, 5], val=[3, 4, 6], test=[7, 8, 9])
    return Problem(graph, task)


def powers(problem: Problem, steps: int) -> np.ndarray:
    """`(D^-1/2 A D^-1/2)^steps`, dense."""
    a = problem.graph.adjacency[KNOWS].toarray()
    degree = a.sum(axis=1)
    root = np.where(degree > 0, np.maximum(degree, 1) ** -0.5, 0)
    return np.linalg.matrix_power(root[:, None] * a * root, steps)


@pytest.mark.parametrize("steps", [1, 2, 3, 5])
def test_label_propagation(steps):
    """`S^K Y` where no label is known; a node with a label hears all others."""
    problem, dim = acquaintances(), 3
    chain = {link: KNOWS if link.i == link.k - 1 else EMPTY for link in links_of(steps)}
    ours = build_model(problem, [MetaGraph.of("person", chain)], replace(SYMMETRIC, label_inputs=True), 0)
    set_affine(ours.encoders[0].projections[0], torch.zeros(12, dim))
    with torch.no_grad():
        ours.labels.map.copy_(torch.eye(dim))
    set_affine(ours.head, torch.eye(dim))
    labels, power = problem.task.known_labels().numpy(), powers(problem, steps)
    wanted = torch.from_numpy((power - np.diag(power.diagonal())) @ labels).float()
    assert_same(ours(problem.graph)[0], wanted)
    unknown = labels.sum(axis=1) == 0
    assert_same(ours(problem.graph)[0][unknown], torch.from_numpy(power @ labels).float()[unknown])
