"""The propagation of all towers by fused kernels; which operation each link uses is read from device memory."""

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
"""Rows a program computes, neighbours of each row it reads at once, warps it has: the best of those measured."""
CHUNK_BLOCK = 32
"""The same within a chunk of a long row, which has a program of its own."""


@dataclass(frozen=True)
class KernelLinks:
    """The links of meta graphs of one depth for one or more towers, in device memory; operations come apart."""

    targets: tuple[str, ...]
    depth: int
    links: Tensor
    """(choices, 2): state k and state i of each choice, in the order of `MetaGraph.choices`."""
    target_masks: Tensor
    forward: tuple[Tensor, tuple[int, ...]]
    """(choices, 2): source state and choice, sorted by the state they write, and where each state's start."""
    backward: tuple[Tensor, tuple[int, ...]]

    @classmethod
    def of(cls, links: Sequence[Link], targets: Sequence[str], stack: KernelTables) -> KernelLinks:
        """KernelLinks of these links, one per choice, the same for every tower."""
        device = stack.node_type.device
        depth = max(link.k for link in links)
        types = list(stack.starts)
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

    wiring: KernelLinks
    operations: Tensor
    """(towers, choices): operation numbers."""
    slots: tuple[Tensor, ...] | None = None
    """Per tower, the place of each of its choices, where towers have different numbers of operations on a link."""

    def weights(self, given: Sequence[Tensor]) -> Tensor:
        """Weights of each tower's choices as one table (towers, choices)."""
        if self.slots is None:
            return torch.stack(list(given))
        blank = given[0].new_zeros(self.operations.shape[1])
        return torch.stack([blank.index_put((slot,), w) for slot, w in zip(self.slots, given, strict=True)])


def wire(metagraphs: Sequence[MetaGraph], stack: KernelTables) -> KernelMetaGraphs:
    """Lay meta graphs of one depth out for the kernels, once; EMPTY fills up links where a tower has fewer."""
    key = tuple(metagraphs)
    if key not in stack.wired:
        stack.wired[key] = _wire(key, stack)
    wired: KernelMetaGraphs = stack.wired[key]
    return wired


def _wire(metagraphs: Sequence[MetaGraph], stack: KernelTables) -> KernelMetaGraphs:
    rows = [dict(m.items()) for m in metagraphs]
    links = [link for link in rows[0] for _ in range(max(len(row[link]) for row in rows))]
    numbers, slots = [], []
    for row in rows:
        left = {link: list(operations) for link, operations in row.items()}
        numbers.append([stack.numbers[left[link].pop(0) if left[link] else EMPTY] for link in links])
        left = {link: list(operations) for link, operations in row.items()}
        slots.append([n for n, link in enumerate(links) if left[link] and left[link].pop(0)])
    device = stack.node_type.device
    wiring = KernelLinks.of(links, [m.target for m in metagraphs], stack)
    full = all(len(slot) == len(links) for slot in slots)
    places = None if full else tuple(torch.tensor(slot, device=device) for slot in slots)
    return KernelMetaGraphs(wiring, torch.tensor(numbers, device=device), places)


def propagate(
    h: Tensor,
    wired: KernelMetaGraphs,
    weights: Tensor | None,
    stack: KernelTables,
    storage: torch.dtype = torch.float32,
) -> tuple[Tensor, ...]:
    """The last state of each tower's target type, (n, d), from state 0 of all nodes, (towers, nodes, d).

    `weights` (towers, choices) holds the factors of the messages, None for 1. States are kept in `storage`; sums are
    made in fp32.
    """
    out: tuple[Tensor, ...] = _Propagate.apply(h, weights, wired.operations, wired.wiring, stack, storage)  # type: ignore[no-untyped-call]
    return out


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        weights: Tensor | None,
        operations: Tensor,
        wiring: KernelLinks,
        stack: KernelTables,
        storage: torch.dtype,
    ) -> tuple[Tensor, ...]:
        live = _live(operations, wiring, stack)
        first = h.contiguous().to(storage)
        states = first.new_empty(len(h), wiring.depth, *h.shape[1:])
        call = _Call(first, states, weights, operations, live, wiring, stack)
        for k in range(1, wiring.depth + 1):
            call.state(k, states[:, k - 1], forward=True)
        needs_states = weights is not None and weights.requires_grad
        ctx.save_for_backward(weights, operations, live, *((first, states) if needs_states else ()))
        ctx.wiring, ctx.stack, ctx.storage, ctx.shape = wiring, stack, storage, h.shape
        return tuple(states[n, -1, a:b].to(h.dtype) for n, (a, b) in enumerate(_ranges(wiring, stack)))

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        weights, operations, live, *held = ctx.saved_tensors
        towers, nodes, width = ctx.shape
        grads = grad_outputs[0].new_empty(towers, ctx.wiring.depth, nodes, width, dtype=ctx.storage)
        for n, (a, b) in enumerate(_ranges(ctx.wiring, ctx.stack)):
            grads[n, -1, a:b] = grad_outputs[n]
        dots = grads.new_zeros(towers, operations.shape[1], nodes, dtype=torch.float32) if held else None
        result = grad_outputs[0].new_empty(ctx.shape)
        call = _Call(grads, grads, weights, operations, live, ctx.wiring, ctx.stack, dots)
        for i in range(ctx.wiring.depth - 1, -1, -1):
            kept = None if not held else held[0] if i == 0 else held[1][:, i - 1]
            if i > 0 or ctx.needs_input_grad[0] or held:
                call.state(i, result if i == 0 else grads[:, i - 1], forward=False, held=kept)
        return result, None if dots is None else dots.sum(dim=2), None, None, None, None


