"""Programs of computed cells, evaluated with dense matrices, against the programs they are made from."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core import compile_program
from diffmg.core.program import Cell
from diffmg.engine.batched_programs import cell_program, encoded
from diffmg.nn.propagation import evaluate
from small_networks import METAGRAPHS, small_world
from worlds import metagraphs

GRAPH = small_world().graph()


def computed(metagraph, inputs, depth, mean):
    """The target, from computed cells alone."""
    program = cell_program(metagraph, depth, mean=mean)
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


def check(metagraph, spare, mean):
    program = compile_program(metagraph)
    if not program.steps:
        return
    draw = torch.Generator().manual_seed(0)
    inputs = {t: torch.randn(n, 3, generator=draw) for t, n in GRAPH.num_nodes.items()}
    shares = [1 / len(o) if mean else 1.0 for _, o in metagraph.items() for _ in o]
    (*_, wanted) = evaluate(program, GRAPH, {t: inputs[t] for t in program.inputs}, torch.tensor(shares))
    assert torch.allclose(computed(metagraph, inputs, metagraph.depth + spare, mean), wanted, atol=1e-4, rtol=1e-4)


@given(metagraphs(GRAPH.schema), st.integers(0, 2), st.booleans())
def test_the_same_target(metagraph, spare, mean):
    check(metagraph, spare, mean)


@pytest.mark.parametrize("name", list(METAGRAPHS))
def test_the_same_target_of_special_meta_graphs(name):
    for metagraph in METAGRAPHS[name]:
        check(metagraph, 1, False)


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
    wanted = computed(metagraph, inputs, depth, mean=False)
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
    products = compile_program(metagraph).products
    assert products <= len(program.messages) or not products
