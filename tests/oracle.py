"""A slow dense evaluation of a model with all its switches: nodes of all types stacked into one matrix of N rows."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from diffmg.core.metagraph import EMPTY, IDENTITY, Link, MetaGraph, Operation
from diffmg.core.schema import Relation
from diffmg.core.settings import Settings
from diffmg.nn import Affine, DerivedModel, Encoder
from worlds import World

PAPER = Settings()


def rows_of(world: World, node_type: str) -> slice:
    """Where the nodes of a type lie among all N."""
    types = list(world.num_nodes)
    start = sum(world.num_nodes[t] for t in types[: types.index(node_type)])
    return slice(start, start + world.num_nodes[node_type])


def adjacency(world: World, relation: Relation) -> np.ndarray:
    """A_r, (N, N): row v holds the weights of the edges into v."""
    n = sum(world.num_nodes.values())
    a = np.zeros((n, n))
    sources, targets = world.edges[relation]
    for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
        place = rows_of(world, relation.target).start + target, rows_of(world, relation.source).start + source
        if relation in world.weights:
            a[place] += world.weights[relation][number]
        else:
            a[place] = 1.0
    return a


def propagation(world: World, relation: Relation, settings: Settings = PAPER) -> Tensor:
    """What a relation does to all N rows: those of its target type receive messages, all others pass unchanged."""
    a, loop = adjacency(world, relation), float(settings.self_loops)
    into, out_of = a.sum(axis=1) + loop, a.sum(axis=0) + loop
    aggregate = settings.aggregate
    if aggregate == "paper":
        aggregate = "symmetric" if relation.source == relation.target and (a == a.T).all() else "mean"
    matrix = np.eye(len(a))
    here = rows_of(world, relation.target)
    for v in range(here.start, here.stop):
        own = {"sum": 1.0, "mean": into[v], "symmetric": into[v]}[aggregate]
        matrix[v, v] = loop / own if loop else 0.0
        for u in np.flatnonzero(a[v]):
            scale = {"sum": 1.0, "mean": into[v], "symmetric": (into[v] * out_of[u]) ** 0.5}[aggregate]
            matrix[v, u] += a[v, u] / scale
    return torch.from_numpy(matrix)


def message(world: World, operation: Operation, h: Tensor, settings: Settings = PAPER) -> Tensor:
    """What one operation makes of a state (N, d)."""
    if operation is IDENTITY:
        return h
    if operation is EMPTY:
        return torch.zeros_like(h)
    assert isinstance(operation, Relation)
    return propagation(world, operation, settings) @ h


def all_states(
    world: World, metagraph: MetaGraph, h0: Tensor, weights: Tensor | None = None, settings: Settings = PAPER
) -> list[Tensor]:
    """States 0 to K of all nodes, each (N, d); every state is computed for every type."""
    weight = {c: 1.0 if weights is None else weights[j] for j, c in enumerate(metagraph.choices)}
    states = [h0]
    for k in range(1, metagraph.depth + 1):
        h = torch.zeros_like(h0)
        for (link, operation), w in weight.items():
            if link.k == k:
                h = h + w * message(world, operation, states[Link(*link).i], settings)
        states.append(h)
    return states


def last_state(
    world: World, metagraph: MetaGraph, h0: Tensor, weights: Tensor | None = None, settings: Settings = PAPER
) -> Tensor:
    """State K of all nodes, (N, d), from state 0."""
    return all_states(world, metagraph, h0, weights, settings)[-1]


def mapped(x: Tensor, map_: Affine) -> Tensor:
    """`x W + b`."""
    return x @ map_.weight + map_.bias


def log_counts(world: World, node_type: str) -> Tensor:
    """log(1 + number of neighbours) for each relation into the type, then log(1 + total weight) where there are any."""
    into = [r for r in world.schema.relations if r.target == node_type]
    dense = {r: adjacency(world, r)[rows_of(world, node_type), rows_of(world, r.source)] for r in into}
    weighted = [r for r in into if (world.graph().adjacency[r].data != 1).any()]
    found = np.zeros((world.num_nodes[node_type], len(into) + len(weighted)))
    for column, relation in enumerate(into):
        for _, target in {tuple(pair) for pair in world.edges[relation].T.tolist()}:
            found[target, column] += 1
    for column, relation in enumerate(weighted, len(into)):
        found[:, column] = dense[relation].sum(axis=1)
    return torch.from_numpy(np.log(1 + found))


def first_state(world: World, encoder: Encoder) -> Tensor:
    """State 0 of all nodes: projection by type and what stands beside it, tanh, the shared map; zero where not read."""
    settings, parts = encoder.settings, []
    for node_type, n in world.num_nodes.items():
        if node_type not in encoder.node_types:
            parts.append(torch.zeros(n, settings.dim, dtype=torch.float64))
            continue
        number = encoder.node_types.index(node_type)
        x = world.features.get(node_type, np.eye(n))
        x = torch.from_numpy(np.asarray(x.toarray() if sp.issparse(x) else x, np.float64))
        h = mapped(x, encoder.projections[number])
        if settings.vectors and node_type in world.features:
            h = h + mapped(torch.eye(n, dtype=torch.float64), encoder.beside[f"vectors_{number}"])
        if settings.counts and any(r.target == node_type for r in world.schema.relations):
            h = h + mapped(log_counts(world, node_type), encoder.beside[f"counts_{number}"])
        h = torch.tanh(h) if settings.tanh else h
        parts.append(mapped(h, encoder.shared) if settings.shared_map else h)
    return torch.cat(parts)


def normed(z: Tensor) -> Tensor:
    """Mean 0 and variance 1 in every row."""
    return (z - z.mean(-1, keepdim=True)) / (z.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()


def fused_states(states: list[Tensor], encoder: Encoder) -> Tensor:
    """What the target reads of its states 0 to K, each (n, d)."""
    kind, readout = encoder.settings.states, encoder.readout
    if kind == "last":
        return states[-1]
    if kind == "mean":
        return sum(states) / len(states)
    h = [normed(mapped(z, map_)) for z, map_ in zip(states, readout.maps, strict=True)]
    if kind == "attention":
        h = attended(h, readout.attention.maps, readout.attention.beta)
    return mapped(torch.cat(h, dim=1), readout.joined)


def attended(h: list[Tensor], maps: Tensor, beta: Tensor) -> list[Tensor]:
    """Each of several vectors a node, plus β times the average of their values, weighted by softmax of `q k`."""
    dim = h[0].shape[1]
    queries, keys, values = (torch.stack([x @ maps[:, n * dim : (n + 1) * dim] for x in h]) for n in range(3))
    found = []
    for x, q in zip(h, queries, strict=True):
        share = torch.exp((q * keys).sum(dim=2))
        share = share / share.sum(dim=0)
        found.append(x + beta * (share.unsqueeze(2) * values).sum(dim=0))
    return found


def read_out(states: list[Tensor], encoder: Encoder) -> Tensor:
    """Representations of the target from its states 0 to K."""
    settings, z = encoder.settings, fused_states(states, encoder)
    if settings.residual:
        gate = 1 / (1 + torch.exp(-encoder.readout.gate))
        z = gate * z + (1 - gate) * states[0]
    z = normed(z) if settings.layer_norm else z
    if settings.layer_norm and list(encoder.norm.parameters()):
        z = z * encoder.norm.weight + encoder.norm.bias
    if settings.activation == "gelu":
        return z * (1 + torch.erf(z / 2**0.5)) / 2
    return z.clamp(min=0) if settings.activation == "relu" else z


def encode(world: World, metagraph: MetaGraph, encoder: Encoder, weights: Tensor | None = None) -> Tensor:
    """What an encoder in double precision, with no dropout, must return for the target type."""
    return _encoded(world, metagraph, encoder, first_state(world, encoder), weights)


def outputs(world: World, model: DerivedModel) -> tuple[Tensor, ...]:
    """What a model of fixed meta graphs in double precision, with no dropout, must return."""
    settings, found = model.settings, []
    for tower, metagraph in zip(model.encoders, model.metagraphs, strict=True):
        h0 = first_state(world, model.encoders[0] if settings.shared_tables else tower)
        shares = torch.tensor([1.0 / len(o) for _, o in metagraph.items() for _ in o], dtype=torch.float64)
        weights = shares if settings.links == "mean" else None
        if hasattr(model, "labels"):
            z = _without_own_label(world, metagraph, model, h0, weights)
        else:
            z = _encoded(world, metagraph, tower, h0, weights)
        found.append(mapped(z, model.head) if isinstance(model.head, Affine) else z)
    if settings.biases:
        user, item = model.biases
        found[0] = torch.cat([found[0], user, torch.ones_like(user)], dim=1)
        found[1] = torch.cat([found[1], torch.ones_like(item), item], dim=1)
    return tuple(found)


def _without_own_label(
    world: World, metagraph: MetaGraph, model: DerivedModel, h0: Tensor, weights: Tensor | None
) -> Tensor:
    """Node by node, everything again where that node's label is not known."""
    rows, labels, found = rows_of(world, metagraph.target), model.labels.labels, []
    for v in range(len(labels)):
        known = labels.clone()
        known[v] = 0
        added = torch.zeros_like(h0)
        added[rows] = known @ model.labels.map
        found.append(_encoded(world, metagraph, model.encoders[0], h0 + added, weights)[v])
    return torch.stack(found)


def _encoded(world: World, metagraph: MetaGraph, encoder: Encoder, h0: Tensor, weights: Tensor | None) -> Tensor:
    states = all_states(world, metagraph, h0, weights, encoder.settings)
    return read_out([h[rows_of(world, metagraph.target)] for h in states], encoder)
