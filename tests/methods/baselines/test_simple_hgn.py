from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given
from torch import Tensor, nn

from baseline_checks import PROBLEMS, SETTINGS, assert_same_with_gradients, chain, double, heads, labelled, projected
from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation
from diffmg.core.settings import Settings
from diffmg.methods.baselines.simple_hgn import SimpleHGN, edges_by_kind
from oracle import rows_of
from small_networks import AB, BA, small_classification, small_world
from worlds import World, worlds

OPTIONS = {"heads": 2, "edge_dim": 4}
Kind = tuple[Relation, bool]
"""A relation, forwards or backwards."""


def edges_of(world: World) -> dict[Kind, set[tuple[int, int]]]:
    """By kind, pairs (source, target) among all N nodes; found by looking at every edge."""
    forward: dict[Kind, set[tuple[int, int]]] = {}
    for r, (sources, targets) in world.edges.items():
        shift = rows_of(world, r.source).start, rows_of(world, r.target).start
        pairs = {(int(s) + shift[0], int(t) + shift[1]) for s, t in zip(sources, targets, strict=True)}
        forward[r, True] = {(s, t) for s, t in pairs if s != t}
    linked = set().union(*forward.values())
    backward = {(r, False): {(t, s) for s, t in pairs if (t, s) not in linked} for (r, _), pairs in forward.items()}
    return {kind: pairs for kind, pairs in (forward | backward).items() if pairs}


def ends(kind: Kind) -> tuple[str, str]:
    relation, forwards = kind
    return (relation.source, relation.target) if forwards else (relation.target, relation.source)


def live(kinds: Iterable[Kind], targets: Iterable[str], left: int) -> list[Kind]:
    """Kinds into a type from which a target is so many steps away, or fewer."""
    near = set(targets)
    for _ in range(left):
        near |= {ends(k)[0] for k in kinds if ends(k)[1] in near}
    return [k for k in kinds if ends(k)[1] in near]


def dense(world: World, model: nn.Module, beta: float = 0.05) -> list[Tensor]:
    """Edge by edge."""
    edges, nodes = edges_of(world), sum(world.num_nodes.values())
    h, before = projected(world, model), None
    for number, layer in enumerate(model.layers):
        h = h if number == 0 else F.elu(h)
        kinds = live(edges, model.targets, len(model.layers) - 1 - number)
        assert len(layer.kinds) == len(kinds) + 1
        listed = [(s, t, kinds.index(k)) for k in kinds for s, t in sorted(edges[k])] + [
            (n, n, len(kinds)) for n in range(nodes)
        ]
        change, seen = [], {}
        for head in range(len(layer.own)):
            columns = h.shape[1] // len(layer.own)
            x = h @ layer.weight[:, head * columns : (head + 1) * columns]
            of_kind = layer.kinds @ layer.map[head] @ layer.kind[head]
            rows = [torch.zeros(columns, dtype=h.dtype)] * nodes
            for v in range(nodes):
                into = [(s, k) for s, t, k in listed if t == v]
                logits = [x[v] @ layer.own[head] + x[s] @ layer.other[head] + of_kind[k] for s, k in into]
                attention = torch.softmax(F.leaky_relu(torch.cat(logits), 0.05), 0)
                for (s, k), share in zip(into, attention, strict=True):
                    name = (head, s, v, kinds[k] if k < len(kinds) else None)
                    seen[name] = share if before is None else (1 - beta) * share + beta * before[name].detach()
                    rows[v] = rows[v] + seen[name] * x[s]
            change.append(torch.stack(rows))
        before = seen
        h = h + torch.cat(change, dim=1) + layer.bias
    return [z / z.norm(dim=1, keepdim=True).clamp(min=1e-12) for z in heads(world, model, h)]


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_equals_the_formula_edge_by_edge(kind, layers):
    problem = double(PROBLEMS[kind]())
    model = SimpleHGN(**OPTIONS, layers=layers).network(problem, SETTINGS, 3).double().eval()
    assert_same_with_gradients(model(problem.graph), dense(small_world(), model), model)


def test_every_link_has_one_mark_in_all_layers():
    """Layers that have no vector for some kinds, too: rows without an entry are slow on a GPU."""
    model = SimpleHGN(**OPTIONS).network(chain()[1], SETTINGS, 0)
    assert len({id(layer.marks) for layer in model.layers}) == 1
    marks = model.layers[0].marks.fixed.forward.to_dense()
    assert marks.sum(1).tolist() == [1.0] * len(model.links.order)
    assert [layer.live.sum(0).tolist() for layer in model.layers] == [[1.0] * 4, [1.0] * 2]


@given(world=worlds())
def test_equals_the_formula_on_any_network(world):
    """More links than pairs of nodes, too."""
    problem = labelled(world)
    model = SimpleHGN(heads=1, edge_dim=2).network(problem, SETTINGS, 3).double().eval()
    assert_same_with_gradients(model(problem.graph), dense(world, model), model)


def test_types_too_far_to_matter_have_no_parameters():
    world, problem = chain()
    problem = double(problem)
    model = SimpleHGN(**OPTIONS).network(problem, SETTINGS, 0).double().eval()
    assert model.types == ("a", "b", "c")
    assert_same_with_gradients(model(problem.graph), dense(world, model), model)
    assert [len(layer.kinds) for layer in model.layers] == [4, 2]  # b->a, and back, c->b, loops; b->a, loops


@given(world=worlds())
def test_edges_by_kind_of_any_network(world):
    graph = world.graph()
    kinds, edges = edges_by_kind(graph, graph.schema.node_types)
    found = [
        ((k.source, k.target), {tuple(e) for e in pairs.T.tolist()}) for k, pairs in zip(kinds, edges, strict=True)
    ]
    assert found == [(ends(k), pairs) for k, pairs in edges_of(world).items()]


def test_only_pairs_that_nothing_links_the_other_way_are_reversed():
    world = World({"a": 2, "b": 2}, {AB: np.array([[0, 1, 1], [0, 0, 1]]), BA: np.array([[0, 1], [0, 1]])})
    kinds, edges = edges_by_kind(world.graph(), ("a", "b"))
    assert [k.name for k in kinds] == ["ab", "ba", "reverse of ab"]
    assert edges[2].tolist() == [[2], [1]]


def test_every_vector_of_a_kind_has_a_gradient():
    problem = small_classification()
    model = SimpleHGN().network(problem, Settings(dim=8, dropout=0.0), 0)
    model(problem.graph)[0].square().sum().backward()
    for name, p in model.named_parameters():
        assert p.grad is not None and p.grad.any(), name
        assert "kinds" not in name or p.grad.any(dim=1).all(), name


def test_representations_have_length_one():
    problem = PROBLEMS["recommendation"]()
    for z in SimpleHGN(**OPTIONS).network(problem, SETTINGS, 0).eval()(problem.graph):
        torch.testing.assert_close(z.norm(dim=1), torch.ones(len(z)))


def test_bad_options():
    for wrong in ({"beta": 1.5}, {"edge_dim": 0}):
        with pytest.raises(DiffmgError, match=next(iter(wrong))):
            SimpleHGN(**wrong)


def test_numbers_are_not_normalised(regression):
    network = SimpleHGN(**OPTIONS).network(regression, Settings(dim=8), 0)
    (found,) = network(regression.graph)
    assert len(found.abs().unique()) > 20, "a normalised number is 1 or -1"
