"""Running a program: from state 0 of each type to the last state of the target type; forward and backward pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from diffmg.core import Program
from diffmg.core.program import Cell, Product, Step, Term
from diffmg.graph.aggregation import Propagation
from diffmg.graph.network import HeteroGraph
from diffmg.graph.sparse import product as sparse_product


def evaluate(
    program: Program, graph: HeteroGraph, inputs: Mapping[str, Tensor], weights: Tensor | None = None
) -> tuple[Tensor, ...]:
    """Run a program on state 0, one tensor (n, d) per type: the program's outputs, each (n_target, d).

    `weights` multiplies the message of each of the meta graph's choices; None means 1. The program must have steps.
    """
    states = [inputs[t] for t in program.inputs]
    computed = [step.cell for step in program.steps if step.cell in program.outputs]

    def run(*states: Tensor) -> tuple[Tensor, ...]:
        found: tuple[Tensor, ...] = _Propagate.apply(program, graph, weights, *states)  # type: ignore[no-untyped-call]
        return found

    done = dict(zip(computed, by_columns(run, states, graph.engine.columns), strict=True))
    if len(computed) == len(program.outputs):
        return tuple(done[cell] for cell in program.outputs)
    nothing = states[0].new_zeros(graph.num_nodes[program.target.node_type], states[0].shape[1])
    return tuple(done.get(cell, nothing) for cell in program.outputs)


def by_columns(run: Callable[..., tuple[Tensor, ...]], states: Sequence[Tensor], columns: int) -> tuple[Tensor, ...]:
    """`run(*states)` in chunks of `columns` columns, recomputed in the backward pass; all at once for 0.

    Propagation treats every column alike, so the result is the same; only one chunk's states are in memory at a time.
    """
    if columns == 0:
        return run(*states)
    chunks = zip(*(h.split(columns, dim=-1) for h in states), strict=True)  # type: ignore[no-untyped-call]
    done = [checkpoint(run, *chunk, use_reentrant=False, preserve_rng_state=False) for chunk in chunks]
    return tuple(torch.cat(parts, dim=-1) for parts in zip(*done, strict=True))


class _Propagate(torch.autograd.Function):
    """Propagation is linear in the states, so both passes are written by hand: sums accumulate in place, and states are
    saved only if the weights need a gradient.
    """

    @staticmethod
    def forward(
        ctx: Any, program: Program, graph: HeteroGraph, weights: Tensor | None, *states: Tensor
    ) -> tuple[Tensor, ...]:
        factors = None if weights is None else weights.tolist()
        storage = getattr(torch, graph.engine.storage)
        cells = {Cell(0, t): _stored(h.detach(), storage) for t, h in zip(program.inputs, states, strict=True)}
        save_states = weights is not None and weights.requires_grad
        for step, unused in zip(program.steps, program.last_reads, strict=True):
            cells[step.cell] = _stored(_forward(step, graph, cells, factors), storage)
            for cell in () if save_states else unused:
                del cells[cell]
        ctx.program, ctx.graph, ctx.factors = program, graph, factors
        ctx.outputs = tuple(step.cell for step in program.steps if step.cell in program.outputs)
        outputs = tuple(cells[cell] for cell in ctx.outputs)
        cells.pop(program.target, None)
        ctx.cells = tuple(cells) if save_states else ()
        ctx.save_for_backward(*(cells[c] for c in ctx.cells))
        return outputs

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Any, ...]:
        program: Program = ctx.program
        saved = dict(zip(ctx.cells, ctx.saved_tensors, strict=True))
        wanted = {Cell(0, t) for t, need in zip(program.inputs, ctx.needs_input_grad[3:], strict=True) if need}
        outputs = {c: _Sum(g.contiguous()) for c, g in zip(ctx.outputs, grad_outputs, strict=True)}
        backward_pass = _Backward(ctx.graph, ctx.factors, saved, wanted, defaultdict(_Sum, outputs))
        for step in reversed(program.steps):
            backward_pass.step(step)
        weights = grad_outputs[0].new_tensor(backward_pass.weight_grads(len(ctx.factors))) if saved else None
        return None, None, weights, *(backward_pass.grads[Cell(0, t)].total for t in program.inputs)


def _stored(h: Tensor, storage: torch.dtype) -> Tensor:
    """A state as it is stored: rounded if the storage type is smaller."""
    return h.to(storage).to(h.dtype) if storage == torch.bfloat16 else h.contiguous()


def _forward(step: Step, graph: HeteroGraph, cells: Mapping[Cell, Tensor], factors: Sequence[float] | None) -> Tensor:
    total = _Sum()
    for product in step.products:
        propagation = graph.propagation[product.relation]
        x, factor = _combined(product.terms, product.relation.source, cells, factors)
        total.add_product(propagation.matrix.forward, x, factor)
        if propagation.keep is not None:
            self_term, factor = _combined(product.terms, step.cell.node_type, cells, factors)
            total.add_scaled(self_term, propagation.keep, factor)
    for term in step.passed:
        total.add(cells[Cell(term.state, step.cell.node_type)], _factor(term, factors))
    return total.value


def _combined(
    terms: Sequence[Term], node_type: str, cells: Mapping[Cell, Tensor], factors: Sequence[float] | None
) -> tuple[Tensor, float]:
    """The weighted sum of terms: a tensor and a factor still to be applied."""
    if len(terms) == 1:
        return cells[Cell(terms[0].state, node_type)], _factor(terms[0], factors)
    total = _Sum()
    for term in terms:
        total.add(cells[Cell(term.state, node_type)], _factor(term, factors))
    return total.value, 1.0


@dataclass
class _Backward:
    """Gradients of cells on the way from the target to state 0."""

    graph: HeteroGraph
    factors: Sequence[float] | None
    saved: Mapping[Cell, Tensor]
    """Saved states, if the weights need a gradient."""
    wanted: set[Cell]
    """The cells of state 0 that need a gradient."""
    grads: defaultdict[Cell, _Sum]
    dots: dict[int, list[Tensor]] = field(default_factory=dict)

    def step(self, step: Step) -> None:
        """Propagate the gradient of a cell to the cells it was computed from."""
        g = self.grads.pop(step.cell).value
        for product in step.products:
            self._product(product, step.cell.node_type, g)
        for term in step.passed:
            self._add(term, step.cell.node_type, g)

    def weight_grads(self, count: int) -> list[float]:
        """The gradient of each weight."""
        return [float(sum(self.dots.get(n, ()))) for n in range(count)]

    def _product(self, product: Product, node_type: str, g: Tensor) -> None:
        propagation, source = self.graph.propagation[product.relation], product.relation.source
        if len(product.terms) == 1 and not self.saved:
            self._only_term(product.terms[0], source, node_type, propagation, g)
            return
        message = sparse_product(propagation.matrix.backward, g)
        for term in product.terms:
            self._add(term, source, message)
        if propagation.keep is not None:
            self_term = g * propagation.keep
            for term in product.terms:
                self._add(term, node_type, self_term)

    def _only_term(self, term: Term, source: str, node_type: str, propagation: Propagation, g: Tensor) -> None:
        """The same for one term, whose products go straight into the sums."""
        factor, cell = _factor(term, self.factors), Cell(term.state, source)
        if self._needed(cell):
            self.grads[cell].add_product(propagation.matrix.backward, g, factor)
        cell = Cell(term.state, node_type)
        if propagation.keep is not None and self._needed(cell):
            self.grads[cell].add_scaled(g, propagation.keep, factor)

    def _add(self, term: Term, node_type: str, g: Tensor) -> None:
        """Accumulate the gradients of a term's cell and weight, given the gradient `g` of their product."""
        cell = Cell(term.state, node_type)
        if self.saved:
            self.dots.setdefault(term.weight, []).append(torch.linalg.vecdot(g, self.saved[cell]).sum())
        if self._needed(cell):
            self.grads[cell].add(g, _factor(term, self.factors))

    def _needed(self, cell: Cell) -> bool:
        return cell.state > 0 or cell in self.wanted