@dataclass(frozen=True)
class _Call:
    """What the launches of one direction share."""

    first: Tensor
    rest: Tensor
    weights: Tensor | None
    operations: Tensor
    live: Tensor
    wiring: KernelLinks
    stack: KernelTables
    dots: Tensor | None = None

    def state(self, state: int, out: Tensor, *, forward: bool, held: Tensor | None = None) -> None:
        """Compute one state from those it hangs on."""
        stack, table = self.stack, self.stack.forward if forward else self.stack.backward
        entries, starts = self.wiring.forward if forward else self.wiring.backward
        low, count = starts[state], starts[state + 1] - starts[state]
        towers, choices = self.operations.shape
        width = self.rest.shape[-1]
        partial = self._chunks(table, entries, low, count) if table.most else self.rest
        own = stack.own
        rows, block, warps = SHAPES[self.rest.dtype]
        kernels.propagate[(-(-stack.nodes // rows), towers)](
            self.first, self.rest, out, out.stride(0), _or(self.weights, self.rest),
            _or(held, self.rest), 0 if held is None else held.stride(0), _or(self.dots, self.rest),
            self.operations, entries, self.live, stack.node_type,
            state, low, count, choices, self.wiring.depth, stack.nodes, table.most,
            own.low, own.high, own.base, own.keep, own.passing,
            table.low_row, table.high_row, table.base, table.column_type,
            table.pointer, table.columns, table.values, table.chunk_pointer, partial,
            WIDTH=width, D=_power(width), ROWS=rows, BLOCK=block, WEIGHTED=self.weights is not None,
            DOT=held is not None, ZERO=state == 0, CHUNKED=table.most > 0, num_warps=warps,
        )  # fmt: skip

    def _chunks(self, table: Table, entries: Tensor, low: int, count: int) -> Tensor:
        towers, choices = self.operations.shape
        width = self.rest.shape[-1]
        partial = torch.empty(towers, count, table.most, width, device=self.rest.device)
        kernels.propagate_chunks[(table.most, count, towers)](
            self.first, self.rest, self.operations, entries, self.live, low, choices, self.wiring.depth,
            self.stack.nodes, table.most, table.column_type, table.chunk_base, table.chunk_count, table.chunks,
            table.columns, table.values, partial, WIDTH=width, D=_power(width), BLOCK=CHUNK_BLOCK,
            num_warps=1,
        )  # fmt: skip
        return partial


def _live(operations: Tensor, wiring: KernelLinks, stack: KernelTables) -> Tensor:
    """Per tower and state, the node types that reach the target, as bits."""
    towers, choices = operations.shape
    live = torch.empty(towers, wiring.depth + 1, dtype=torch.int64, device=operations.device)
    kernels.live_types[(towers,)](
        operations, wiring.links, stack.sources, stack.targets, stack.numbers[EMPTY], wiring.target_masks, live,
        choices, wiring.depth, STATES=_power(wiring.depth + 1), num_warps=1,
    )  # fmt: skip
    return live


def _ranges(wiring: KernelLinks, stack: KernelTables) -> list[tuple[int, int]]:
    ends = [*list(stack.starts.values())[1:], stack.nodes]
    spans = dict(zip(stack.starts, zip(stack.starts.values(), ends, strict=True), strict=True))
    return [spans[t] for t in wiring.targets]


def _or(tensor: Tensor | None, other: Tensor) -> Tensor:
    """A kernel's argument that is not read in this variant."""
    return other if tensor is None else tensor


def _power(n: int) -> int:
    """The least power of two that is no less."""
    return 1 << (n - 1).bit_length()
