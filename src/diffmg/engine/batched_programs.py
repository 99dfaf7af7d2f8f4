"""Programs of many towers in device memory: which cells are computed, and from what.

A cell that only passes on other states of its type is not computed: whoever reads it reads, with factors, the cells it
is made of. What is left are products along relations, and the target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffmg.core import MetaGraph, Relation, compile_program
from diffmg.core.program import Cell, Product, Step, Term

Parts = dict[int, float]
"""Factors of the computed states that a cell is made of."""
Tables = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Message:
    """One product into a cell: along a relation from one state, and the receiver's own share of another."""

    relation: Relation
    into: int
    source: int
    factor: float
    own: int
    own_factor: float


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


def cell_program(metagraph: MetaGraph, depth: int, *, mean: bool) -> CellProgram:
    """The program of a meta graph; `mean` averages the operations of a link."""
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
    return made


def sizes(slots: int, towers: int, depth: int, types: int, entries: int) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shapes and number formats of the programs of all slots, by name; `.f` is forward, `.b` backward."""
    head = (slots, towers, depth + 1)
    found: dict[str, tuple[tuple[int, ...], str]] = {"cells": (head, "int64")}
    for way in "fb":
        found[f"entries.{way}"] = ((*head, entries, 3), "int32")
        found[f"factors.{way}"] = ((*head, entries, 2), "float32")
        found[f"counts.{way}"] = (head, "int32")
        found[f"passed.{way}"] = ((*head, depth + 1, types), "float32")
    return found


def encoded(
    programs: Sequence[CellProgram], types: Sequence[str], numbers: Mapping[Relation, int], entries: int
) -> dict[str, Tensor]:
    """The programs of a slot's towers as the kernels read them."""
    wanted = sizes(1, len(programs), programs[0].depth, len(types), entries)
    tables: Tables = {name: np.zeros(size[1:], dtype) for name, (size, dtype) in wanted.items()}
    for tower, program in enumerate(programs):
        for cell in program.computed:
            tables["cells"][tower, cell.state] |= 1 << types.index(cell.node_type)
        for cell, parts in program.passed.items():
            for state, factor in parts.items():
                tables["passed.f"][tower, cell.state, state, types.index(cell.node_type)] = factor
                tables["passed.b"][tower, state, cell.state, types.index(cell.node_type)] = factor
        for message in program.messages:
            _encode(message, tower, numbers[message.relation], tables)
    return {name: torch.from_numpy(table) for name, table in tables.items()}


def _encode(m: Message, tower: int, number: int, tables: Tables) -> None:
    """A message as one entry forward, and one or two backward."""
    _append(tables, "f", (tower, m.into), (number, m.source, m.own), (m.factor, m.own_factor))
    if m.source == m.own:
        _append(tables, "b", (tower, m.source), (number, m.into, m.into), (m.factor, m.own_factor))
        return
    if m.factor:
        _append(tables, "b", (tower, m.source), (number, m.into, m.into), (m.factor, 0.0))
    if m.own_factor:
        _append(tables, "b", (tower, m.own), (number, m.into, m.into), (0.0, m.own_factor))


def _append(tables: Tables, way: str, place: tuple[int, int], entry: Sequence[int], factors: Sequence[float]) -> None:
    at = tables[f"counts.{way}"][place]
    tables[f"entries.{way}"][(*place, at)] = entry
    tables[f"factors.{way}"][(*place, at)] = factors
    tables[f"counts.{way}"][place] += 1