@dataclass
class _Sum:
    """A sum in place, but for its first term, which is copied only when there is a second."""

    total: Tensor | None = None
    owned: bool = False
    """Whether nobody else reads it, so that it may be changed."""

    @property
    def value(self) -> Tensor:
        """The sum; it has at least one term."""
        assert self.total is not None, "a sum of states has a product or a row that passes"
        return self.total

    def add(self, h: Tensor, factor: float) -> None:
        """Add `factor * h`."""
        if self.total is None:
            self._begin(h, factor, owned=False)
        else:
            self.total = torch.add(self.total, h, alpha=factor, out=self.total if self.owned else None)
            self.owned = True

    def add_product(self, matrix: Tensor, x: Tensor, factor: float) -> None:
        """Add `factor * matrix @ x`."""
        message = sparse_product(matrix, x)
        if self.total is None:
            self._begin(message, factor, owned=True)
        else:
            self.add(message, factor)

    def add_scaled(self, h: Tensor, scale: Tensor, factor: float) -> None:
        """Add `factor * scale * h`."""
        if self.total is None:
            self._begin(h * scale, factor, owned=True)
        else:
            out = self.total if self.owned else None
            self.total = torch.addcmul(self.total, scale, h, value=factor, out=out)
            self.owned = True

    def _begin(self, h: Tensor, factor: float, *, owned: bool) -> None:
        plain = factor == 1.0
        self.total, self.owned = h if plain else h * factor, owned or not plain


def _factor(term: Term, factors: Sequence[float] | None) -> float:
    return 1.0 if factors is None else factors[term.weight]
