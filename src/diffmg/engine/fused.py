"""Propagation of all towers by fused kernels, which read each link's operation from device memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from diffmg.core import EMPTY, Link, MetaGraph
from diffmg.engine import kernels
from diffmg.engine.layout import KernelTables, Table

SHAPES = {torch.float32: (8, 4, 4), torch.bfloat16: (4, 8, 1)}
"""Rows per program, neighbours of each row read at once, warps: the fastest of those measured."""
CHUNK_BLOCK = 32
"""Neighbours read at once within a chunk of a long row; each chunk has its own program."""


@dataclass(frozen=True)
class KernelLinks:
    """The links of meta graphs of one depth, shared by all towers, in device memory; operations are kept separately."""

    targets: tuple[str, ...]
    depth: int
    endpoints: Tensor
    """(choices, 2): state k and state i of each choice, in the order of `MetaGraph.choices`."""
    target_masks: Tensor
    forward: tuple[Tensor, tuple[int, ...]]
    """(choices, 2): source state and choice, sorted by the state they write, and the offset of each state's rows."""
    backward: tuple[Tensor, tuple[int, ...]]

    @classmethod
    def of(cls, links: Sequence[Link], targets: Sequence[str], tables: KernelTables) -> KernelLinks:
        """Build from one link per choice, the same for every tower."""
        device = tables.node_type.device
        depth = max(link.k for link in links)
        types = list(tables.starts)
        masks = torch.tensor([1 << types.index(t) for t in targets], device=device)
        into = _sorted([(link.k, link.i) for link in links], depth, device)
        back = _sorted([(link.i, link.k) for link in links], depth, device)
        table = torch.tensor([[link.k, link.i] for link in links], device=device)
        return cls(tuple(targets), depth, table, masks, into, back)


def _sorted(ends: Sequence[tuple[int, int]], depth: int, device: torch.device) -> tuple[Tensor, tuple[int, ...]]:
    order = sorted(range(len(ends)), key=lambda n: ends[n])
    rows = torch.tensor([[ends[n][1], n] for n in order], device=device)
    starts = tuple(sum(written < state for written, _ in ends) for state in range(depth + 2))
    return rows, starts


@dataclass(frozen=True)
class KernelMetaGraphs:
    """Meta graphs of one depth, one per tower, in device memory."""

    links: KernelLinks
    operations: Tensor
    """(towers, choices): operation numbers."""
    slots: tuple[Tensor, ...] | None = None
    """Per tower, the column of each of its choices, where towers have different numbers of operations on a link."""

    def weights(self, given: Sequence[Tensor]) -> Tensor:
        """Weights of each tower's choices as one tensor (towers, choices)."""
        if self.slots is None:
            return torch.stack(list(given))
        zeros = given[0].new_zeros(self.operations.shape[1])
        return torch.stack([zeros.index_put((slot,), w) for slot, w in zip(self.slots, given, strict=True)])


def pack_metagraphs(metagraphs: Sequence[MetaGraph], tables: KernelTables) -> KernelMetaGraphs:
    """Pack meta graphs of one depth for the kernels, cached; EMPTY pads links where a tower has fewer operations."""
    key = tuple(metagraphs)
    if key not in tables.packed:
        tables.packed[key] = _pack(key, tables)
    packed: KernelMetaGraphs = tables.packed[key]
    return packed


def _pack(metagraphs: Sequence[MetaGraph], tables: KernelTables) -> KernelMetaGraphs:
    rows = [dict(m.items()) for m in metagraphs]
    links = [link for link in rows[0] for _ in range(max(len(row[link]) for row in rows))]
    numbers, slots = [], []
    for row in rows:
        remaining = {link: list(operations) for link, operations in row.items()}
        numbers.append([tables.numbers[remaining[link].pop(0) if remaining[link] else EMPTY] for link in links])
        remaining = {link: list(operations) for link, operations in row.items()}
        slots.append([n for n, link in enumerate(links) if remaining[link] and remaining[link].pop(0)])
    device = tables.node_type.device
    kernel_links = KernelLinks.of(links, [m.target for m in metagraphs], tables)
    full = all(len(slot) == len(links) for slot in slots)
    columns = None if full else tuple(torch.tensor(slot, device=device) for slot in slots)
    return KernelMetaGraphs(kernel_links, torch.tensor(numbers, device=device), columns)


