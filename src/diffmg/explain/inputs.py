"""State 0 as a sum of parts, each of which belongs to the beginning of a meta path."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from diffmg.core import Relation
from diffmg.graph.network import HeteroGraph
from diffmg.nn import DerivedModel, Encoder


@dataclass(frozen=True)
class Part:
    """A summand of state 0 of a type, (n, dim)."""

    rows: Tensor
    relation: Relation | None = None
    """The relation whose neighbours are counted, which makes a meta path one relation longer."""
    is_label: bool = False
    """Whether it is the known label, which a node never hears of itself."""


Inputs = dict[str, list[Part]]
"""By node type, the parts of its state 0."""


def inputs_of(model: DerivedModel, graph: HeteroGraph) -> list[Inputs]:
    """For each tower, state 0 of the types that it reads."""
    owners = model.encoders[: 1 if model.settings.shared_tables else None]
    found = [{t: _parts(tower, graph, t) for t in tower.node_types} for tower in owners]
    if hasattr(model, "labels"):
        found[0][model.metagraphs[0].target].append(Part(model.labels(), is_label=True))
    return [*found] * (len(model.metagraphs) // len(found))


def _parts(encoder: Encoder, graph: HeteroGraph, node_type: str) -> list[Part]:
    """The node's own part, and one per relation where neighbours are counted."""
    name = f"counts_{encoder.node_types.index(node_type)}"
    if name not in encoder.beside:
        return [Part(encoder.first_state(graph, node_type, None))]
    projected, counts = encoder.project(graph, node_type), graph.log_counts(node_type)
    gates = _gates(projected) if encoder.settings.tanh else torch.ones_like(projected)
    weight: Tensor = encoder.beside[name].weight  # type: ignore[assignment]
    mapped = encoder.shared.weight if encoder.settings.shared_map else None
    several, counted = [], graph.counted(node_type)
    for relation in graph.schema.into(node_type):
        columns = [column for column, of in enumerate(counted) if of == relation]
        term = counts[:, columns].to(weight.dtype) @ weight[columns] * gates
        several.append(Part(term if mapped is None else term @ mapped, relation))
    own = encoder.first_state(graph, node_type, None) - sum(part.rows for part in several)
    return [Part(own), *several]


def _gates(x: Tensor) -> Tensor:
    """`tanh(x) / x`."""
    return torch.where(x == 0, 1.0, torch.tanh(x) / torch.where(x == 0, 1.0, x))
