from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

import oracle
from diffmg.core.metagraph import EMPTY, IDENTITY, Link, MetaGraph
from diffmg.core.program import compile_program
from diffmg.core.schema import Relation
from diffmg.core.settings import Settings
from diffmg.graph.network import HeteroGraph
from diffmg.nn.encoder import Encoder
from worlds import World, metagraphs, worlds

DIM = 5
AB, BA, BB = Relation("a", "ab", "b"), Relation("b", "ba", "a"), Relation("b", "bb", "b")

PLAIN = Settings(dim=DIM, dropout=0.0)
NORMS = ["learned", "plain", "off"]
"""With a learned scale as in training, without one as in search, none."""

encoder_settings = st.builds(
    Settings,
    dim=st.just(DIM),
    dropout=st.just(0.0),
    layer_norm=st.booleans(),
    activation=st.sampled_from(["gelu", "relu", "none"]),
    tanh=st.booleans(),
    shared_map=st.booleans(),
    vectors=st.booleans(),
    counts=st.booleans(),
    states=st.sampled_from(["last", "mean", "concat", "attention"]),
    residual=st.booleans(),
)
"""What an encoder does by itself; aggregation is the network's part, and averaging a link that of the weights."""


def encoder_of(world: World, settings: Settings, depth: int = 0, *, learned_norm: bool = True) -> Encoder:
    """In double precision, no parameter at zero or one."""
    draw = torch.Generator().manual_seed(0)
    types = world.schema.node_types
    encoder = Encoder(world.graph(), types, settings, draw, depth=depth, learned_norm=learned_norm).double()
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(torch.rand(parameter.shape, generator=draw) - 0.4)
    return encoder


def with_norm(world: World, norm: str) -> Encoder:
    return encoder_of(world, replace(PLAIN, layer_norm=norm != "off"), learned_norm=norm == "learned")


def weights_of(metagraph: MetaGraph, given: bool) -> Tensor | None:
    if not given:
        return None
    draw = torch.Generator().manual_seed(1)
    return (0.2 + torch.rand(len(metagraph.choices), generator=draw, dtype=torch.float64)).requires_grad_()


def run(world: World, metagraph: MetaGraph, encoder: Encoder, weights: Tensor | None) -> Tensor:
    program = compile_program(metagraph, every_state=encoder.settings.states != "last")
    return encoder(world.graph().to(dtype=torch.float64), program, weights)


def gradients(out: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    """Of a fixed linear function of `out`; inputs it does not depend on have gradient zero."""
    if not out.requires_grad:
        return [torch.zeros_like(x) for x in inputs]
    cotangent = torch.randn(out.shape, generator=torch.Generator().manual_seed(2), dtype=out.dtype)
    found = torch.autograd.grad((out * cotangent).sum(), inputs, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)]


def assert_close(got: Tensor, wanted: Tensor) -> None:
    """To 1e-5 of the largest entry; matrices are held in single precision."""
    scale = max(1.0, wanted.abs().max().item())
    torch.testing.assert_close(got, wanted, rtol=0, atol=1e-5 * scale)


@given(st.data(), worlds(), encoder_settings, st.booleans(), st.booleans())
def test_output_and_gradients_equal_those_of_the_dense_evaluation(data, world, settings, learned_norm, weighted):
    metagraph = data.draw(metagraphs(world.schema))
    assume(compile_program(metagraph).steps)
    encoder = encoder_of(world, settings, metagraph.depth, learned_norm=learned_norm)
    weights = weights_of(metagraph, weighted)
    got, wanted = run(world, metagraph, encoder, weights), oracle.encode(world, metagraph, encoder, weights)
    assert_close(got, wanted)
    inputs = [*encoder.parameters(), *([] if weights is None else [weights])]
    for g, w in zip(gradients(got, inputs), gradients(wanted, inputs), strict=True):
        assert_close(g, w)


@pytest.mark.parametrize("norm", NORMS)
def test_all_links_empty_is_the_encoding_of_zero(norm):
    world = World({"a": 2, "b": 3}, {AB: np.array([[0], [0]])})
    metagraph = MetaGraph("b", ((EMPTY,),) * 3)
    encoder = with_norm(world, norm)
    out = run(world, metagraph, encoder, None)
    assert out.shape == (3, DIM)
    assert_close(out, oracle.encode(world, metagraph, encoder))


def test_isolated_nodes_keep_their_own_state():
    world = World({"a": 2, "b": 3}, {AB: np.array([[0], [0]])})
    encoder = with_norm(world, "learned")
    through = run(world, MetaGraph("b", ((AB,),)), encoder, None)
    own = run(world, MetaGraph("b", ((IDENTITY,),)), encoder, None)
    torch.testing.assert_close(through[1:], own[1:])
    assert not torch.allclose(through[0], own[0])


def test_mean_over_neighbours_and_the_node_itself():
    """Worked by hand: b0 has neighbours a0 and a1, so it becomes (a0 + a1 + b0) / 3."""
    world = World({"a": 2, "b": 1}, {AB: np.array([[0, 1], [0, 0]])})
    encoder = with_norm(world, "off")
    h0 = oracle.first_state(world, encoder)
    wanted = torch.nn.functional.gelu(h0.mean(dim=0, keepdim=True))
    assert_close(run(world, MetaGraph("b", ((AB,),)), encoder, None), wanted)


def test_relation_within_one_type_is_symmetrically_normalised():
    """Worked by hand: b0 - b1 - b2 is a path; with loops the degrees are 2, 3, 2."""
    world = World({"b": 3}, {BB: np.array([[0, 1, 1, 2], [1, 0, 2, 1]])})
    encoder = with_norm(world, "off")
    h0 = oracle.first_state(world, encoder)
    first = h0[0] / 2 + h0[1] / 6**0.5
    assert_close(run(world, MetaGraph("b", ((BB,),)), encoder, None)[0], torch.nn.functional.gelu(first))


