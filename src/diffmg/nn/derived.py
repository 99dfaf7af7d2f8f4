"""The model of fixed meta graphs, with everything the settings may switch on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import Tensor, nn

from diffmg.core import MetaGraph, Program, Settings, compile_program
from diffmg.engine.backend import fused
from diffmg.graph.network import HeteroGraph
from diffmg.nn.encoder import Encoder
from diffmg.nn.labels import LabelInputs
from diffmg.nn.late_map import LateMap
from diffmg.nn.model import Model
from diffmg.nn.propagation import evaluate

States = tuple[Tensor, ...]
T = TypeVar("T")


class DerivedModel(Model):
    """The model of fixed meta graphs, called like any other model: `model(graph, generator=None)`."""

    def __init__(
        self,
        graph: HeteroGraph,
        metagraphs: Sequence[MetaGraph],
        outputs: int,
        settings: Settings,
        seed: int,
        *,
        labels: Tensor | None = None,
    ) -> None:
        """`labels`: of training nodes, (n, classes), zero for all others; an input where the settings say so."""
        programs = [compile_program(m, every_state=settings.states != "last") for m in metagraphs]
        depths = [m.depth for m in metagraphs]
        super().__init__(graph, _types(programs, settings), outputs, settings, seed, depths=depths)
        self.metagraphs, self.programs = tuple(metagraphs), tuple(programs)
        self.averages = settings.links == "mean" and any(len(o) > 1 for m in metagraphs for _, o in m.items())
        for number, metagraph in enumerate(metagraphs):
            shares = [1 / len(operations) for _, operations in metagraph.items() for _ in operations]
            self.register_buffer(f"shares_{number}", torch.tensor(shares, device=graph.device), persistent=False)
        self.host_shares = [shares.cpu() for shares in self._shares()]  # plain products read them without waiting
        self.late_map = LateMap(self.programs) if self._can_map_late(graph) else None
        if settings.biases and not outputs:
            sizes = [graph.num_nodes[m.target] for m in metagraphs]
            self.biases = nn.ParameterList(torch.zeros(n, 1, device=graph.device) for n in sizes)
        if settings.label_inputs and labels is not None:
            aggregated = self._aggregated(graph)
            weights = self.choice_weights()[0]
            self.labels = LabelInputs(aggregated, self.programs[0], labels, settings.dim, weights, seed)

    @property
    def plain(self) -> bool:
        """Whether one pass of the fused kernels computes it as a search's model."""
        s = self.settings
        return s.shared_map and not (s.shared_tables or s.residual or hasattr(self, "labels")) and s.states == "last"

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:  # type: ignore[override]
        """The outputs the task scores, along the meta graphs."""
        graph = self._aggregated(graph)
        if fused(graph) and self.plain:
            outputs = super().forward(graph, self.metagraphs, self._shares() if self.averages else None, generator)
        else:
            outputs = tuple(self.head(z) for z in self._representations(graph, generator))
        return tuple(self._with_bias(tower, z, slice(None)) for tower, z in enumerate(outputs))

    def finished(self, tower: int, before: Tensor, rows: Tensor | slice = slice(None)) -> Tensor:
        """A tower's output from what comes before its norm, given for these rows of its target type."""
        return self._with_bias(tower, self.head(self.encoders[tower].readout.finish(before)), rows)

    def _with_bias(self, tower: int, z: Tensor, rows: Tensor | slice) -> Tensor:
        """Biases as two more columns: the node's own, and ones for that of the other end."""
        if not hasattr(self, "biases"):
            return z
        bias = self.biases[tower][rows]
        ones = torch.ones_like(bias)
        return torch.cat([z, bias, ones] if tower == 0 else [z, ones, bias], dim=1)

    def _aggregated(self, graph: HeteroGraph) -> HeteroGraph:
        return graph.aggregated(self.settings.aggregate, self_loops=self.settings.self_loops)

    def _representations(self, graph: HeteroGraph, generator: torch.Generator | None) -> list[Tensor]:
        """Representations of each target type: state 0, propagation, readout."""
        several = zip(self.encoders, self._target_states(graph, generator), strict=True)
        return [tower.readout(states, first, generator) for tower, (states, first) in several]

    def target_states(self, graph: HeteroGraph) -> list[tuple[States, Tensor | None]]:
        """For each target type, what its readout gets: the states it reads, and state 0 where that is there."""
        return self._target_states(self._aggregated(graph), None)

    def _target_states(
        self, graph: HeteroGraph, generator: torch.Generator | None
    ) -> list[tuple[States, Tensor | None]]:
        if self.late_map is not None and not fused(graph):
            return self._mapped_late(self.late_map, graph, generator)
        firsts, found = self._first_states(graph, generator), []
        for program, first, states in zip(self.programs, firsts, self._propagated(graph, firsts), strict=True):
            h0 = first.get(program.target.node_type)
            if hasattr(self, "labels"):
                states, h0 = self.labels.without_own(states, h0)
            found.append((states, h0))
        return found

    def _mapped_late(
        self, late_map: LateMap, graph: HeteroGraph, generator: torch.Generator | None
    ) -> list[tuple[States, Tensor | None]]:
        """The last states alone, with the shared map behind the propagation."""
        owners = self._owners()
        firsts = [{t: tower.unmapped(graph, t, generator) for t in tower.node_types} for tower in owners]
        last = self._propagated(graph, self._for_towers(firsts))
        reach = late_map.reach(graph, self.host_shares if self.averages else None)
        several = zip(self._for_towers(owners), last, reach, strict=True)
        return [((torch.addmm(r * o.shared.bias, z, o.shared.weight),), None) for o, (z,), r in several]

    def _can_map_late(self, graph: HeteroGraph) -> bool:
        """Whether only last states are read, and are fewer rows than those of state 0."""
        s, owners = self.settings, self._owners()
        if not s.shared_map or s.residual or s.label_inputs or s.states != "last":
            return False
        first = sum(graph.num_nodes[t] for tower in owners for t in tower.node_types)
        return first > sum(graph.num_nodes[p.target.node_type] for p in self.programs)

    def _owners(self) -> list[Encoder]:
        """The towers that have state 0: the first one where tables are shared, else all."""
        return self.encoders[: 1 if self.settings.shared_tables else None]

    def _for_towers(self, owned: Sequence[T]) -> list[T]:
        """What owners have, for every tower."""
        return [*owned] * (len(self.programs) // len(owned))

    def _first_states(self, graph: HeteroGraph, generator: torch.Generator | None) -> list[Mapping[str, Tensor]]:
        """State 0 of the types each tower reads; with shared tables, the same for all towers."""
        firsts = [{t: tower.first_state(graph, t, generator) for t in tower.node_types} for tower in self._owners()]
        if hasattr(self, "labels"):
            target = self.programs[0].target.node_type
            firsts = [{**firsts[0], target: firsts[0][target] + self.labels()}]
        return self._for_towers(firsts)

    def _propagated(self, graph: HeteroGraph, firsts: Sequence[Mapping[str, Tensor]]) -> list[States]:
        """States 1 to K of each target type, or the last ones only."""
        shares = self._shares() if self.averages else None
        if fused(graph) and self.settings.states == "last":
            from diffmg.nn.fused import propagate_states

            return [(z,) for z in propagate_states(firsts, graph, self.metagraphs, shares)]
        each: Sequence[Tensor | None] = [None] * len(firsts) if shares is None else self.host_shares
        return [evaluate(p, graph, first, w) for p, first, w in zip(self.programs, firsts, each, strict=True)]

    def _shares(self) -> list[Tensor]:
        return [self.get_buffer(f"shares_{n}") for n in range(len(self.metagraphs))]

    def choice_weights(self) -> list[Tensor]:
        """For each meta graph, the factor of the message of each of its choices."""
        return self._shares() if self.averages else [torch.ones_like(shares) for shares in self._shares()]

    @contextmanager
    def weighted(self, weights: Sequence[Tensor]) -> Iterator[None]:
        """For a while, messages have these factors instead."""
        before, averages, late_map = self._shares(), self.averages, self.late_map
        for number, given in enumerate(weights):
            self._buffers[f"shares_{number}"] = given
        self.averages, self.host_shares, self.late_map = True, [*weights], None
        try:
            yield
        finally:
            self.averages, self.host_shares = averages, [shares.cpu() for shares in before]
            self.late_map = late_map
            for number, shares in enumerate(before):
                self._buffers[f"shares_{number}"] = shares


def _types(programs: Sequence[Program], settings: Settings) -> list[tuple[str, ...]]:
    """For each tower, the types whose state 0 is its own: those its program reads, and its target if it is read."""
    with_target = settings.residual or settings.states != "last" or settings.label_inputs
    read = [{*p.inputs, *([p.target.node_type] if with_target else [])} for p in programs]
    if settings.shared_tables:
        return [tuple(sorted(set().union(*read))), *[()] * (len(read) - 1)]
    return [tuple(sorted(types)) for types in read]


def types_of(metagraphs: Sequence[MetaGraph]) -> list[tuple[str, ...]]:
    """For each meta graph, the node types whose features it reads."""
    return [compile_program(m).inputs for m in metagraphs]
