"""Products that several cells of a program need, computed once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from diffmg.core import Relation
from diffmg.core.program import Cell

if TYPE_CHECKING:
    from diffmg.engine.batched_programs import CellProgram, Message
    from diffmg.graph.network import HeteroGraph

HEAVY = 4
"""Neighbours of a node, on average, from which on a product is worth a cell of its own: it is then written and read."""


def heavy_relations(graph: HeteroGraph) -> frozenset[Relation]:
    """The relations whose products are worth cells of their own."""
    return frozenset(r for r, a in graph.adjacency.items() if a.nnz >= HEAVY * a.shape[0])


class _Product(NamedTuple):
    """A message but for its receiver's state and its size."""

    relation: Relation
    source: int
    own: int | None
    share: float
    """The own state's factor for each of the product's."""


def share_products(program: CellProgram, heavy: Collection[Relation]) -> None:
    """Let cells take over a product that another cell is, or that a cell with room for it holds.

    A product is worth a cell of its own only along a heavy relation.
    """
    products: dict[_Product, list[Message]] = {}
    for m in program.messages:
        if m.factor:
            own = m.own if m.own_factor else None
            products.setdefault(_Product(m.relation, m.source, own, m.own_factor / m.factor), []).append(m)
    for product, messages in products.items():
        if len(messages) > 1:
            _share(program, product, sorted(messages, key=lambda m: m.into), product.relation in heavy)


def _share(program: CellProgram, product: _Product, messages: list[Message], heavy: bool) -> None:
    first, node_type = messages[0], product.relation.target
    if _is_all(program, first):
        _take_over(program, first.into, first.factor, messages[1:])
        return
    free = _free(program, node_type, range(1 + max(product.source, product.own or 0), first.into))
    if heavy and free is not None:
        program.computed.add(Cell(free, node_type))
        program.passed[Cell(free, node_type)] = {}
        _take_over(program, free, 1.0, messages)
        program.messages.append(replace(first, into=free, factor=1.0, own_factor=product.share))


def _is_all(program: CellProgram, message: Message) -> bool:
    """Whether a cell is this message and nothing else."""
    cell = Cell(message.into, message.relation.target)
    others = (m for m in program.messages if m is not message and Cell(m.into, m.relation.target) == cell)
    return not program.passed[cell] and next(others, None) is None


def _free(program: CellProgram, node_type: str, states: Iterable[int]) -> int | None:
    """The first of some states in which no cell of a type is computed."""
    return next((state for state in states if Cell(state, node_type) not in program.computed), None)


def _take_over(program: CellProgram, state: int, factor: float, messages: Iterable[Message]) -> None:
    """Messages become shares of a cell that is `factor` times their product."""
    for m in messages:
        cell = Cell(m.into, m.relation.target)
        passed = program.passed[cell]
        program.passed[cell] = passed | {state: passed.get(state, 0.0) + m.factor / factor}
        program.messages.remove(m)
