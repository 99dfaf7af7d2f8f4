"""The split by meta path and by source node sums to what the model computes before its norm."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from diffmg.core.metagraph import EMPTY, MetaGraph
from diffmg.core.program import compile_program
from diffmg.core.settings import Settings
from diffmg.explain.all_rows import path_contributions
from diffmg.explain.one_row import Arrival, arrivals
from diffmg.explain.paths import paths_by_length
from diffmg.explain.tower import Tower, towers_of
from diffmg.nn import DerivedModel
from small_networks import AB, BA, BB, METAGRAPHS, small_world
from worlds import World, metagraphs, worlds

TOLERANCE = 1e-4
switches = {
    "layer_norm": st.booleans(),
    "tanh": st.booleans(),
    "shared_map": st.booleans(),
    "vectors": st.booleans(),
    "counts": st.booleans(),
    "aggregate": st.sampled_from(["paper", "mean", "symmetric", "sum"]),
    "self_loops": st.booleans(),
    "links": st.sampled_from(["sum", "mean"]),
    "states": st.sampled_from(["last", "mean", "concat", "attention"]),
    "residual": st.booleans(),
    "message_dropout": st.sampled_from([0.0, 0.5]),
}
any_task = {"dim": st.just(4), "dropout": st.just(0.5), **switches}
for_labels = st.builds(Settings, **any_task, label_inputs=st.booleans())
for_pairs = st.builds(Settings, **any_task, shared_tables=st.booleans(), biases=st.booleans())


def model_of(
    world: World, found: Sequence[MetaGraph], outputs: int, settings: Settings, labels: Tensor | None = None
) -> tuple[DerivedModel, list[Tower]]:
    """A model with no parameter at its start, and its towers."""
    graph, draw = world.graph(), torch.Generator().manual_seed(0)
    model = DerivedModel(graph, found, outputs, settings, 0, labels=labels)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.rand(parameter.shape, generator=draw) - 0.4)
    return model, towers_of(model, graph)


def some_labels(nodes: int, seed: int) -> Tensor:
    """Zeros and ones of three classes; about half of the nodes have none."""
    draw = torch.Generator().manual_seed(seed)
    one_hot = torch.eye(3)[torch.randint(3, (nodes,), generator=draw)]
    return one_hot * (torch.rand(nodes, 1, generator=draw) < 0.5)


def assert_close(got: Tensor, wanted: Tensor) -> None:
    """To 1e-4 of the largest entry."""
    torch.testing.assert_close(got, wanted, rtol=0, atol=TOLERANCE * max(1.0, *wanted.abs().flatten().tolist(), 0.0))


def constant(tower: Tower, rows: Tensor) -> Tensor:
    found = tower.readout.constant
    return torch.zeros_like(tower.result[rows]) if found is None else found[rows]


def arrived(tower: Tower, node: int) -> list[Arrival]:
    return list(arrivals(tower, node, list(paths_by_length(tower.metagraph, tower.read))))


def assert_sums_up(tower: Tower, labels: Tensor | None = None) -> None:
    paths = [path for level in paths_by_length(tower.metagraph, tower.read) for path in level]
    nodes = torch.arange(len(tower.result))
    rows = nodes if labels is None else nodes[labels.sum(dim=1) == 0]
    by_path = path_contributions(tower, paths, rows)
    assert_close(sum(by_path.values(), constant(tower, rows)), tower.result[rows])
    for node in nodes.tolist():
        here, own = arrived(tower, node), nodes[node : node + 1]
        total = sum((a.values.sum(dim=0) for a in here), constant(tower, own)[0])
        assert_close(total, tower.result[node])
        place = (rows == node).nonzero().flatten()
        for path in by_path if len(place) else ():
            backwards = sum((a.values.sum(dim=0) for a in here if a.path == path), torch.zeros(4))
            assert_close(backwards, by_path[path][place[0]])


@given(st.data(), worlds(), for_labels)
def test_labels_of_nodes(data, world, settings):
    metagraph = data.draw(metagraphs(world.schema))
    assume(compile_program(metagraph).steps)
    labels = some_labels(world.num_nodes[metagraph.target], data.draw(st.integers(0, 9)))
    model, (tower,) = model_of(world, [metagraph], 3, settings, labels)
    with torch.no_grad():
        (logits,) = model(world.graph())
        torch.testing.assert_close(model.finished([tower.result], [slice(None)])[0], logits)
    assert_sums_up(tower, labels if settings.label_inputs else None)


@given(st.data(), worlds(), for_pairs)
def test_two_towers(data, world, settings):
    found = [data.draw(metagraphs(world.schema)) for _ in range(2)]
    assume(all(compile_program(m).steps for m in found))
    model, towers = model_of(world, found, 0, settings)
    with torch.no_grad():
        outputs = model.finished([t.result for t in towers], [slice(None)] * 2)
        for got, wanted in zip(outputs, model(world.graph()), strict=True):
            torch.testing.assert_close(got, wanted)
    for tower in towers:
        assert_sums_up(tower)


@given(st.data(), worlds())
def test_the_paths_are_those_of_the_meta_graph(data, world):
    metagraph = data.draw(metagraphs(world.schema))
    assume(compile_program(metagraph).steps)
    levels = list(paths_by_length(metagraph, {metagraph.depth}))
    assert [{len(path) for path in level} for level in levels] == [{n} for n in range(len(levels))]
    assert sum(map(len, levels)) == len({path for level in levels for path in level})
    reached = {path for path in metagraph.paths() if _sends(metagraph, path)}
    assert {path for level in levels for path in level} == reached


def _sends(metagraph: MetaGraph, path: tuple) -> bool:
    """By brute force over all ways through the states: whether one of them spells the path."""

    def ways(k: int, node_type: str, left: tuple) -> bool:
        if k == 0:
            return not left
        for i in range(k):
            for operation in metagraph[k, i]:
                if operation is EMPTY:
                    continue
                taken = bool(left) and operation == left[-1] and operation.target == node_type
                if (taken and ways(i, operation.source, left[:-1])) or ways(i, node_type, left):
                    return True
        return False

    return ways(metagraph.depth, metagraph.target, path)


def test_a_way_of_two_relations_by_hand():
    """A planted contribution: the product of the two matrices of neighbours, times state 0."""
    (tower,) = model_of(small_world(), METAGRAPHS["a path"], 2, Settings(dim=4))[1]
    first = tower.inputs["b"][0].rows
    matrices = [tower.graph.propagation[r].matrix.to_scipy().toarray() for r in (AB, BA)]
    wanted = torch.from_numpy(matrices[0] @ matrices[1]).float() @ first
    assert wanted.abs().max() > 0.1
    assert_close(path_contributions(tower, [(BA, AB)], torch.arange(7))[BA, AB], wanted)


def test_a_relation_within_one_type_keeps_a_share_that_is_not_a_message():
    """State 1 of b along `bb` alone: the diagonal is the empty path."""
    (tower,) = model_of(small_world(), (MetaGraph("b", ((BB,),)),), 2, Settings(dim=4))[1]
    found = path_contributions(tower, [(), (BB,)], torch.arange(7))
    matrix = tower.graph.propagation[BB].matrix.to_scipy().toarray()
    first, diagonal = tower.inputs["b"][0].rows, torch.from_numpy(matrix.diagonal().copy())
    assert_close(found[()], diagonal.unsqueeze(1) * first)
    assert_close(found[BB,], torch.from_numpy(matrix) @ first - diagonal.unsqueeze(1) * first)
