"""Programs: the shortest list of typed sparse products that evaluates a meta graph for its target type."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from diffmg.core.metagraph import EMPTY, MetaGraph
from diffmg.core.schema import Relation

KEPT = 1024
"""Programs that are kept, about 20 kB each."""


class Cell(NamedTuple):
    """The rows of one node type in one state."""

    state: int
    node_type: str


class Term(NamedTuple):
    """The rows of `state`, times weight number `weight` of the sample (in the order of `MetaGraph.choices`)."""

    state: int
    weight: int


@dataclass(frozen=True)
class Product:
    """One sparse product: all messages along one relation into one cell, summed before the product."""

    relation: Relation
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Step:
    """How one cell is computed: products along relations plus rows that pass unchanged."""

    cell: Cell
    products: tuple[Product, ...]
    passed: tuple[Term, ...]


@dataclass(frozen=True)
class Program:
    """Steps in execution order; only cells that reach the target are computed."""

    target: Cell
    inputs: tuple[str, ...]
    """Node types whose state 0 is needed."""
    steps: tuple[Step, ...]
    """The last step computes `target`; without steps the target is zero."""
    outputs: tuple[Cell, ...] = ()
    """The cells that are read out: the target, or the target type of every state after state 0."""

    @cached_property
    def last_reads(self) -> tuple[tuple[Cell, ...], ...]:
        """For each step, the cells that no later step reads."""
        last = {cell: number for number, step in enumerate(self.steps) for cell in sources(step)}
        last = {cell: number for cell, number in last.items() if cell not in self.outputs}
        return tuple(tuple(c for c, at in last.items() if at == number) for number in range(len(self.steps)))

    @property
    def products(self) -> int:
        """The number of sparse products, a measure of the meta graph's complexity."""
        return sum(len(step.products) for step in self.steps)


@lru_cache(maxsize=KEPT)
def compile_program(metagraph: MetaGraph, *, every_state: bool = False) -> Program:
    """Walk back from (K, target type) and keep the cells it needs; programs are cached by meta graph.

    With `every_state` the target type is computed in all states, not only in the last one.
    """
    target = Cell(metagraph.depth, metagraph.target)
    outputs = tuple(Cell(k, target.node_type) for k in range(1, target.state + 1)) if every_state else (target,)
    steps: dict[Cell, Step | None] = {}
    for cell in outputs:
        _visit(metagraph, cell, steps)
    used = sorted((s for s in steps.values() if s is not None), key=lambda s: s.cell)
    inputs = {source.node_type for step in used for source in sources(step) if source.state == 0}
    return Program(target, tuple(sorted(inputs)), tuple(used), outputs)


def sources(step: Step) -> Iterator[Cell]:
    """The cells a step reads."""
    for product in step.products:
        for term in product.terms:
            yield Cell(term.state, product.relation.source)
            yield Cell(term.state, step.cell.node_type)
    for term in step.passed:
        yield Cell(term.state, step.cell.node_type)


def _visit(metagraph: MetaGraph, cell: Cell, steps: dict[Cell, Step | None]) -> bool:
    """Add the steps of `cell` and its dependencies; False if the cell is always zero."""
    if cell.state == 0:
        return True
    if cell not in steps:
        steps[cell] = None
        step = _step(metagraph, cell, steps)
        if step.products or step.passed:
            steps[cell] = step
    return steps[cell] is not None


def _step(metagraph: MetaGraph, cell: Cell, steps: dict[Cell, Step | None]) -> Step:
    products: dict[Relation, list[Term]] = {}
    passed: list[Term] = []
    for weight, (link, operation) in enumerate(metagraph.choices):
        if link.k != cell.state or operation is EMPTY:
            continue
        if not _visit(metagraph, Cell(link.i, cell.node_type), steps):
            continue  # a state is zero for all types or for none
        term = Term(link.i, weight)
        if isinstance(operation, Relation) and operation.target == cell.node_type:
            _visit(metagraph, Cell(link.i, operation.source), steps)
            products.setdefault(operation, []).append(term)
        else:
            passed.append(term)
    return Step(cell, tuple(Product(r, tuple(t)) for r, t in products.items()), tuple(passed))
