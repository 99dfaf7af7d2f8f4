from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import oracle
from diffmg.core.metagraph import EMPTY, IDENTITY, Link, MetaGraph
from diffmg.core.program import Cell, Product, Step, Term, compile_program, sources
from diffmg.core.schema import Relation
from diffmg.graph.network import HeteroGraph
from diffmg.nn.propagation import evaluate
from worlds import World, metagraphs, schemas, worlds

VP, PA, AP = Relation("venue", "vp", "paper"), Relation("paper", "pa", "author"), Relation("author", "ap", "paper")
PATH = MetaGraph.of("author", {Link(1, 0): VP, Link(2, 0): EMPTY, Link(2, 1): PA})


def every_cell(metagraph: MetaGraph, graph: HeteroGraph, inputs: dict[str, Tensor], weights: Tensor) -> list[Tensor]:
    """The target's states 1 to K with all (state, type) computed, one product per message."""
    cells = {(0, t): h for t, h in inputs.items()}
    for k in range(1, metagraph.depth + 1):
        for t in inputs:
            cells[k, t] = torch.zeros_like(inputs[t])
            for weight, (link, operation) in zip(weights, metagraph.choices, strict=True):
                if link.k != k or operation is EMPTY:
                    continue
                own = cells[link.i, t]
                if isinstance(operation, Relation) and operation.target == t:
                    step = graph.propagation[operation]
                    sent = step.matrix.forward.to_dense() @ cells[link.i, operation.source]
                    own = sent if step.keep is None else sent + step.keep * own
                cells[k, t] = cells[k, t] + weight * own
    return [cells[k, metagraph.target] for k in range(1, metagraph.depth + 1)]


def random_inputs(world: World) -> dict[str, Tensor]:
    draw = torch.Generator().manual_seed(0)
    return {t: torch.randn(n, 3, generator=draw, dtype=torch.float64) for t, n in world.num_nodes.items()}


@given(st.data(), worlds(), st.booleans())
def test_pruning_and_sharing_do_not_change_the_result(data, world, every_state):
    metagraph = data.draw(metagraphs(world.schema))
    graph, inputs = world.graph().to(dtype=torch.float64), random_inputs(world)
    weights = torch.rand(len(metagraph.choices), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    program = compile_program(metagraph, every_state=every_state)
    wanted = every_cell(metagraph, graph, inputs, weights)[0 if every_state else -1 :]
    if program.steps:
        torch.testing.assert_close(list(evaluate(program, graph, inputs, weights)), wanted)
    else:
        assert not any(state.any() for state in wanted)


@given(st.data(), worlds())
def test_only_the_named_inputs_matter(data, world):
    metagraph = data.draw(metagraphs(world.schema))
    program = compile_program(metagraph)
    inputs = random_inputs(world)
    changed = {t: h if t in program.inputs else h + 1 for t, h in inputs.items()}
    last = [
        oracle.last_state(world, metagraph, torch.cat(list(h.values())))[oracle.rows_of(world, metagraph.target)]
        for h in (inputs, changed)
    ]
    torch.testing.assert_close(*last)


@given(st.data(), schemas())
def test_steps_read_only_what_is_there(data, schema):
    """A cell that is read is an input, an earlier step, or zero whatever the input."""
    metagraph = data.draw(metagraphs(schema))
    program = compile_program(metagraph)
    computed = {Cell(0, t) for t in program.inputs}
    for step in program.steps:
        missing = set(sources(step)) - computed
        assert all(not compile_program(_cut(metagraph, cell)).steps for cell in missing)
        computed.add(step.cell)


def _cut(metagraph: MetaGraph, cell: Cell) -> MetaGraph:
    """The part of a meta graph that computes one of its cells."""
    return MetaGraph(cell.node_type, metagraph.operations[: cell.state * (cell.state + 1) // 2])


@given(st.data(), schemas())
def test_every_step_is_read_later_or_is_the_target(data, schema):
    program = compile_program(data.draw(metagraphs(schema)))
    read = {cell for step in program.steps for cell in sources(step)}
    assert all(step.cell in read | {program.target} for step in program.steps)
    assert not program.steps or program.steps[-1].cell == program.target


@given(st.data(), schemas())
def test_every_state_adds_steps_and_changes_none(data, schema):
    metagraph = data.draw(metagraphs(schema))
    last, every = (compile_program(metagraph, every_state=x) for x in (False, True))
    assert set(last.steps) <= set(every.steps)
    assert last.outputs == (last.target,)
    assert every.outputs == tuple(Cell(k, metagraph.target) for k in range(1, metagraph.depth + 1))
    for k, output in enumerate(every.outputs, start=1):
        assert (output in {step.cell for step in every.steps}) == bool(compile_program(_cut(metagraph, output)).steps)
        assert set(compile_program(_cut(metagraph, output)).steps) <= set(every.steps), k


@given(st.data(), schemas())
def test_messages_along_one_relation_into_one_cell_share_a_product(data, schema):
    for step in compile_program(data.draw(metagraphs(schema))).steps:
        relations = [product.relation for product in step.products]
        assert len(relations) == len(set(relations))


def test_a_path_compiles_to_one_product_a_step():
    assert compile_program(PATH).steps == (
        Step(Cell(1, "author"), (), (Term(0, 0),)),
        Step(Cell(1, "paper"), (Product(VP, (Term(0, 0),)),), ()),
        Step(Cell(2, "author"), (Product(PA, (Term(1, 2),)),), ()),
    )
    assert compile_program(PATH).inputs == ("author", "paper", "venue")


def test_types_that_cannot_reach_the_target_are_left_out():
    metagraph = MetaGraph.of("paper", {Link(1, 0): PA, Link(2, 0): EMPTY, Link(2, 1): VP})
    program = compile_program(metagraph)
    assert {step.cell for step in program.steps} == {Cell(1, "paper"), Cell(1, "venue"), Cell(2, "paper")}
    assert program.inputs == ("paper", "venue")


def test_a_target_that_is_always_zero_has_no_steps():
    program = compile_program(MetaGraph.of("author", {Link(1, 0): EMPTY, Link(2, 0): EMPTY, Link(2, 1): IDENTITY}))
    assert (program.steps, program.inputs) == ((), ())


def test_programs_are_cached_by_value():
    again = MetaGraph.from_dict(PATH.to_dict())
    assert again is not PATH
    assert compile_program(again) is compile_program(PATH)


@given(st.data(), schemas(), st.booleans())
def test_a_cell_is_given_up_after_its_last_read(data, schema, every_state):
    """Not earlier, and each just once; what is read out is never given up."""
    program = compile_program(data.draw(metagraphs(schema)), every_state=every_state)
    assert len(program.last_reads) == len(program.steps)
    given_up: set[Cell] = set()
    for step, done_with in zip(program.steps, program.last_reads, strict=True):
        assert not given_up & set(sources(step))
        assert not given_up & set(done_with)
        assert set(done_with) <= set(sources(step))
        given_up |= set(done_with)
    assert given_up == {cell for step in program.steps for cell in sources(step)} - set(program.outputs)
