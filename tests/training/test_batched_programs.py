"""Programs of computed cells, evaluated with dense matrices, against the programs they are made from."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core import compile_program
from diffmg.core.program import Cell
from diffmg.engine.batched_programs import cell_program
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


@given(metagraphs(GRAPH.schema))
def test_no_more_messages_than_operations(metagraph):
    program = cell_program(metagraph, metagraph.depth, mean=False)
    assert len(program.messages) <= len(metagraph.choices)
    products = compile_program(metagraph).products
    assert products <= len(program.messages) or not products
