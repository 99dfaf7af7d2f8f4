from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from diffmg.core.metagraph import EMPTY, MetaGraph
from diffmg.core.program import compile_program
from diffmg.core.settings import Settings
from diffmg.datasets.academic import Academic
from diffmg.datasets.shop import Shop
from diffmg.nn import Model
from diffmg.nn.derived import types_of

SETTINGS = Settings(dim=6, dropout=0.0)


def test_classification_has_one_tower_and_a_head(classification):
    model = Model(classification.graph, types_of(Academic.planted), 4, SETTINGS, seed=0)
    (logits,) = model(classification.graph, Academic.planted)
    encoded = model.towers[0](classification.graph, compile_program(Academic.planted[0]))
    assert logits.shape == (classification.graph.num_nodes["author"], 4)
    torch.testing.assert_close(logits, encoded @ model.head.weight + model.head.bias)


def test_recommendation_has_two_towers_and_no_head(recommendation):
    graph = recommendation.graph
    model = Model(graph, types_of(Shop.planted), 0, SETTINGS, seed=0)
    users, items = model(graph, Shop.planted)
    assert users.shape == (graph.num_nodes["user"], 6)
    assert items.shape == (graph.num_nodes["item"], 6)
    torch.testing.assert_close(users, model.towers[0](graph, compile_program(Shop.planted[0])))
    assert not list(model.head.parameters())


def test_parameters_depend_on_the_seed_alone(classification):
    def weight(seed: int) -> torch.Tensor:
        return Model(classification.graph, types_of(Academic.planted), 4, SETTINGS, seed).towers[0].shared.weight

    torch.manual_seed(0)
    first = weight(1)
    torch.manual_seed(5)
    assert torch.equal(first, weight(1))
    assert not torch.equal(first, weight(2))


def test_types_a_meta_graph_does_not_read_make_no_difference(classification):
    """A model with only the needed projections gives what a model with all of them gives."""
    graph = classification.graph
    lean = Model(graph, types_of(Academic.planted), 4, SETTINGS, seed=0)
    full = Model(graph, [graph.schema.node_types], 4, SETTINGS, seed=1)
    lean_tower, full_tower = lean.towers[0], full.towers[0]
    for node_type, projection in zip(lean_tower.node_types, lean_tower.projections, strict=True):
        place = full_tower.node_types.index(node_type)
        full_tower.projections[place].load_state_dict(projection.state_dict())
    for part in ("shared", "norm"):
        getattr(full_tower, part).load_state_dict(getattr(lean_tower, part).state_dict())
    full.head.load_state_dict(lean.head.state_dict())
    torch.testing.assert_close(lean(graph, Academic.planted), full(graph, Academic.planted))


def test_weights_go_to_their_own_tower(recommendation):
    graph = recommendation.graph
    model = Model(graph, types_of(Shop.planted), 0, replace(SETTINGS, layer_norm=False), seed=0)
    ones = [torch.ones(len(m.choices)) for m in Shop.planted]
    plain = model(graph, Shop.planted)
    torch.testing.assert_close(model(graph, Shop.planted, ones), plain)
    users, items = model(graph, Shop.planted, [2 * ones[0], ones[1]])
    torch.testing.assert_close(items, plain[1])
    assert not torch.allclose(users, plain[0])


def test_one_meta_graph_per_tower(recommendation):
    model = Model(recommendation.graph, types_of(Shop.planted), 0, SETTINGS, seed=0)
    with pytest.raises(ValueError, match="shorter"):
        model(recommendation.graph, Shop.planted[:1])


def test_types_of_are_the_types_read():
    assert types_of(Academic.planted) == [("author", "paper", "venue")]
    assert types_of([MetaGraph("author", ((EMPTY,),))]) == [()]
