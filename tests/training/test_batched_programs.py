"""Programs of computed cells, evaluated with dense matrices, against the programs they are made from."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core import EMPTY, IDENTITY, MetaGraph, compile_program
from diffmg.core.program import Cell
from diffmg.engine.batched_programs import cell_program, encoded
from diffmg.nn.propagation import evaluate
from small_networks import BA, METAGRAPHS, small_world
from worlds import metagraphs

GRAPH = small_world().graph()
RELATIONS = list(GRAPH.schema.relations)


def computed(metagraph, inputs, depth, mean, heavy):
    """The target, from computed cells alone."""
    program = cell_program(metagraph, depth, mean=mean, heavy=heavy)
    states = {Cell(0, t): x for t, x in inputs.items()}
    for cell in sorted(c for c in program.computed if c.state > 0):
        total = sum(f * states[Cell(j, cell.node_type)] for j, f in program.passed[cell].items())
        for m in program.messages:
            if (m.into, m.relation.target) == cell:
                matrix, keep = GRAPH.propagation[m.relation].matrix, GRAPH.propagation[m.relation].keep
                if m.factor:
                    total = total + m.factor * (matrix.forward.to_dense() @ states[Cell(m.source, m.relation.source)])
                if m.own_factor and keep is not None:
                    total = total + m.own_factor * keep * states[Cell(m.own, m.relation.target)]
        states[cell] = total
    return states[Cell(depth, metagraph.target)]


def check(metagraph, spare, mean, heavy=frozenset()):
    program = compile_program(metagraph)
    if not program.steps:
        return
    draw = torch.Generator().manual_seed(0)
    inputs = {t: torch.randn(n, 3, generator=draw) for t, n in GRAPH.num_nodes.items()}
    shares = [1 / len(o) if mean else 1.0 for _, o in metagraph.items() for _ in o]
    (*_, wanted) = evaluate(program, GRAPH, {t: inputs[t] for t in program.inputs}, torch.tensor(shares))
    assert torch.allclose(
        computed(metagraph, inputs, metagraph.depth + spare, mean, heavy), wanted, atol=1e-4, rtol=1e-4
    )


@given(metagraphs(GRAPH.schema), st.integers(0, 2), st.booleans(), st.frozensets(st.sampled_from(RELATIONS)))
def test_the_same_target(metagraph, spare, mean, heavy):
    check(metagraph, spare, mean, heavy)


@given(metagraphs(GRAPH.schema), st.integers(0, 2))
def test_sharing_never_adds_a_product(metagraph, spare):
    some, all_heavy = (
        cell_program(metagraph, metagraph.depth + spare, mean=False, heavy=heavy)
        for heavy in (frozenset(), frozenset(RELATIONS))
    )
    assert len(all_heavy.messages) <= len(some.messages)
    assert {(m.relation, m.source) for m in all_heavy.messages} == {(m.relation, m.source) for m in some.messages}


def test_a_product_that_a_cell_is_serves_other_cells():
    metagraph = MetaGraph("a", ((IDENTITY,), (BA,), (EMPTY,), (BA,), (EMPTY,), (IDENTITY,)))
    program = cell_program(metagraph, 3, mean=False)
    assert [(m.relation, m.into) for m in program.messages] == [(BA, 2)]
    assert program.passed[Cell(3, "a")] == {2: 2.0}


def test_a_product_along_a_heavy_relation_has_a_cell_of_its_own():
    metagraph = MetaGraph("a", ((IDENTITY,), (BA,), (IDENTITY,), (BA,), (EMPTY,), (IDENTITY,)))
    assert len(cell_program(metagraph, 3, mean=False).messages) == 2
    program = cell_program(metagraph, 3, mean=False, heavy=frozenset({BA}))
    assert [(m.relation, m.source, m.into) for m in program.messages] == [(BA, 0, 1)]
    assert program.passed[Cell(2, "a")] == {0: 1.0, 1: 1.0}


@pytest.mark.parametrize("name", list(METAGRAPHS))
def test_the_same_target_of_special_meta_graphs(name):
    for metagraph in METAGRAPHS[name]:
        check(metagraph, 1, False, frozenset(RELATIONS))


def computed_by_parts(metagraph, inputs, depth):
    """The target, from what the kernels read."""
    program, names = cell_program(metagraph, depth, mean=False), list(GRAPH.schema.node_types)
    relations = list(GRAPH.schema.relations)
    read = encoded([program], names, {r: n for n, r in enumerate(relations)}, program.most_parts() + 2)
    states = {(0, t): x for t, x in inputs.items()}
    for state in range(1, depth + 1):
        for kind, t in enumerate(names):
            if not int(read["cells"][0, state]) >> kind & 1:
                continue
            total = torch.zeros(GRAPH.num_nodes[t], 3)
            for p in range(*read["ranges.f"][0, state, kind].tolist()):
                operation, source, own, _ = read["parts.f"][0, p].tolist()
                factor, own_factor = read["factors.f"][0, p].tolist()
                if operation < 0:
                    total = total + own_factor * states[own, t]
                    continue
                relation = relations[operation]
                matrix, keep = GRAPH.propagation[relation].matrix, GRAPH.propagation[relation].keep
                if factor:
                    sent = states[source, relation.source]
                    total = total + factor * (matrix.forward.to_dense() @ sent)
                if own_factor and keep is not None:
                    total = total + own_factor * keep * states[own, t]
            states[state, t] = total
    return states[depth, metagraph.target]


@given(metagraphs(GRAPH.schema), st.integers(0, 2))
def test_the_parts_that_kernels_read_give_the_same_target(metagraph, spare):
    if not compile_program(metagraph).steps:
        return
    draw = torch.Generator().manual_seed(0)
    inputs = {t: torch.randn(n, 3, generator=draw) for t, n in GRAPH.num_nodes.items()}
    depth = metagraph.depth + spare
    wanted = computed(metagraph, inputs, depth, mean=False, heavy=frozenset())
    assert torch.allclose(computed_by_parts(metagraph, inputs, depth), wanted, atol=1e-5, rtol=1e-5)


@given(metagraphs(GRAPH.schema))
def test_parts_backward_turn_those_forward_around(metagraph):
    program = cell_program(metagraph, metagraph.depth, mean=False)
    forward = set()
    for part in program.cell_parts("f"):
        if part.factor:
            forward.add((part.cell.state, part.source, part.relation, part.factor))
        if part.own_factor:
            forward.add((part.cell.state, part.own, part.cell.node_type, part.relation, part.own_factor))
    backward = set()
    for part in program.cell_parts("b"):
        assert bool(part.factor) != bool(part.own_factor)
        if part.factor:
            backward.add((part.source, part.cell.state, part.relation, part.factor))
        else:
            backward.add((part.own, part.cell.state, part.cell.node_type, part.relation, part.own_factor))
    assert forward == backward


@given(metagraphs(GRAPH.schema))
def test_no_more_messages_than_operations(metagraph):
    program = cell_program(metagraph, metagraph.depth, mean=False)
    assert len(program.messages) <= len(metagraph.choices)
    assert bool(program.messages) == bool(compile_program(metagraph).products)
