"""Many trainings in one program: the fused kernels with a slot axis, as differentiable functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from diffmg.engine import batched_cell_kernels as cell_kernels
from diffmg.engine import batched_kernels as kernels
from diffmg.engine.batched_slots import Shape, Slots, block_width
from diffmg.engine.layout import KernelTables

ROWS, THREADS = 16, 1024
"""Rows of a block of the readout, threads of a block of draws."""
MAPPED, MAPPED_BACK, SPAN = 64, 32, 256
"""Rows that pass the shared map at once, forward and backward, and rows whose gradients one block sums."""
CELLS = (8, 2)
"""Rows of a block of cells, warps."""
CHUNK_BLOCK = 8
"""Neighbours read at once within a chunk of a long row."""
MOST_CHUNKS = 1024
"""Blocks a tower that share its chunks."""
MAP_WARPS = 4
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
        blocks = -(-(size // 4 + MOST_THREADS) // THREADS)
        kernels.draw_masks[(blocks, count, len(keep))](
            keep, slots["draws"], slots["seed"], slots["step"], slots["increment"], slots["level"], size,
            DRAWS=count, BLOCK=THREADS, num_warps=4,
        )  # fmt: skip

    def propagate(
        self, keep: Tensor | None, sources: Sequence[Tensor], offsets: Sequence[Tensor], weight: Tensor, bias: Tensor
    ) -> tuple[Tensor, ...]:
        """The last state of each tower's target type, (slots, n, dim), as views of one buffer of all states.

        State 0 is made of each type's projection, its bias and the shared map. Rows that no program reads are not
        written.
        """
        given = (weight, bias, *sources, *offsets)
        out: tuple[Tensor, ...] = _Propagate.apply(self, keep, *given)  # type: ignore[no-untyped-call]
        return out

    def read_out(self, tower: int, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        """Norm and activation of one tower's target rows."""
        out: Tensor = _ReadOut.apply(self, tower, x, scale, shift)  # type: ignore[no-untyped-call]
        return out

    def compute(self, state: int, states: Tensor, *, forward: bool) -> None:
        """The computed cells of one state, from those of earlier states; or their gradients, from later ones."""
        shape, tables, own = self.shape, self.tables, self.tables.self_terms
        table, way = (tables.forward, "f") if forward else (tables.backward, "b")
        program = [self.slots[f"{name}.{way}"] for name in ("ranges", "parts", "factors")]
        sizes = (state, shape.depth, shape.nodes, table.max_chunks, shape.parts, shape.messages)
        towers, (rows, warps) = shape.slots * shape.towers, CELLS
        width = {"TYPES": len(shape.rows), **block_width(shape.dim)}
        partial = states
        if table.max_chunks:
            partial = states.new_empty(towers, shape.messages, table.max_chunks, shape.dim)
            cell_kernels.cell_chunks[(min(table.max_chunks, MOST_CHUNKS), towers)](
                states, *program, *sizes, table.chunk_base, table.chunk_count, table.chunks, table.columns,
                table.values, partial, **width, BLOCK=CHUNK_BLOCK, num_warps=1,
            )  # fmt: skip
        cell_kernels.compute_cells[(len(self.blocks), towers)](
            states, self.slots["cells"], *program, self.blocks, *sizes,
            own.low, own.high, own.base, own.keep, table.low_row, table.high_row, table.base,
            table.pointer, table.columns, table.values, table.chunk_pointer, partial,
            **width, ROWS=rows, CHUNKED=table.max_chunks > 0, num_warps=warps,
        )  # fmt: skip

    @cached_property
    def blocks(self) -> Tensor:
        """First row, end and type of each block of rows of one type."""
        found, rows = [], CELLS[0]
        for kind, (t, count) in enumerate(self.shape.rows.items()):
            start = self.shape.start(t)
            found += [(low, start + count, kind) for low in range(start, start + count, rows)]
        return torch.tensor(found, dtype=torch.int32, device=self.tables.node_type.device)

    def switches(self, node_type: str) -> list[Tensor]:
        """The switches that both passes of a type's state 0 read."""
        names = ("owner", f"live.{node_type}", f"there.table.{node_type}", "tanh", "mapped", "scale")
        return [self.slots[name] for name in names]

    def for_rows(self, node_type: str, keep: Tensor | None) -> tuple[tuple[int, ...], dict[str, Any]]:
        """Rows of a type, its first node, all nodes, states; and the sizes of a block."""
        shape = self.shape
        sizes = {"TOWERS": shape.towers, **block_width(shape.dim, 16), "DROP": keep is not None}
        warps = MAP_WARPS if shape.dim <= 64 else 8
        rows = (shape.rows[node_type], shape.start(node_type), shape.nodes, shape.depth + 1)
        return rows, sizes | {"num_warps": warps}

    def for_readout(self, tower: int) -> tuple[tuple[int, int], int]:
        """Grid of a tower's readout, and the tower's target rows."""
        rows = self.shape.rows[self.shape.targets[tower]]
        return (-(-rows // ROWS), self.shape.slots), rows


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, batch: Batch, keep: Tensor | None, *given: Tensor) -> tuple[Tensor, ...]:
        shape, (weight, bias, *rest) = batch.shape, given
        ctx.batch = batch
        ctx.save_for_backward(keep, weight, *rest)
        towers, types = shape.slots * shape.towers, len(shape.rows)
        states = weight.new_empty(towers, shape.depth + 1, shape.nodes, shape.dim)
        for n, (t, count) in enumerate(shape.rows.items()):
            owner, live, _, *switches = batch.switches(t)
            rows, sizes = batch.for_rows(t, keep)
            kernels.first_state[(-(-count // MAPPED), towers)](
                rest[n], rest[n + types], weight, bias, states if keep is None else keep, states, owner, live,
                *switches, *rows, **sizes, ROWS=MAPPED,
            )  # fmt: skip
        for k in range(1, shape.depth + 1):
            batch.compute(k, states, forward=True)
        return _targets(states, shape)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        batch: Batch = ctx.batch
        shape, (keep, weight, *rest) = batch.shape, ctx.saved_tensors
        towers, types = shape.slots * shape.towers, len(shape.rows)
        grads = weight.new_empty(towers, shape.depth + 1, shape.nodes, shape.dim)
        for rows_of, g in zip(_targets(grads, shape), grad_outputs, strict=True):
            rows_of.copy_(g)
        for i in range(shape.depth - 1, -1, -1):
            batch.compute(i, grads, forward=False)
        spans = [-(-count // SPAN) for count in shape.rows.values()]
        sums = grads.new_empty(shape.slots, shape.towers, sum(spans), 2, shape.dim)
        squares = grads.new_empty(shape.slots, shape.towers, sum(spans), shape.dim, shape.dim)
        sources, offsets = [], []
        for n, t in enumerate(shape.rows):
            before, source = sum(spans[:n]), torch.empty_like(rest[n])
            rows, sizes = batch.for_rows(t, keep)
            kernels.first_state_backward[(spans[n], towers)](
                rest[n], rest[n + types], weight, grads if keep is None else keep, grads, source, sums, squares,
                *batch.switches(t), *rows, before, sum(spans), **sizes, ROWS=MAPPED_BACK, SPAN=SPAN,
            )  # fmt: skip
            sources.append(source)
            offsets.append(sums[:, :, before : before + spans[n], 1].sum(dim=2))
        return None, None, squares.sum(dim=2), sums[:, :, :, 0].sum(dim=2), *sources, *offsets


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
        TOWERS=batch.shape.towers, **block_width(batch.shape.dim), ROWS=ROWS, BACKWARD=backward, num_warps=4,
    )  # fmt: skip


def _targets(states: Tensor, shape: Shape) -> tuple[Tensor, ...]:
    """The target rows of the last state of each tower, (slots, n, dim), as views."""
    last = states.view(shape.slots, shape.towers, *states.shape[1:])[:, :, -1]
    return tuple(last[:, n, shape.start(t) : shape.start(t) + shape.rows[t]] for n, t in enumerate(shape.targets))
