"""A slow dense evaluation of section 3 of the design: all nodes of all types stacked into one matrix of N rows."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from diffmg.core.metagraph import EMPTY, IDENTITY, Link, MetaGraph, Operation
from diffmg.core.schema import Relation
from diffmg.nn import Encoder
from worlds import World


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


def propagation(world: World, relation: Relation) -> Tensor:
    """Row-normalised A_r + I, or D^-1/2 (A_r + I) D^-1/2 where the relation is symmetric within one type."""
    a = adjacency(world, relation)
    looped = a + np.eye(len(a))
    degree = looped.sum(axis=1)
    if relation.source == relation.target and (a == a.T).all():
        return torch.from_numpy(looped / np.sqrt(np.outer(degree, degree)))
    return torch.from_numpy(looped / degree[:, None])


def message(world: World, operation: Operation, h: Tensor) -> Tensor:
    """What one operation makes of a state (N, d)."""
    if operation is IDENTITY:
        return h
    if operation is EMPTY:
        return torch.zeros_like(h)
    assert isinstance(operation, Relation)
    return propagation(world, operation) @ h


def last_state(world: World, metagraph: MetaGraph, h0: Tensor, weights: Tensor | None = None) -> Tensor:
    """State K of all nodes, (N, d), from state 0; every state is computed for every type."""
    weight = {c: 1.0 if weights is None else weights[j] for j, c in enumerate(metagraph.choices)}
    states = [h0]
    for k in range(1, metagraph.depth + 1):
        h = torch.zeros_like(h0)
        for (link, operation), w in weight.items():
            if link.k == k:
                h = h + w * message(world, operation, states[Link(*link).i])
        states.append(h)
    return states[-1]


def first_state(world: World, encoder: Encoder) -> Tensor:
    """State 0 of all nodes: projection by type, activation, the shared affine map."""
    parts = []
    for node_type, n in world.num_nodes.items():
        projection = encoder.projections[encoder.node_types.index(node_type)]
        x = world.features.get(node_type, np.eye(n))
        x = torch.from_numpy(np.asarray(x.toarray() if sp.issparse(x) else x, np.float64))
        h = x @ projection.weight + projection.bias
        h = torch.tanh(h) if encoder.options.tanh else h
        parts.append(h @ encoder.shared.weight + encoder.shared.bias)
    return torch.cat(parts)


def encode(world: World, metagraph: MetaGraph, encoder: Encoder, weights: Tensor | None = None) -> Tensor:
    """What an encoder in double precision, with no dropout, must return for the target type."""
    z = last_state(world, metagraph, first_state(world, encoder), weights)[rows_of(world, metagraph.target)]
    if encoder.options.norm != "off":
        z = (z - z.mean(1, keepdim=True)) / (z.var(1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    if encoder.options.norm == "learned":
        z = z * encoder.norm.weight + encoder.norm.bias
    return z * (1 + torch.erf(z / 2**0.5)) / 2
