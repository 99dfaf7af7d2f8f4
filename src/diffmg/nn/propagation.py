"""Running a program: from state 0 of each type to the last state of the target type; forward and backward pass."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from diffmg.core import Program
from diffmg.core.program import Cell, Product, Step, Term
from diffmg.graph.network import HeteroGraph


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
        several = len(grad_outputs) > 1  # gradients of earlier states are added to in place
        grads = {c: g.clone() if several else g.contiguous() for c, g in zip(ctx.outputs, grad_outputs, strict=True)}
        backward_pass = _Backward(ctx.graph, ctx.factors, saved, wanted, grads)
        for step in reversed(program.steps):
            backward_pass.step(step)
        weights = grad_outputs[0].new_tensor(backward_pass.weight_grads(len(ctx.factors))) if saved else None
        return None, None, weights, *(backward_pass.grads.get(Cell(0, t)) for t in program.inputs)


def _stored(h: Tensor, storage: torch.dtype) -> Tensor:
    """A state as it is stored: rounded if the storage type is smaller."""
    return h.to(storage).to(h.dtype) if storage == torch.bfloat16 else h.contiguous()


def _forward(step: Step, graph: HeteroGraph, cells: Mapping[Cell, Tensor], factors: Sequence[float] | None) -> Tensor:
    total = None
    for product in step.products:
        propagation = graph.propagation[product.relation]
        x, factor = _combined(product.terms, product.relation.source, cells, factors)
        total = add_product(total, propagation.matrix.forward, x, factor)
        if propagation.keep is not None:
            self_term, factor = _combined(product.terms, step.cell.node_type, cells, factors)
            total.addcmul_(propagation.keep, self_term, value=factor)
    for term in step.passed:
        total = _add(total, cells[Cell(term.state, step.cell.node_type)], _factor(term, factors))
    assert total is not None, "a step has a product or a row that passes"
    return total


def _combined(
    terms: Sequence[Term], node_type: str, cells: Mapping[Cell, Tensor], factors: Sequence[float] | None
) -> tuple[Tensor, float]:
    """The weighted sum of terms: a tensor and a factor still to be applied."""
    if len(terms) == 1:
        return cells[Cell(terms[0].state, node_type)], _factor(terms[0], factors)
    total = None
    for term in terms:
        total = _add(total, cells[Cell(term.state, node_type)], _factor(term, factors))
    return total, 1.0  # type: ignore[return-value]


@dataclass
class _Backward:
    """Gradients of cells on the way from the target to state 0."""

    graph: HeteroGraph
    factors: Sequence[float] | None
    saved: Mapping[Cell, Tensor]
    """Saved states, if the weights need a gradient."""
    wanted: set[Cell]
    """The cells of state 0 that need a gradient."""
    grads: dict[Cell, Tensor]
    dots: dict[int, list[Tensor]] = field(default_factory=dict)

    def step(self, step: Step) -> None:
        """Propagate the gradient of a cell to the cells it was computed from."""
        g = self.grads.pop(step.cell)
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
            cell = Cell(product.terms[0].state, source)
            if cell.state > 0 or cell in self.wanted:
                factor = _factor(product.terms[0], self.factors)
                self.grads[cell] = add_product(self.grads.get(cell), propagation.matrix.backward, g, factor)
        else:
            message = add_product(None, propagation.matrix.backward, g, 1.0)
            for term in product.terms:
                self._add(term, source, message)
        if propagation.keep is not None:
            self_term = g * propagation.keep
            for term in product.terms:
                self._add(term, node_type, self_term)

    def _add(self, term: Term, node_type: str, g: Tensor) -> None:
        """Accumulate the gradients of a term's cell and weight, given the gradient `g` of their product."""
        cell = Cell(term.state, node_type)
        if self.saved:
            self.dots.setdefault(term.weight, []).append(torch.linalg.vecdot(g, self.saved[cell]).sum())
        if cell.state > 0 or cell in self.wanted:
            self.grads[cell] = _add(self.grads.get(cell), g, _factor(term, self.factors))


def add_product(total: Tensor | None, matrix: Tensor, x: Tensor, factor: float) -> Tensor:
    """`total + factor * matrix @ x`, in place if there is a total."""
    beta = 0.0 if total is None else 1.0
    total = x.new_empty(matrix.shape[0], x.shape[1]) if total is None else total
    return torch.addmm(total, matrix, x, beta=beta, alpha=factor, out=total)


def _add(total: Tensor | None, h: Tensor, factor: float) -> Tensor:
    """`total + factor * h`, in place if there is a total."""
    return h * factor if total is None else total.add_(h, alpha=factor)


def _factor(term: Term, factors: Sequence[float] | None) -> float:
    return 1.0 if factors is None else factors[term.weight]
