from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import oracle
from diffmg.core.metagraph import EMPTY, IDENTITY, Link, MetaGraph
from diffmg.core.program import compile_program
from diffmg.core.schema import Relation
from diffmg.nn.encoder import Encoder, EncoderOptions, dropout
from worlds import World, metagraphs, worlds

DIM = 5
AB, BA, BB = Relation("a", "ab", "b"), Relation("b", "ba", "a"), Relation("b", "bb", "b")

options = st.builds(EncoderOptions, st.just(DIM), st.sampled_from(["learned", "plain", "off"]), st.booleans())


def encoder_of(world: World, options: EncoderOptions) -> Encoder:
    """In double precision, with a norm that is not the identity."""
    draw = torch.Generator().manual_seed(0)
    encoder = Encoder(world.graph(), world.schema.node_types, options, draw).double()
    if options.norm == "learned":
        with torch.no_grad():
            encoder.norm.weight.uniform_(0.5, 1.5, generator=draw)
            encoder.norm.bias.uniform_(-1, 1, generator=draw)
    return encoder


def weights_of(metagraph: MetaGraph, given: bool) -> Tensor | None:
    if not given:
        return None
    draw = torch.Generator().manual_seed(1)
    return (0.2 + torch.rand(len(metagraph.choices), generator=draw, dtype=torch.float64)).requires_grad_()


def run(world: World, metagraph: MetaGraph, encoder: Encoder, weights: Tensor | None) -> Tensor:
    return encoder(world.graph().to(dtype=torch.float64), compile_program(metagraph), weights)


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


@given(st.data(), worlds(), options, st.booleans())
def test_equals_the_dense_evaluation(data, world, options, weighted):
    metagraph = data.draw(metagraphs(world.schema))
    encoder, weights = encoder_of(world, options), weights_of(metagraph, weighted)
    assert_close(run(world, metagraph, encoder, weights), oracle.encode(world, metagraph, encoder, weights))


@given(st.data(), worlds(), options, st.booleans())
def test_gradients_equal_those_of_the_dense_evaluation(data, world, options, weighted):
    metagraph = data.draw(metagraphs(world.schema))
    encoder, weights = encoder_of(world, options), weights_of(metagraph, weighted)
    inputs = [*encoder.parameters(), *([] if weights is None else [weights])]
    got = gradients(run(world, metagraph, encoder, weights), inputs)
    wanted = gradients(oracle.encode(world, metagraph, encoder, weights), inputs)
    for g, w in zip(got, wanted, strict=True):
        assert_close(g, w)


@pytest.mark.parametrize("norm", ["learned", "plain", "off"])
def test_all_links_empty_is_the_encoding_of_zero(norm):
    world = World({"a": 2, "b": 3}, {AB: np.array([[0], [0]])})
    metagraph = MetaGraph("b", ((EMPTY,),) * 3)
    encoder = encoder_of(world, EncoderOptions(DIM, norm))
    out = run(world, metagraph, encoder, None)
    assert out.shape == (3, DIM)
    assert_close(out, oracle.encode(world, metagraph, encoder))


def test_isolated_nodes_keep_their_own_state():
    world = World({"a": 2, "b": 3}, {AB: np.array([[0], [0]])})
    encoder = encoder_of(world, EncoderOptions(DIM))
    through = run(world, MetaGraph("b", ((AB,),)), encoder, None)
    own = run(world, MetaGraph("b", ((IDENTITY,),)), encoder, None)
    torch.testing.assert_close(through[1:], own[1:])
    assert not torch.allclose(through[0], own[0])


def test_mean_over_neighbours_and_the_node_itself():
    """Worked by hand: b0 has neighbours a0 and a1, so it becomes (a0 + a1 + b0) / 3."""
    world = World({"a": 2, "b": 1}, {AB: np.array([[0, 1], [0, 0]])})
    encoder = encoder_of(world, EncoderOptions(DIM, "off"))
    h0 = oracle.first_state(world, encoder)
    wanted = torch.nn.functional.gelu(h0.mean(dim=0, keepdim=True))
    assert_close(run(world, MetaGraph("b", ((AB,),)), encoder, None), wanted)


def test_relation_within_one_type_is_symmetrically_normalised():
    """Worked by hand: b0 - b1 - b2 is a path; with loops the degrees are 2, 3, 2."""
    world = World({"b": 3}, {BB: np.array([[0, 1, 1, 2], [1, 0, 2, 1]])})
    encoder = encoder_of(world, EncoderOptions(DIM, "off"))
    h0 = oracle.first_state(world, encoder)
    first = h0[0] / 2 + h0[1] / 6**0.5
    assert_close(run(world, MetaGraph("b", ((BB,),)), encoder, None)[0], torch.nn.functional.gelu(first))


def test_single_precision_is_close_to_double():
    world = World({"a": 2, "b": 3}, {AB: np.array([[0, 1, 1], [0, 0, 2]]), BA: np.array([[0, 2], [1, 1]])})
    metagraph = MetaGraph.of("a", {Link(1, 0): (AB, IDENTITY), Link(2, 0): IDENTITY, Link(2, 1): BA})
    encoder = encoder_of(world, EncoderOptions(DIM))
    wanted = oracle.encode(world, metagraph, encoder)
    single = encoder.float()(world.graph(), compile_program(metagraph))
    torch.testing.assert_close(single.double(), wanted, rtol=1e-4, atol=1e-4)


def test_dropout_zeroes_a_share_and_scales_up_the_rest():
    h = torch.ones(100, 100)
    dropped = dropout(h, 0.25, torch.Generator().manual_seed(0))
    assert torch.equal(dropped.unique(), torch.tensor([0.0, 1 / 0.75]))
    assert (dropped == 0).float().mean().item() == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_every_entry_is_dropped_with_the_same_probability(share):
    """Four draws share one random number, and the row ends within one: each entry is dropped independently."""
    draw = torch.Generator().manual_seed(0)
    kept = torch.stack([dropout(torch.ones(3, 5), share, draw) for _ in range(4000)]) > 0
    assert (kept.float().mean(dim=0) - (1 - share)).abs().max().item() < 0.03
    flat = kept.flatten(1).double()
    assert (torch.corrcoef(flat.T) - torch.eye(15)).abs().max() < 0.08


def test_dropout_acts_in_training_only_and_repeats_with_its_generator():
    world = World({"a": 2, "b": 3}, {AB: np.array([[0, 1], [0, 2]])})
    graph, program = world.graph(), compile_program(MetaGraph("b", ((AB,),)))
    encoder = Encoder(graph, ("a", "b"), EncoderOptions(16, dropout=0.5), torch.Generator().manual_seed(0))

    def once(seed: int) -> Tensor:
        return encoder(graph, program, generator=torch.Generator().manual_seed(seed))

    assert torch.equal(once(0), once(0))
    assert not torch.equal(once(0), once(1))
    encoder.eval()
    assert torch.equal(once(0), once(1))


@pytest.mark.parametrize(("norm", "parameters"), [("learned", 2), ("plain", 0), ("off", 0)])
def test_only_the_learned_norm_has_parameters(norm, parameters):
    world = World({"a": 2, "b": 3}, {AB: np.array([[0], [0]])})
    assert len(list(encoder_of(world, EncoderOptions(DIM, norm)).norm.parameters())) == parameters
