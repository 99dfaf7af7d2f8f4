"""Running a program: by slices of columns, with rounded states, and with gradients only where needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

import oracle
from diffmg.core.engine import Engine
from diffmg.core.metagraph import EMPTY, IDENTITY, MetaGraph
from diffmg.core.program import compile_program
from diffmg.core.schema import Relation
from diffmg.graph.network import HeteroGraph
from diffmg.nn.propagation import by_columns, evaluate
from small_networks import AB, BA, BB, METAGRAPHS, NODES, small_world
from worlds import World, metagraphs, worlds

D = 5
(DEEP,) = METAGRAPHS["several operations a link"]
COLUMNS = [1, 3, 5, 64]


@dataclass(frozen=True)
class Found:
    """Outputs (states, n, D) and gradients of one evaluation."""

    out: Tensor
    states: dict[str, Tensor]
    weights: Tensor | None


def engine_graph(world: World, dtype: torch.dtype = torch.float64, **switches) -> HeteroGraph:
    return replace(world.graph().to(dtype=dtype), engine=Engine(**switches))


def states_of(world: World, dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
    draw = torch.Generator().manual_seed(0)
    return {t: torch.randn(n, D, generator=draw, dtype=dtype) for t, n in world.num_nodes.items()}


def weights_of(metagraph: MetaGraph) -> Tensor:
    draw = torch.Generator().manual_seed(1)
    return 0.2 + torch.rand(len(metagraph.choices), generator=draw, dtype=torch.float64)


def cotangent(shape: torch.Size) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


def found(world: World, metagraph: MetaGraph, *, weighted: bool, every_state: bool = False, **switches) -> Found:
    program, graph = compile_program(metagraph, every_state=every_state), engine_graph(world, **switches)
    inputs = {t: states_of(world)[t].requires_grad_() for t in program.inputs}
    weights = weights_of(metagraph).requires_grad_() if weighted else None
    out = torch.stack(evaluate(program, graph, inputs, weights))
    if out.requires_grad:
        (out * cotangent(out.shape)).sum().backward()
    return Found(out.detach(), {t: h.grad for t, h in inputs.items()}, None if weights is None else weights.grad)


def assert_same(one: Found, other: Found) -> None:
    torch.testing.assert_close(one.out, other.out)
    torch.testing.assert_close(one.states, other.states)
    assert (one.weights is None) == (other.weights is None)
    if one.weights is not None:
        torch.testing.assert_close(one.weights, other.weights)


def dense(world: World, metagraph: MetaGraph, *, weighted: bool, every_state: bool = False) -> Found:
    """The same from dense N×N matrices."""
    inputs = {t: h.requires_grad_() for t, h in states_of(world).items()}
    weights = weights_of(metagraph).requires_grad_() if weighted else None
    states = oracle.all_states(world, metagraph, torch.cat(list(inputs.values())), weights)
    rows = oracle.rows_of(world, metagraph.target)
    out = torch.stack([h[rows] for h in states[1 if every_state else -1 :]])
    (out * cotangent(out.shape)).sum().backward()
    read = compile_program(metagraph, every_state=every_state).inputs
    assert all(not h.grad.any() for t, h in inputs.items() if t not in read)
    return Found(out.detach(), {t: inputs[t].grad for t in read}, None if weights is None else weights.grad)


def assert_near(one: Found, other: Found) -> None:
    """Matrices are held in single precision."""
    pairs = [(one.out, other.out), *((one.states[t], other.states[t]) for t in other.states)]
    pairs += [] if one.weights is None else [(one.weights, other.weights)]
    for a, b in pairs:
        torch.testing.assert_close(a, b, rtol=0, atol=1e-5 * max(1.0, b.abs().max().item()))


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", [name for name in METAGRAPHS if name != "nothing at all"])
def test_output_and_gradients_are_those_of_the_dense_matrices(poisoned, name, weighted):
    """Memory that is written only later must not be read."""
    for metagraph in METAGRAPHS[name]:
        if compile_program(metagraph).steps:
            got = found(small_world(), metagraph, weighted=weighted)
            assert_near(got, dense(small_world(), metagraph, weighted=weighted))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), worlds(), st.booleans(), st.booleans(), st.sampled_from([0, 2]))
def test_any_network_and_any_meta_graph(poisoned, data, world, weighted, every_state, columns):
    metagraph = data.draw(metagraphs(world.schema))
    if compile_program(metagraph, every_state=every_state).steps:
        got = found(world, metagraph, weighted=weighted, every_state=every_state, columns=columns)
        assert_near(got, dense(world, metagraph, weighted=weighted, every_state=every_state))


def test_a_state_that_nothing_reaches_is_zero():
    (metagraph,) = METAGRAPHS["a state that nothing reaches"]
    first, last = found(small_world(), metagraph, weighted=False, every_state=True).out
    assert not first.any()
    assert torch.equal(last, states_of(small_world())["b"])


@pytest.mark.parametrize(
    ("wanting", "weights_want"),
    [(("a",), None), (("b",), False), ("abc", True), ("abc", None), ("", True), ("", False)],
)
def test_gradients_go_to_what_wants_them(wanting, weights_want):
    world, program = small_world(), compile_program(DEEP)
    assert program.inputs == ("a", "b", "c")
    wanted = dense(world, DEEP, weighted=weights_want is not None)
    inputs = {t: h.requires_grad_(t in wanting) for t, h in states_of(world).items()}
    weights = None if weights_want is None else weights_of(DEEP).requires_grad_(weights_want)
    (out,) = evaluate(program, engine_graph(world), inputs, weights)
    assert out.requires_grad == bool(wanting or weights_want)
    if out.requires_grad:
        (out * cotangent(out.shape[-2:])).sum().backward()
    for node_type, h in inputs.items():
        assert (h.grad is not None) == (node_type in wanting)
        if h.grad is not None:
            torch.testing.assert_close(h.grad, wanted.states[node_type], rtol=0, atol=1e-5)
    if weights_want:
        torch.testing.assert_close(weights.grad, wanted.weights, rtol=0, atol=1e-4)


@pytest.mark.parametrize("every_state", [False, True], ids=["last", "all"])
def test_what_is_given_is_not_written_over(every_state):
    """Sums are made in place, but never in the states, the weights or the incoming gradients."""
    world = small_world()
    inputs = {t: h.requires_grad_() for t, h in states_of(world).items()}
    weights = weights_of(DEEP).requires_grad_()
    out = evaluate(compile_program(DEEP, every_state=every_state), engine_graph(world), inputs, weights)
    before, ends = [z.detach().clone() for z in out], [cotangent(z.shape) for z in out]
    first = torch.autograd.grad(out, [*inputs.values(), weights], ends, retain_graph=True)
    second = torch.autograd.grad(out, [*inputs.values(), weights], ends)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert all(torch.equal(end, cotangent(end.shape)) for end in ends)
    assert all(torch.equal(a, b) for a, b in zip(out, before, strict=True))
    assert all(torch.equal(h, states_of(world)[t]) for t, h in inputs.items())
    assert torch.equal(weights, weights_of(DEEP))


@pytest.mark.parametrize("read", [0, 1, 2])
def test_a_gradient_may_come_from_some_states_only(read):
    world, weights = small_world(), weights_of(DEEP)
    inputs = {t: h.requires_grad_() for t, h in states_of(world).items()}
    out = evaluate(compile_program(DEEP, every_state=True), engine_graph(world), inputs, weights)
    got = torch.autograd.grad((out[read] * cotangent(out[read].shape)).sum(), list(inputs.values()), allow_unused=True)
    states = oracle.all_states(world, DEEP, torch.cat(list(inputs.values())), weights)
    z = states[read + 1][oracle.rows_of(world, "b")]
    wanted = torch.autograd.grad((z * cotangent(z.shape)).sum(), list(inputs.values()), allow_unused=True)
    for g, w in zip(got, wanted, strict=True):
        torch.testing.assert_close(g, torch.zeros_like(g) if w is None else w, rtol=0, atol=1e-5)


def packed(world: World, metagraph: MetaGraph, *, weights_want: bool, **switches) -> int:
    """How many numbers are saved for the backward pass."""
    inputs = {t: h.requires_grad_() for t, h in states_of(world).items()}
    held: list[int] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: held.append(t.numel()) or t, lambda t: t):
        weights = weights_of(metagraph).requires_grad_(weights_want)
        evaluate(compile_program(metagraph), engine_graph(world, **switches), inputs, weights)
    return sum(held)


def test_states_are_held_only_for_the_gradient_of_the_weights():
    assert packed(small_world(), DEEP, weights_want=False) == 0
    assert packed(small_world(), DEEP, weights_want=True) > D * sum(NODES.values())


def test_with_columns_in_slices_no_state_but_the_first_is_held():
    """Only state 0 is saved: all others are recomputed."""
    first = D * sum(NODES.values())
    for columns in COLUMNS:
        assert packed(small_world(), DEEP, weights_want=True, columns=columns) == first
    assert packed(small_world(), DEEP, weights_want=True) > 2 * first


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_columns_in_slices_give_the_same(poisoned, weighted):
    whole = found(small_world(), DEEP, weighted=weighted)
    for columns in COLUMNS:
        assert_same(found(small_world(), DEEP, weighted=weighted, columns=columns), whole)


class Doubling:
    """A fake `run` that records the widths of its inputs."""

    def __init__(self) -> None:
        self.widths: list[int] = []

    def __call__(self, one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
        self.widths.append(one.shape[-1])
        assert one.shape[-1] == other.shape[-1]
        return one * one, one * other


def pair() -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(0)
    return tuple(torch.randn(2, 3, D, generator=draw, dtype=torch.float64).requires_grad_() for _ in range(2))


@pytest.mark.parametrize(("columns", "widths"), [(1, [1] * 5), (3, [3, 2]), (5, [5]), (64, [5])])
def test_each_slice_is_computed_once_and_once_more_on_the_way_back(columns, widths):
    run, (one, other) = Doubling(), pair()
    first, second = by_columns(run, [one, other], columns)
    assert run.widths == widths
    torch.testing.assert_close((first, second), (one * one, one * other))
    got = torch.autograd.grad((first + 3 * second).sum(), (one, other))
    assert sorted(run.widths) == sorted(2 * widths)
    torch.testing.assert_close(got, (2 * one + 3 * other, 3 * one))


def test_all_columns_at_once_are_computed_once():
    run, (one, other) = Doubling(), pair()
    first, second = by_columns(run, [one, other], 0)
    (first + second).sum().backward()
    assert run.widths == [D]


def test_without_gradients_slices_are_computed_once():
    run = Doubling()
    with torch.no_grad():
        by_columns(run, pair(), 2)
    assert run.widths == [2, 2, 1]


def rounded(h: Tensor) -> Tensor:
    return h.bfloat16().to(h.dtype)


def in_half(operations: tuple[tuple, ...], target: str = "b") -> tuple[Tensor, Mapping[str, Tensor], HeteroGraph]:
    """Output with states stored in 16 bits, its state 0, and the network."""
    world = small_world()
    states, graph = states_of(world, torch.float32), engine_graph(world, torch.float32, storage="bfloat16")
    program = compile_program(MetaGraph(target, operations))
    return evaluate(program, graph, {t: states[t] for t in program.inputs})[0], states, graph


def test_a_state_is_rounded_when_it_is_kept():
    out, states, _ = in_half(((IDENTITY,),))
    assert torch.equal(out, rounded(states["b"]))
    assert not torch.equal(out, states["b"])


def test_sums_are_made_of_what_was_kept_and_rounded_once():
    out, states, _ = in_half(((IDENTITY,), (IDENTITY,), (IDENTITY,)))
    assert torch.equal(out, rounded(2 * rounded(states["b"])))


def along(graph: HeteroGraph, relation: Relation, source: Tensor, target: Tensor) -> Tensor:
    """One relation by its formula, in double precision."""
    propagation = graph.propagation[relation]
    message = propagation.matrix.forward.to_dense().double() @ source.double()
    return message if propagation.keep is None else message + propagation.keep.double() * target.double()


def test_every_state_is_rounded():
    """Three states: b's way over a, and b within itself."""
    out, states, graph = in_half(((BA,), (EMPTY,), (AB,), (IDENTITY,), (EMPTY,), (BB,)))
    a, b = rounded(states["a"]), rounded(states["b"])
    a1 = rounded(along(graph, BA, b, a).float())
    b2 = rounded(along(graph, AB, a1, b).float())
    wanted = rounded((along(graph, BB, b2, b2) + b.double()).float())
    torch.testing.assert_close(out, wanted, rtol=2**-7, atol=0)  # a sum on the edge may be rounded either way
    assert (out == wanted).float().mean() > 0.9


def test_gradients_with_rounded_states_are_close():
    world = small_world()
    exact, half = (found(world, DEEP, weighted=True, storage=s) for s in ("float32", "bfloat16"))
    pairs = [(half.out, exact.out), (half.weights, exact.weights)]
    pairs += [(half.states[t], exact.states[t]) for t in exact.states]
    for one, other in pairs:
        torch.testing.assert_close(one, other, rtol=0, atol=2e-2 * max(1.0, other.abs().max().item()))
    assert not torch.equal(half.out, exact.out)
