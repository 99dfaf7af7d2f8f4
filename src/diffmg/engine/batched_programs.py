"""Programs of many towers in device memory: which cells are computed, and from what.

A cell that only passes on other states of its type is not computed: whoever reads it reads, with factors, the cells it
is made of. What is left are products along relations, and the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffmg.core import MetaGraph, Relation, compile_program
from diffmg.core.program import Cell, Product, Step, Term
from diffmg.engine.batched_sharing import share_products

Parts = dict[int, float]
"""Factors of the computed states that a cell is made of."""
Way = Literal["f", "b"]
"""Forward, or backward."""
WAYS: tuple[Way, Way] = ("f", "b")
PASSES = -1
"""The operation of a part that is taken over unchanged."""


@dataclass(frozen=True)
class Message:
    """One product into a cell: along a relation from one state, and the receiver's own share of another."""

    relation: Relation
    into: int
    source: int
    factor: float
    own: int
    own_factor: float


@dataclass(frozen=True)
class CellPart:
    """What a cell adds up: a message, or what it takes over from another cell of its type."""

    cell: Cell
    relation: Relation | None
    """None where states are taken over unchanged."""
    source: int
    own: int
    message: int
    """Number of the message."""
    factor: float
    """Of the product along the relation, 0 for none."""
    own_factor: float
    """Of the receiver's own state, times its share in the relation, 0 for none."""


@dataclass
class CellProgram:
    """A meta graph's program on computed cells; its last state has number `depth`."""

    depth: int
    computed: set[Cell] = field(default_factory=set)
    parts: dict[Cell, Parts] = field(default_factory=dict)
    """Per cell, the computed states it is made of: itself, if it is computed."""
    passed: dict[Cell, Parts] = field(default_factory=dict)
    """Per computed cell, what it takes over unchanged."""
    messages: list[Message] = field(default_factory=list)

    def add(self, step: Step, weights: Sequence[float], needed: set[Cell], last: bool) -> None:
        """Add a step: compute its cell, or note what it is made of."""
        state = self.depth if last else step.cell.state
        passed = self._sum(step.passed, step.cell.node_type, weights)
        if not (last or step.products or (step.cell in needed and len(passed) > 1)):
            self.parts[step.cell] = passed
            return
        cell = Cell(state, step.cell.node_type)
        self.computed.add(cell)
        self.parts[step.cell] = {state: 1.0}
        self.passed[cell] = passed
        for product in step.products:
            self._add_messages(product, state, weights)

    def read(self, cell: Cell) -> Parts:
        """What a cell is made of; state 0 is given."""
        if cell.state == 0:
            self.computed.add(cell)
        return self.parts.get(cell, {0: 1.0} if cell.state == 0 else {})

    def cell_parts(self, way: Way) -> Iterator[CellPart]:
        """What each computed cell adds up: states forward, their gradients backward."""
        for cell, parts in self.passed.items():
            for state, factor in parts.items():
                into, source = (cell.state, state) if way == "f" else (state, cell.state)
                yield CellPart(Cell(into, cell.node_type), None, source, source, 0, 0.0, factor)
        for number, m in enumerate(self.messages):
            receiver = Cell(m.into, m.relation.target)
            if way == "f":
                yield CellPart(receiver, m.relation, m.source, m.own, number, m.factor, m.own_factor)
                continue
            if m.factor:
                sender = Cell(m.source, m.relation.source)
                yield CellPart(sender, m.relation, m.into, m.into, number, m.factor, 0.0)
            if m.own_factor:
                yield CellPart(Cell(m.own, receiver.node_type), m.relation, m.into, m.into, number, 0.0, m.own_factor)

    def most_parts(self) -> int:
        """Parts of all cells, in the direction that has more."""
        return max(sum(1 for _ in self.cell_parts(way)) for way in WAYS)

    def _sum(self, terms: Sequence[Term], node_type: str, weights: Sequence[float]) -> Parts:
        total: Parts = {}
        for term in terms:
            for state, factor in self.read(Cell(term.state, node_type)).items():
                total[state] = total.get(state, 0.0) + weights[term.weight] * factor
        return total

    def _add_messages(self, product: Product, into: int, weights: Sequence[float]) -> None:
        """Messages along one relation from the same computed state are one."""
        sources = self._sum(product.terms, product.relation.source, weights)
        owns = self._sum(product.terms, product.relation.target, weights)
        for (source, factor), (own, share) in zip_longest(sources.items(), owns.items(), fillvalue=(0, 0.0)):
            self.messages.append(Message(product.relation, into, source, factor, own, share))


@lru_cache(maxsize=4096)
def cell_program(
    metagraph: MetaGraph, depth: int, *, mean: bool, heavy: frozenset[Relation] = frozenset()
) -> CellProgram:
    """The program of a meta graph; `mean` averages the operations of a link.

    Products along `heavy` relations that are needed more than once may have cells of their own.
    """
    program, made = compile_program(metagraph), CellProgram(depth)
    weights = [1 / len(o) if mean else 1.0 for _, o in metagraph.items() for _ in o]
    needed = {
        Cell(term.state, node_type)
        for step in program.steps
        for product in step.products
        for term in product.terms
        for node_type in (product.relation.source, product.relation.target)
    }
    for step in program.steps:
        made.add(step, weights, needed, step.cell == program.target)
    share_products(made, heavy)
    return made


def sizes(slots: int, towers: int, depth: int, types: int, parts: int) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shapes and number formats of the programs of all slots, by name; `.f` is forward, `.b` backward."""
    head = (slots, towers, depth + 1)
    found: dict[str, tuple[tuple[int, ...], str]] = {"cells": (head, "int64")}
    for way in WAYS:
        found[f"ranges.{way}"] = ((*head, types, 2), "int32")
        found[f"parts.{way}"] = ((slots, towers, parts, 4), "int32")
        found[f"factors.{way}"] = ((slots, towers, parts, 2), "float32")
    return found


def encoded(
    programs: Sequence[CellProgram], types: Sequence[str], numbers: Mapping[Relation, int], parts: int
) -> dict[str, Tensor]:
    """The programs of a slot's towers as kernels read them: bits of the types computed, and the parts of each cell."""
    wanted = sizes(1, len(programs), programs[0].depth, len(types), parts)
    tables: dict[str, NDArray[Any]] = {name: np.zeros(size[1:], dtype) for name, (size, dtype) in wanted.items()}
    for tower, program in enumerate(programs):
        for cell in program.computed:
            tables["cells"][tower, cell.state] |= 1 << types.index(cell.node_type)
        for way in WAYS:
            ranges, whole, real = (tables[f"{name}.{way}"][tower] for name in ("ranges", "parts", "factors"))
            in_order = sorted(program.cell_parts(way), key=lambda part: part.cell)
            for at, part in enumerate(in_order):
                operation = PASSES if part.relation is None else numbers[part.relation]
                whole[at] = operation, part.source, part.own, part.message
                real[at] = part.factor, part.own_factor
                place = part.cell.state, types.index(part.cell.node_type)
                low, high = ranges[place]
                ranges[place] = low if high else at, at + 1
    return {name: torch.from_numpy(table) for name, table in tables.items()}
