from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from diffmg.core.errors import DiffmgError
from diffmg.core.settings import Settings
from diffmg.methods.baselines.han import HAN
from diffmg.tasks.problem import Problem
from small_networks import NODES, small_classification, small_recommendation, small_world

SETTINGS = Settings(dim=6, max_epochs=3, patience=None)
PATHS = ("b -> b", "b -> a -ab-> b", "a -ab2-> b -> a", "c -> b -> a -> c")


def projected(model: nn.Module, number: int, node_type: str) -> Tensor:
    x = small_world().features.get(node_type, np.eye(NODES[node_type]))
    dense = torch.tensor(x.toarray() if hasattr(x, "toarray") else x, dtype=torch.float64)
    return dense @ model.projections[number].weight + model.projections[number].bias


def reached(steps: list[str]) -> np.ndarray:
    """Which nodes get the messages of which along the relations of these names, and their own."""
    world = small_world()
    total = np.eye(world.num_nodes[next(r for r in world.edges if r.name == steps[0]).source])
    for name in steps:
        relation = next(r for r in world.edges if r.name == name)
        a = np.zeros((world.num_nodes[relation.target], world.num_nodes[relation.source]))
        a[world.edges[relation][1], world.edges[relation][0]] = 1
        total = a @ total
    return (total > 0) | np.eye(len(total), dtype=bool)


def attended(h: Tensor, linked: np.ndarray, own: Tensor, other: Tensor) -> Tensor:
    """Attention of each node, head by head, written out."""
    heads, width = own.shape
    rows = []
    for i in range(len(h)):
        parts = []
        for k in range(heads):
            part = h[:, k * width : (k + 1) * width]
            near = torch.from_numpy(np.flatnonzero(linked[i]))
            scores = torch.stack([own[k] @ part[i] + other[k] @ part[j] for j in near])
            weights = torch.where(scores > 0, scores, 0.2 * scores).softmax(0)
            total = (weights[:, None] * part[near]).sum(0)
            parts.append(torch.where(total > 0, total, total.exp() - 1))
        rows.append(torch.cat(parts))
    return torch.stack(rows)


def combined(tower: nn.Module, h: Tensor, links: list[np.ndarray]) -> Tensor:
    states = [attended(h, linked, a.own, a.other) for linked, a in zip(links, tower.along, strict=True)]
    if len(states) == 1:
        return states[0]
    inner = tower.across.inner
    scores = torch.stack([(torch.tanh(z @ inner.weight + inner.bias) @ tower.across.query).mean() for z in states])
    return sum(w * z for w, z in zip(scores.softmax(0), states, strict=True))


def in_double(problem: Problem, model: nn.Module) -> tuple[Problem, nn.Module]:
    return Problem(problem.graph.to(dtype=torch.float64), problem.task), model.double().eval()


def test_classification_is_the_dense_formula():
    model = HAN(PATHS[:2], heads=3, attention_dim=5).network(small_classification(), SETTINGS, 0)
    problem, model = in_double(small_classification(), model)
    h = projected(model, 0, "b")
    z = combined(model.towers[0], h, [reached(["bb"]), reached(["ba", "ab"])])
    wanted = z @ model.head.weight + model.head.bias
    (found,) = model(problem.graph)
    torch.testing.assert_close(found, wanted)
    scale = torch.randn(found.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    parameters = list(model.parameters())
    for one, other in zip(
        torch.autograd.grad((found * scale).sum(), parameters),
        torch.autograd.grad((wanted * scale).sum(), parameters),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


def test_recommendation_has_a_network_for_each_type():
    model = HAN(PATHS[2:], heads=2).network(small_recommendation(), SETTINGS, 0)
    problem, model = in_double(small_recommendation(), model)
    found = model(problem.graph)
    links = [[reached(["ab2", "ba"])], [reached(["cb", "ba", "ac"])]]
    for number, t in enumerate("ac"):
        torch.testing.assert_close(
            found[number], combined(model.towers[number], projected(model, number, t), links[number])
        )


def test_a_path_of_many_pairs_is_sampled_once_from_the_seed():
    def pairs(seed: int, most: int) -> Tensor:
        model = HAN(PATHS[1:2], heads=2, most_pairs=most, sampled=2).network(small_classification(), SETTINGS, seed)
        links = model.towers[0].along[0].links
        return torch.stack([links.pairs.left, links.pairs.right])[:, : len(links.order)]  # of the first head

    dense = reached(["ba", "ab"])
    count = int(dense.sum())
    assert pairs(0, 100).shape[1] == count
    few = pairs(0, 3)
    assert few.shape[1] < count
    assert dense[few[0], few[1]].all()
    assert torch.equal(few, pairs(0, 3))
    assert any(not torch.equal(few, pairs(seed, 3)) for seed in range(1, 5))


def test_dropout_comes_from_the_generator(classification):
    model = HAN(heads=2).network(classification, SETTINGS, 0).train()
    first, again, other = (model(classification.graph, torch.Generator().manual_seed(s))[0] for s in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_what_is_dropped_are_the_attention_weights():
    model = HAN(PATHS[:1], heads=2).network(small_classification(), SETTINGS, 0)
    attention, h = model.towers[0].along[0], torch.randn(NODES["b"], 6, generator=torch.Generator().manual_seed(0))
    kept: list[Tensor] = []
    assert not attention(h, lambda weights: kept.append(weights) or 0 * weights).any()
    torch.testing.assert_close(kept[0].sum(dim=1), torch.full((2,), float(NODES["b"])))


def test_isolated_nodes_keep_their_own_state():
    model = HAN(PATHS[:2], heads=2).network(small_classification(), SETTINGS, 0).eval()
    assert all(z.isfinite().all() for z in model(small_classification().graph))


@pytest.mark.parametrize(
    "wrong",
    [
        {"heads": 0},
        {"sampled": 0},
        {"most_pairs": -1},
        {"longest": 0},
        {"attention_dim": 0},
        {"heads": 1.5},
        {"paths": [3]},
    ],
)
def test_bad_options(wrong):
    with pytest.raises(DiffmgError, match=next(iter(wrong))):
        HAN(**wrong)
