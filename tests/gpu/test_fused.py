"""The fused kernels against the plain program and against the dense evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

import oracle
from diffmg.core.metagraph import EMPTY, IDENTITY, MetaGraph, links_of
from diffmg.core.program import compile_program
from diffmg.core.schema import Relation
from diffmg.engine import layout
from diffmg.nn.propagation import evaluate
from small_networks import AB, BA, METAGRAPHS, small_world
from worlds import World, metagraphs, worlds

pytest.importorskip("triton", reason="the fused kernels are written in Triton, which is not installed")

from diffmg.engine import fused
from diffmg.engine.fused import KernelLinks, pack_metagraphs, propagate
from diffmg.engine.layout import KernelTables

TOWERS = METAGRAPHS["towers with different numbers of operations"]


@dataclass(frozen=True)
class Case:
    """State 0 and weights of one or more towers, and the gradient that comes in at their ends."""

    world: World
    metagraphs: tuple[MetaGraph, ...]
    h: Tensor
    """(towers, N, d)"""
    weights: tuple[Tensor, ...] | None
    ends: tuple[Tensor, ...]

    @classmethod
    def of(cls, world: World, metagraphs: Sequence[MetaGraph], d: int = 3, *, weighted: bool = True) -> Case:
        draw = torch.Generator().manual_seed(0)
        nodes = sum(world.num_nodes.values())
        h = torch.randn(len(metagraphs), nodes, d, generator=draw)
        weights = tuple(0.2 + torch.rand(len(m.choices), generator=draw) for m in metagraphs)
        ends = tuple(torch.randn(world.num_nodes[m.target], d, generator=draw) for m in metagraphs)
        return cls(world, tuple(metagraphs), h, weights if weighted else None, ends)


@dataclass(frozen=True)
class Result:
    """What came out and the gradients of what went in; None where there are no weights."""

    out: tuple[Tensor, ...]
    h: Tensor
    weights: tuple[Tensor, ...] | None


def leaves(case: Case, device: torch.device | str, dtype: torch.dtype) -> tuple[Tensor, list[Tensor] | None]:
    """State 0 and weights as tensors that want a gradient."""
    h = case.h.to(device, dtype, copy=True).requires_grad_()
    if case.weights is None:
        return h, None
    return h, [w.to(device, dtype, copy=True).requires_grad_() for w in case.weights]


def result(case: Case, out: Sequence[Tensor], h: Tensor, weights: list[Tensor] | None) -> Result:
    """Outputs and gradients, on the host; what the outputs do not hang on has gradient zero."""
    reached = [(o * e.to(o)).sum() for o, e in zip(out, case.ends, strict=True) if o.requires_grad]
    if reached:
        sum(reached).backward()
    grads = [torch.zeros_like(x) if x.grad is None else x.grad for x in (h, *(weights or ()))]
    first, *rest = (g.detach().double().cpu() for g in grads)
    return Result(tuple(o.detach().double().cpu() for o in out), first, tuple(rest) if weights else None)


def by_kernels(case: Case, device: torch.device, storage: torch.dtype = torch.float32) -> Result:
    tables = KernelTables.of(case.world.graph().to(device))
    packed = pack_metagraphs(case.metagraphs, tables)
    h, weights = leaves(case, device, torch.float32)
    out = propagate(h, packed, None if weights is None else packed.weights(weights), tables, storage)
    return result(case, out, h, weights)


def by_program(case: Case) -> Result:
    """Tower by tower, in plain torch."""
    graph = case.world.graph()
    h, weights = leaves(case, "cpu", torch.float32)
    out = []
    for n, metagraph in enumerate(case.metagraphs):
        program = compile_program(metagraph)
        inputs = {t: h[n, oracle.rows_of(case.world, t)] for t in program.inputs}
        given = None if weights is None else weights[n]
        nothing = torch.zeros_like(case.ends[n])
        out.append(evaluate(program, graph, inputs, given)[0] if program.steps else nothing)
    return result(case, out, h, weights)


def by_dense_matrices(case: Case) -> Result:
    """In double precision."""
    h, weights = leaves(case, "cpu", torch.float64)
    out = []
    for n, metagraph in enumerate(case.metagraphs):
        last = oracle.last_state(case.world, metagraph, h[n], None if weights is None else weights[n])
        out.append(last[oracle.rows_of(case.world, metagraph.target)])
    return result(case, out, h, weights)


def assert_close(got: Result, wanted: Result, tolerance: float = 1e-5) -> None:
    """Relative to the largest entry of each tensor."""
    assert (got.weights is None) == (wanted.weights is None)
    pairs = [*zip(got.out, wanted.out, strict=True), (got.h, wanted.h)]
    pairs += zip(got.weights or (), wanted.weights or (), strict=True)
    for g, w in pairs:
        scale = max(1.0, w.abs().max().item())
        torch.testing.assert_close(g, w, rtol=0, atol=tolerance * scale)


def test_the_interpreter_stands_in_for_a_gpu(device):
    import triton

    assert triton.knobs.runtime.interpret == (device.type == "cpu")


@pytest.mark.parametrize(
    ("name", "weighted"), [*((name, True) for name in METAGRAPHS), ("a path", False), ("one tower with nothing", False)]
)
def test_outputs_and_gradients_are_those_of_the_program_and_of_the_dense_matrices(name, weighted, device):
    case = Case.of(small_world(), METAGRAPHS[name], weighted=weighted)
    got = by_kernels(case, device)
    assert_close(got, by_program(case))
    assert_close(got, by_dense_matrices(case))


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), worlds(), st.integers(1, 3), st.integers(1, 2), st.booleans())
def test_any_network_and_any_meta_graphs(device, data, world, depth, towers, weighted):
    some = metagraphs(world.schema, min_depth=depth, max_depth=depth, max_operations=2)
    case = Case.of(world, [data.draw(some) for _ in range(towers)], weighted=weighted)
    assert_close(by_kernels(case, device), by_dense_matrices(case))


@pytest.mark.parametrize("d", [1, 6])
def test_any_number_of_columns(d, device):
    case = Case.of(small_world(), METAGRAPHS["two towers"], d)
    assert_close(by_kernels(case, device), by_dense_matrices(case))


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_rows_cut_into_chunks(monkeypatch, weighted, device):
    monkeypatch.setattr(layout, "CHUNK", 4)
    case = Case.of(small_world(), TOWERS, weighted=weighted)
    tables = KernelTables.of(case.world.graph())
    assert min(tables.forward.max_chunks, tables.backward.max_chunks) > 1
    got = by_kernels(case, device)
    assert_close(got, by_program(case))
    assert_close(got, by_dense_matrices(case))


def test_chunks_longer_than_a_block(monkeypatch, device):
    """A chunk is read in several goes, the last of them not full."""
    monkeypatch.setattr(fused, "CHUNK_BLOCK", 4)
    monkeypatch.setattr(layout, "CHUNK", 6)
    case = Case.of(small_world(), METAGRAPHS["a path"])
    assert KernelTables.of(case.world.graph()).forward.max_chunks > 1
    assert_close(by_kernels(case, device), by_dense_matrices(case))


def test_as_many_types_as_there_are_bits(device):
    """The last type is the highest bit of the sets of types."""
    types = [f"t{n}" for n in range(63)]
    low, high = Relation("t0", "x", "t62"), Relation("t62", "y", "t0")
    edges = {low: np.array([[0], [0]]), high: np.array([[0], [0]])}
    world = World(dict.fromkeys(types, 1), edges)
    case = Case.of(world, [MetaGraph("t62", ((high, IDENTITY), (EMPTY,), (low,)))])
    assert_close(by_kernels(case, device), by_dense_matrices(case))


def test_states_held_in_half_the_bits(device):
    case = Case.of(small_world(), METAGRAPHS["a path"])
    exact, rounded = by_kernels(case, device), by_kernels(case, device, torch.bfloat16)
    assert_close(rounded, exact, tolerance=2e-2)
    assert not torch.equal(rounded.h, exact.h)


def test_the_same_again_bit_for_bit(device):
    case = Case.of(small_world(), METAGRAPHS["two towers"])
    first, second = by_kernels(case, device), by_kernels(case, device)
    assert all(torch.equal(a, b) for a, b in zip(first.out, second.out, strict=True))
    assert torch.equal(first.h, second.h)
    assert all(torch.equal(a, b) for a, b in zip(first.weights, second.weights, strict=True))


@pytest.mark.parametrize(("h_wants", "weights_want"), [(True, False), (False, True), (False, False)])
def test_gradients_go_to_what_wants_them(h_wants, weights_want, device):
    case = Case.of(small_world(), METAGRAPHS["two towers"])
    wanted = by_dense_matrices(case)
    tables = KernelTables.of(case.world.graph().to(device))
    packed = pack_metagraphs(case.metagraphs, tables)
    h = case.h.to(device).requires_grad_(h_wants)
    weights = [w.to(device).requires_grad_(weights_want) for w in case.weights]
    out = propagate(h, packed, packed.weights(weights), tables)
    assert all(o.requires_grad == (h_wants or weights_want) for o in out)
    if h_wants or weights_want:
        sum((o * e.to(device)).sum() for o, e in zip(out, case.ends, strict=True)).backward()
    assert (h.grad is not None) == h_wants
    assert all((w.grad is not None) == weights_want for w in weights)
    if h_wants:
        torch.testing.assert_close(h.grad.double().cpu(), wanted.h, rtol=0, atol=1e-5)
    if weights_want:
        for w, g in zip(weights, wanted.weights, strict=True):
            torch.testing.assert_close(w.grad.double().cpu(), g, rtol=0, atol=1e-4)


@pytest.mark.parametrize("weights_want", [False, True])
def test_states_are_held_only_for_the_gradient_of_the_weights(weights_want, device):
    case = Case.of(small_world(), TOWERS)
    tables = KernelTables.of(case.world.graph().to(device))
    packed = pack_metagraphs(case.metagraphs, tables)
    h = case.h.to(device).requires_grad_()
    weights = [w.to(device).requires_grad_(weights_want) for w in case.weights]
    held: list[int] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: held.append(t.numel()) or t, lambda t: t):
        propagate(h, packed, packed.weights(weights), tables)
    assert (max(held) >= h.numel()) == weights_want


def test_an_output_that_is_not_used_hands_nothing_back(device):
    case = Case.of(small_world(), TOWERS)
    tables = KernelTables.of(case.world.graph().to(device))
    packed = pack_metagraphs(case.metagraphs, tables)
    h, weights = leaves(case, device, torch.float32)
    propagate(h, packed, packed.weights(weights), tables)[1].sum().backward()
    assert not h.grad[0].any()
    assert not weights[0].grad.any()
    assert h.grad[1].any()
    assert weights[1].grad.any()


def test_some_columns_of_a_wider_state(device):
    """As they come when columns are computed in slices: not contiguous in memory."""
    case = Case.of(small_world(), METAGRAPHS["two towers"], d=6, weighted=False)
    tables = KernelTables.of(case.world.graph().to(device))
    packed = pack_metagraphs(case.metagraphs, tables)
    wide = case.h.to(device)
    whole = propagate(wide, packed, None, tables)
    for part in (slice(0, 4), slice(4, 6)):
        assert not wide[..., part].is_contiguous()
        for some, all_ in zip(propagate(wide[..., part], packed, None, tables), whole, strict=True):
            torch.testing.assert_close(some, all_[:, part])


def test_meta_graphs_are_laid_out_once():
    tables = KernelTables.of(small_world().graph())
    assert pack_metagraphs(TOWERS, tables) is pack_metagraphs(list(TOWERS), tables)
    assert pack_metagraphs(TOWERS[:1], tables) is not pack_metagraphs(TOWERS, tables)


def test_the_links_of_all_towers_are_laid_out_together():
    """A link has as many columns as the tower with most operations on it; the other's are EMPTY with weight 0."""
    tables = KernelTables.of(small_world().graph())
    packed = pack_metagraphs(TOWERS, tables)
    operations = {number: operation for operation, number in tables.numbers.items()}
    first, second = ([operations[n] for n in row] for row in packed.operations.tolist())
    links = [tuple(link) for link in packed.links.endpoints.tolist()]
    assert links == [(1, 0)] * 3 + [(2, 0)] * 2 + [(2, 1)] * 2
    assert first == [*TOWERS[0][1, 0], EMPTY, EMPTY, *TOWERS[0][2, 1]]
    assert second == [AB, EMPTY, EMPTY, *TOWERS[1][2, 0], BA, EMPTY]
    given_ = [torch.arange(1.0, 1 + len(m.choices)) for m in TOWERS]
    assert packed.weights(given_).tolist() == [[1, 2, 3, 4, 0, 5, 6], [1, 0, 0, 2, 3, 4, 0]]


def test_weights_of_towers_with_equal_numbers_of_operations_are_stacked():
    tables = KernelTables.of(small_world().graph())
    towers = METAGRAPHS["two towers"]
    given_ = [torch.arange(3.0), 10 + torch.arange(3.0)]
    assert torch.equal(pack_metagraphs(towers, tables).weights(given_), torch.stack(given_))


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_entries_of_kernel_links_are_sorted_by_the_state_they_write(depth):
    """Each link once, under the state it leads to on the way forward, and under its source on the way back."""
    links = links_of(depth)
    kernel_links = KernelLinks.of(links, ["b"], KernelTables.of(small_world().graph()))
    assert (kernel_links.depth, kernel_links.targets) == (depth, ("b",))
    for (rows, starts), ends in (
        (kernel_links.forward, lambda x: (x.k, x.i)),
        (kernel_links.backward, lambda x: (x.i, x.k)),
    ):
        for state in range(depth + 1):
            found = {tuple(row) for row in rows[starts[state] : starts[state + 1]].tolist()}
            assert found == {(ends(x)[1], n) for n, x in enumerate(links) if ends(x)[0] == state}
        assert starts[-1] == len(links)