def test_single_precision_is_close_to_double():
    world = World({"a": 2, "b": 3}, {AB: np.array([[0, 1, 1], [0, 0, 2]]), BA: np.array([[0, 2], [1, 1]])})
    metagraph = MetaGraph.of("a", {Link(1, 0): (AB, IDENTITY), Link(2, 0): IDENTITY, Link(2, 1): BA})
    encoder = with_norm(world, "learned")
    wanted = oracle.encode(world, metagraph, encoder)
    single = encoder.float()(world.graph(), compile_program(metagraph))
    torch.testing.assert_close(single.double(), wanted, rtol=1e-4, atol=1e-4)


def test_dropout_acts_in_training_only_and_repeats_with_its_generator():
    world = World({"a": 2, "b": 3}, {AB: np.array([[0, 1], [0, 2]])})
    graph, program = world.graph(), compile_program(MetaGraph("b", ((AB,),)))
    encoder = Encoder(graph, ("a", "b"), Settings(dim=16, dropout=0.5), torch.Generator().manual_seed(0))

    def once(seed: int) -> Tensor:
        return encoder(graph, program, generator=torch.Generator().manual_seed(seed))

    assert torch.equal(once(0), once(0))
    assert not torch.equal(once(0), once(1))
    encoder.eval()
    assert torch.equal(once(0), once(1))


@pytest.mark.parametrize(("norm", "parameters"), [("learned", 2), ("plain", 0), ("off", 0)])
def test_only_the_learned_norm_has_parameters(norm, parameters):
    world = World({"a": 2, "b": 3}, {AB: np.array([[0], [0]])})
    assert len(list(with_norm(world, norm).norm.parameters())) == parameters


def names(world: World, **switches) -> set[str]:
    return {name for name, _ in encoder_of(world, replace(PLAIN, **switches), depth=2).named_parameters()}


def affine_names(*maps: str) -> set[str]:
    return {f"{map_}.{part}" for map_ in maps for part in ("weight", "bias")}


def test_parameters_are_those_that_the_switches_need():
    """Type a has features, b has none; no relation leads to a."""
    world = World({"a": 2, "b": 3}, {AB: np.array([[0], [0]])}, features={"a": np.ones((2, 4), np.float32)})
    base = affine_names("projections.0", "projections.1", "shared", "readout.norm")
    assert names(world) == base
    fewer = {"shared_map": "shared", "layer_norm": "readout.norm"}
    for switch, part in fewer.items():
        assert names(world, **{switch: False}) == base - affine_names(part)
    for switches in ({"activation": "none"}, {"aggregate": "sum"}, {"tanh": True}, {"states": "mean"}):
        assert names(world, **switches) == base
    assert names(world, input_dropout=0.5, message_dropout=0.5) == base
    fused = affine_names("readout.maps.0", "readout.maps.1", "readout.maps.2", "readout.joined")
    more = {
        ("vectors", True): affine_names("beside.vectors_0"),
        ("counts", True): affine_names("beside.counts_1"),
        ("residual", True): {"readout.gate"},
        ("states", "concat"): fused,
        ("states", "attention"): fused | {"readout.attention.maps", "readout.attention.beta"},
    }
    for (switch, value), wanted in more.items():
        assert names(world, **{switch: value}) == base | wanted


def with_features(columns: int) -> tuple[HeteroGraph, Tensor]:
    """Three nodes with these many columns, all of them one."""
    x = np.ones((3, columns), np.float32)
    return World({"b": 3}, {BB: np.array([[0, 1], [1, 0]])}, features={"b": x}).graph(), torch.from_numpy(x)


def test_input_dropout_drops_whole_columns_of_the_features():
    graph, x = with_features(400)
    encoder = Encoder(graph, ("b",), Settings(dim=400, input_dropout=0.25), torch.Generator().manual_seed(0))
    with torch.no_grad():
        encoder.projections[0].weight.copy_(torch.eye(400))
        encoder.projections[0].bias.zero_()
    h = encoder.project(graph, "b", torch.Generator().manual_seed(1))
    assert torch.equal(h[0].unique(), torch.tensor([0.0, 1 / 0.75]))
    assert all(torch.equal(row, h[0]) for row in h), "a column is dropped for all nodes"
    assert (h[0] == 0).float().mean().item() == pytest.approx(0.25, abs=0.07)
    assert torch.equal(h, encoder.project(graph, "b", torch.Generator().manual_seed(1)))
    assert torch.equal(encoder.eval().project(graph, "b"), x @ encoder.projections[0].weight)


def test_input_dropout_leaves_learned_vectors_and_counts_alone():
    world = World({"a": 2, "b": 3}, {AB: np.array([[0, 1], [0, 2]])})
    graph, draw = world.graph(), torch.Generator().manual_seed(0)
    encoder = Encoder(graph, ("a", "b"), replace(PLAIN, input_dropout=0.9, counts=True), draw)
    for node_type in ("a", "b"):
        assert torch.equal(encoder.train().project(graph, node_type, draw), encoder.eval().project(graph, node_type))


def test_an_input_dropped_has_no_gradient():
    graph, _ = with_features(50)
    encoder = Encoder(graph, ("b",), replace(PLAIN, input_dropout=0.5), torch.Generator().manual_seed(0))
    encoder.project(graph, "b", torch.Generator().manual_seed(1)).sum().backward()
    grad = encoder.projections[0].weight.grad
    assert 5 < (grad == 0).all(dim=1).sum().item() < 45
    assert torch.equal(grad.unique(), torch.tensor([0.0, 3 / 0.5]))