def propagate(
    h: Tensor,
    packed: KernelMetaGraphs,
    weights: Tensor | None,
    tables: KernelTables,
    storage: torch.dtype = torch.float32,
) -> tuple[Tensor, ...]:
    """The last state of each tower's target type, (n, d), from state 0 of all nodes, (towers, nodes, d).

    `weights` (towers, choices) holds the factors of the messages, None for 1. States are stored in `storage`; sums are
    accumulated in fp32.
    """
    out: tuple[Tensor, ...] = _Propagate.apply(h, weights, packed.operations, packed.links, tables, storage)  # type: ignore[no-untyped-call]
    return out


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        weights: Tensor | None,
        operations: Tensor,
        links: KernelLinks,
        tables: KernelTables,
        storage: torch.dtype,
    ) -> tuple[Tensor, ...]:
        live = _live(operations, links, tables)
        first = h.contiguous().to(storage)
        states = first.new_empty(len(h), links.depth, *h.shape[1:])
        kernel_pass = _Pass(first, states, weights, operations, live, links, tables)
        for k in range(1, links.depth + 1):
            kernel_pass.compute(k, states[:, k - 1], forward=True)
        needs_states = weights is not None and weights.requires_grad
        ctx.save_for_backward(weights, operations, live, *((first, states) if needs_states else ()))
        ctx.links, ctx.tables, ctx.storage, ctx.shape = links, tables, storage, h.shape
        return tuple(states[n, -1, a:b].to(h.dtype) for n, (a, b) in enumerate(_ranges(links, tables)))

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        weights, operations, live, *saved = ctx.saved_tensors
        towers, nodes, width = ctx.shape
        grads = grad_outputs[0].new_empty(towers, ctx.links.depth, nodes, width, dtype=ctx.storage)
        for n, (a, b) in enumerate(_ranges(ctx.links, ctx.tables)):
            grads[n, -1, a:b] = grad_outputs[n]
        dots = grads.new_zeros(towers, operations.shape[1], nodes, dtype=torch.float32) if saved else None
        result = grad_outputs[0].new_empty(ctx.shape)
        kernel_pass = _Pass(grads, grads, weights, operations, live, ctx.links, ctx.tables, dots)
        for i in range(ctx.links.depth - 1, -1, -1):
            state = None if not saved else saved[0] if i == 0 else saved[1][:, i - 1]
            if i > 0 or ctx.needs_input_grad[0] or saved:
                kernel_pass.compute(i, result if i == 0 else grads[:, i - 1], forward=False, saved=state)
        return result, None if dots is None else dots.sum(dim=2), None, None, None, None


@dataclass(frozen=True)
class _Pass:
    """One forward or backward pass: what its kernel launches share."""

    first: Tensor
    rest: Tensor
    weights: Tensor | None
    operations: Tensor
    live: Tensor
    links: KernelLinks
    tables: KernelTables
    dots: Tensor | None = None

    def compute(self, state: int, out: Tensor, *, forward: bool, saved: Tensor | None = None) -> None:
        """Compute one state from those it depends on."""
        tables, table = self.tables, self.tables.forward if forward else self.tables.backward
        entries, starts = self.links.forward if forward else self.links.backward
        low, count = starts[state], starts[state + 1] - starts[state]
        towers, choices = self.operations.shape
        width = self.rest.shape[-1]
        partial = self._chunk_sums(table, entries, low, count) if table.max_chunks else self.rest
        self_terms = tables.self_terms
        rows, block, warps = SHAPES[self.rest.dtype]
        kernels.propagate[(-(-tables.nodes // rows), towers)](
            self.first, self.rest, out, out.stride(0), _or_dummy(self.weights, self.rest),
            _or_dummy(saved, self.rest), 0 if saved is None else saved.stride(0), _or_dummy(self.dots, self.rest),
            self.operations, entries, self.live, tables.node_type,
            state, low, count, choices, self.links.depth, tables.nodes, table.max_chunks,
            self_terms.low, self_terms.high, self_terms.base, self_terms.keep, self_terms.passing,
            table.low_row, table.high_row, table.base, table.column_type,
            table.pointer, table.columns, table.values, table.chunk_pointer, partial,
            WIDTH=width, D=_next_power_of_two(width), ROWS=rows, BLOCK=block, WEIGHTED=self.weights is not None,
            DOT=saved is not None, ZERO=state == 0, CHUNKED=table.max_chunks > 0, num_warps=warps,
        )  # fmt: skip

    def _chunk_sums(self, table: Table, entries: Tensor, low: int, count: int) -> Tensor:
        towers, choices = self.operations.shape
        width = self.rest.shape[-1]
        partial = torch.empty(towers, count, table.max_chunks, width, device=self.rest.device)
        kernels.propagate_chunks[(table.max_chunks, count, towers)](
            self.first, self.rest, self.operations, entries, self.live, low, choices, self.links.depth,
            self.tables.nodes, table.max_chunks, table.column_type, table.chunk_base, table.chunk_count, table.chunks,
            table.columns, table.values, partial, WIDTH=width, D=_next_power_of_two(width), BLOCK=CHUNK_BLOCK,
            num_warps=1,
        )  # fmt: skip
        return partial


def _live(operations: Tensor, links: KernelLinks, tables: KernelTables) -> Tensor:
    """Per tower and state, the node types that reach the target, as a bit mask."""
    towers, choices = operations.shape
    live = torch.empty(towers, links.depth + 1, dtype=torch.int64, device=operations.device)
    kernels.live_types[(towers,)](
        operations, links.endpoints, tables.sources, tables.targets, tables.numbers[EMPTY], links.target_masks, live,
        choices, links.depth, STATES=_next_power_of_two(links.depth + 1), num_warps=1,
    )  # fmt: skip
    return live


def _ranges(links: KernelLinks, tables: KernelTables) -> list[tuple[int, int]]:
    ends = [*list(tables.starts.values())[1:], tables.nodes]
    spans = dict(zip(tables.starts, zip(tables.starts.values(), ends, strict=True), strict=True))
    return [spans[t] for t in links.targets]


def _or_dummy(tensor: Tensor | None, other: Tensor) -> Tensor:
    """The tensor, or a placeholder for an argument that this variant of the kernel does not read."""
    return other if tensor is None else tensor


def _next_power_of_two(n: int) -> int:
    """The smallest power of two that is at least n."""
    return 1 << (n - 1).bit_length()
