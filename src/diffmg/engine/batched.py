"""Many trainings in one program: the fused kernels with a slot axis, as differentiable functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from diffmg.engine import batched_kernels as kernels
from diffmg.engine.batched_slots import Shape, Slots
from diffmg.engine.layout import KernelTables, Table
from diffmg.graph.sparse import FixedMatrix
from diffmg.tasks.pairs import Labelled, Pairs

ROWS, BLOCK, PAIRS, ENTRIES = 16, 1024, 16, 1024
"""Rows of a block, threads of a block of draws, pairs read at once, parameters of a block."""
PAIR_WARPS = 2
CELLS = (8, 4, 4)
"""Rows of a block of cells, neighbours of each row read at once, warps."""
CHUNK_BLOCK = 32
"""Neighbours read at once within a chunk of a long row."""
MOST_THREADS = 2**19
"""More than the threads with which torch draws on any GPU."""


@dataclass(frozen=True)
class Batch:
    """What the kernels of a batch share."""

    shape: Shape
    slots: Slots
    tables: KernelTables

    def draw(self, keep: Tensor) -> None:
        """Draw the dropout masks of the next epoch, (slots, towers, nodes, dim) of 0 and 1."""
        slots, count = self.slots, self.slots["draws"].shape[1]
        size = keep[0].numel()
        blocks = -(-(size // 4 + MOST_THREADS) // BLOCK)
        kernels.draw_masks[(blocks, count, len(keep))](
            keep, slots["draws"], slots["seed"], slots["step"], slots["increment"], slots["level"], size,
            DRAWS=count, BLOCK=BLOCK, num_warps=4,
        )  # fmt: skip

    def project(self, keep: Tensor | None, sources: Sequence[Tensor], offsets: Sequence[Tensor]) -> Tensor:
        """State 0 before the shared map, (slots * towers, nodes, dim), from each type's projection and its bias."""
        out: Tensor = _Project.apply(self, keep, *sources, *offsets)  # type: ignore[no-untyped-call]
        return out

    def propagate(self, first: Tensor) -> tuple[Tensor, ...]:
        """The last state of each tower's target type, (slots, n, dim), as views of one buffer."""
        out: tuple[Tensor, ...] = _Propagate.apply(self, first)  # type: ignore[no-untyped-call]
        return out

    def read_out(self, tower: int, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        """Norm and activation of one tower's target rows."""
        out: Tensor = _ReadOut.apply(self, tower, x, scale, shift)  # type: ignore[no-untyped-call]
        return out

    def compute(self, state: int, first: Tensor, rest: Tensor, out: Tensor, *, forward: bool) -> None:
        """The computed cells of one state, from those of earlier states; or their gradients, from later ones."""
        shape, tables, own = self.shape, self.tables, self.tables.self_terms
        table = tables.forward if forward else tables.backward
        program = [self.slots[f"{name}.{'f' if forward else 'b'}"] for name in ("entries", "factors", "counts")]
        sizes = (shape.depth, shape.nodes, table.max_chunks, shape.entries)
        towers = shape.slots * shape.towers
        partial = self._chunk_sums(state, first, rest, program, table) if table.max_chunks else rest
        reads = (0, state) if forward else (state + 1, shape.depth + 1)
        rows, block, warps = CELLS
        kernels.compute_cells[(-(-shape.nodes // rows), towers)](
            first, rest, out, out.stride(0), self.slots["cells"], *program,
            self.slots[f"passed.{'f' if forward else 'b'}"], tables.node_type, state, *reads, *sizes,
            own.low, own.high, own.base, own.keep, table.low_row, table.high_row, table.base,
            table.pointer, table.columns, table.values, table.chunk_pointer, partial,
            TYPES=len(shape.rows), **_width(shape.dim), ROWS=rows, BLOCK=block, ZERO=state == 0,
            CHUNKED=table.max_chunks > 0, num_warps=warps,
        )  # fmt: skip

    def _chunk_sums(
        self, state: int, first: Tensor, rest: Tensor, program: Sequence[Tensor], table: Table
    ) -> Tensor:
        shape, towers = self.shape, self.shape.slots * self.shape.towers
        partial = rest.new_empty(towers, shape.entries, table.max_chunks, shape.dim)
        kernels.cell_chunks[(table.max_chunks, towers)](
            first, rest, *program, state, shape.depth, shape.nodes, table.max_chunks, shape.entries,
            table.chunk_base, table.chunk_count, table.chunks, table.columns, table.values, partial,
            **_width(shape.dim), BLOCK=CHUNK_BLOCK, num_warps=1,
        )  # fmt: skip
        return partial

    def for_projection(self, number: int, node_type: str, keep: Tensor | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments that both passes of a type's projection share."""
        shape, slots = self.shape, self.slots
        arguments = (
            slots["owner"], slots[f"live.{node_type}"], slots["tanh"], slots["scale"],
            shape.rows[node_type], shape.start(node_type), shape.nodes,
        )  # fmt: skip
        sizes = {"TOWERS": shape.towers, **_width(shape.dim), "ROWS": ROWS, "DROP": keep is not None, "num_warps": 4}
        return arguments, sizes

    def for_readout(self, tower: int) -> tuple[tuple[int, int], int]:
        """Grid of a tower's readout, and the tower's target rows."""
        rows = self.shape.rows[self.shape.targets[tower]]
        return (-(-rows // ROWS), self.shape.slots), rows


class _Project(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, batch: Batch, keep: Tensor | None, *given: Tensor) -> Tensor:
        shape = batch.shape
        ctx.batch = batch
        ctx.save_for_backward(keep, *given)
        towers = shape.slots * shape.towers
        out = given[0].new_empty(towers, shape.nodes, shape.dim)
        for n, (t, rows) in enumerate(shape.rows.items()):
            arguments, sizes = batch.for_projection(n, t, keep)
            kernels.project[(-(-rows // ROWS), towers)](
                given[n], given[n + len(shape.rows)], out if keep is None else keep, out, *arguments, **sizes
            )
        return out

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        batch, (keep, *given), grad = ctx.batch, ctx.saved_tensors, grad_outputs[0].contiguous()
        shape, types = batch.shape, len(batch.shape.rows)
        towers = shape.slots * shape.towers
        sources, offsets = [], []
        for n, (t, rows) in enumerate(shape.rows.items()):
            blocks = -(-rows // ROWS)
            out, sums = torch.empty_like(given[n]), grad.new_empty(shape.slots, shape.towers, blocks, shape.dim)
            arguments, sizes = batch.for_projection(n, t, keep)
            kernels.project_backward[(blocks, towers)](
                given[n], given[n + types], grad if keep is None else keep, grad, out, sums, *arguments, **sizes
            )
            sources.append(out)
            offsets.append(sums.sum(dim=2))
        return None, None, *sources, *offsets


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, batch: Batch, first: Tensor) -> tuple[Tensor, ...]:
        depth = batch.shape.depth
        states = first.new_empty(len(first), depth, *first.shape[1:])
        for k in range(1, depth + 1):
            batch.compute(k, first.contiguous(), states, states[:, k - 1], forward=True)
        ctx.batch = batch
        return _targets(states, batch.shape)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        batch: Batch = ctx.batch
        shape = batch.shape
        towers = shape.slots * shape.towers
        grads = grad_outputs[0].new_empty(towers, shape.depth, shape.nodes, shape.dim)
        for rows, g in zip(_targets(grads, shape), grad_outputs, strict=True):
            rows.copy_(g)
        result = grads.new_empty(towers, shape.nodes, shape.dim)
        for i in range(shape.depth - 1, -1, -1):
            batch.compute(i, grads, grads, result if i == 0 else grads[:, i - 1], forward=False)
        return None, result


class _ReadOut(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, batch: Batch, tower: int, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        ctx.batch, ctx.tower = batch, tower
        ctx.save_for_backward(x, scale, shift)
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        _launch_readout(batch, tower, x, scale, shift, out, out, out, backward=False)
        return out

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        batch, tower, (x, scale, shift) = ctx.batch, ctx.tower, ctx.saved_tensors
        (blocks, slots), _ = batch.for_readout(tower)
        sums = x.new_empty(slots, blocks, 2, x.shape[-1])
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        _launch_readout(batch, tower, x, scale, shift, grad_outputs[0].contiguous(), out, sums, backward=True)
        total = sums.sum(dim=1)
        gradients = [torch.zeros_like(scale) for _ in range(2)]
        for n, gradient in enumerate(gradients):
            gradient[:, tower] = total[:, n]
        return None, None, out, *gradients


def _launch_readout(
    batch: Batch, tower: int, x: Tensor, scale: Tensor, shift: Tensor, grad: Tensor, out: Tensor, sums: Tensor,
    *, backward: bool,
) -> None:  # fmt: skip
    grid, rows = batch.for_readout(tower)
    slots = batch.slots
    kernels.read_out[grid](
        x, scale, shift, slots["norm"], slots["activation"], grad, out, sums, rows, x.stride(0), tower,
        TOWERS=batch.shape.towers, **_width(batch.shape.dim), ROWS=ROWS, BACKWARD=backward, num_warps=4,
    )  # fmt: skip


def pair_scores(pairs: Pairs, outputs: Sequence[Tensor], biases: Sequence[Tensor]) -> Tensor:
    """Scores (slots, pairs): the dot product of each pair, plus both biases where there are any."""
    left = outputs[0]
    scores = left.new_empty(len(left), len(pairs.left))
    _launch_pairs(pairs, outputs, biases, scores)
    return scores


def pair_gradients(labelled: Labelled, outputs: Sequence[Tensor], biases: Sequence[Tensor]) -> list[Tensor]:
    """Gradients of the recommendation loss by both outputs, and by both biases where there are any."""
    pairs, (left, right) = labelled.pairs, outputs
    slopes = left.new_empty(len(left), len(pairs.left))
    found = [torch.empty_like(left), torch.empty_like(right)]
    sums = [left.new_empty(len(left), z.shape[1], 1) for z in outputs]
    _launch_pairs(pairs, outputs, biases, slopes, labelled, (found[0], sums[0]))
    kernels.sum_rows[(right.shape[1], len(left))](
        left, slopes, pairs.by_right, pairs.right_pointer, pairs.left_by_right, found[1], sums[1],
        right.shape[1], left.shape[1], len(pairs.left), **_width(left.shape[-1]), BLOCK=PAIRS, OWN=True, num_warps=PAIR_WARPS,
    )  # fmt: skip
    return [*found, *(sums if biases else [])]


def _launch_pairs(
    pairs: Pairs,
    outputs: Sequence[Tensor],
    biases: Sequence[Tensor],
    out: Tensor,
    labelled: Labelled | None = None,
    gradients: Sequence[Tensor] | None = None,
) -> None:
    left, right = outputs
    users, items = biases or outputs
    signs, shares = (out, out) if labelled is None else (labelled.signs, labelled.shares)
    grad, bias_grad = gradients or (out, out)
    kernels.pair_scores[(left.shape[1], len(left))](
        left, right, users, items, pairs.left_pointer, pairs.right, signs, shares, out, grad, bias_grad,
        left.shape[1], right.shape[1], len(pairs.left), **_width(left.shape[-1]), BLOCK=PAIRS,
        BIASED=bool(biases), GRADIENT=gradients is not None, num_warps=PAIR_WARPS,
    )  # fmt: skip


class _Features(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, matrix: FixedMatrix) -> Tensor:
        ctx.matrix = matrix
        return _sum_rows(matrix.forward, weight)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None]:
        return _sum_rows(ctx.matrix.backward, grad_outputs[0].contiguous()), None


def features_times(matrix: FixedMatrix, weight: Tensor) -> Tensor:
    """A sparse matrix times (..., inputs, dim) for every slot and tower."""
    product: Tensor = _Features.apply(weight, matrix)  # type: ignore[no-untyped-call]
    return product


def _sum_rows(csr: Tensor, x: Tensor) -> Tensor:
    rows, columns = csr.shape
    out = x.new_empty(*x.shape[:-2], rows, x.shape[-1])
    kernels.sum_rows[(rows, x[..., 0, 0].numel())](
        x, csr.values(), csr.crow_indices(), csr.crow_indices(), csr.col_indices(), out, out, rows, columns,
        csr.values().numel(), **_width(x.shape[-1]), BLOCK=PAIRS, OWN=False, num_warps=PAIR_WARPS,
    )  # fmt: skip
    return out


def adam_step(slots: Slots, name: str, tensors: Sequence[Tensor], rates: Tensor, roots: Tensor) -> None:
    """Adam on one parameter of every slot, in place: parameter, gradient, first and second moment."""
    there = slots[f"there.{name}"]
    size = tensors[0].numel() // there.numel()
    kernels.adam[(-(-size // ENTRIES), there.numel())](
        *tensors, there, rates, roots, slots["decay"], size,
        PARTS=there.numel() // len(there), BLOCK=ENTRIES, num_warps=4,
    )  # fmt: skip


def keep_better(slots: Slots, name: str, parameter: Tensor, best: Tensor, better: Tensor) -> None:
    """Copy a parameter of the slots that are better."""
    there = slots[f"there.{name}"]
    size = parameter.numel() // there.numel()
    kernels.keep_better[(-(-size // ENTRIES), there.numel())](
        parameter, best, there, better, size, PARTS=there.numel() // len(there), BLOCK=ENTRIES, num_warps=4
    )


def _targets(states: Tensor, shape: Shape) -> tuple[Tensor, ...]:
    """The target rows of the last state of each tower, (slots, n, dim), as views."""
    last = states.view(shape.slots, shape.towers, *states.shape[1:])[:, :, -1]
    return tuple(
        last[:, n, shape.start(t) : shape.start(t) + shape.rows[t]] for n, t in enumerate(shape.targets)
    )


def _width(dim: int) -> dict[str, int]:
    return {"WIDTH": dim, "D": 1 << (dim - 1).bit_length()}
