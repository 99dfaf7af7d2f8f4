"""The paper as a researcher would first write it: typeless N×N sparse products for every link, autograd for the rest.

It shares the data, the tasks and the settings with the package, and none of its engine: no types, no liveness, no
merged products. It serves as a second opinion on scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from diffmg.graph import HeteroGraph
from diffmg.metagraph import EMPTY, IDENTITY, MetaGraph
from diffmg.schema import Relation
from diffmg.sparse import FixedMatrix
from diffmg.train import Problem, TrainSettings


def stacked_matrices(graph: HeteroGraph) -> dict[Relation, Tensor]:
    """Per relation, the normalised A + I over all N nodes as a COO tensor."""
    start, total = offsets(graph)
    matrices = {}
    for relation, adjacency in graph.adjacency.items():
        edges = adjacency.tocoo()
        rows, columns = edges.row + start[relation.target], edges.col + start[relation.source]
        looped = sp.csr_matrix((edges.data, (rows, columns)), shape=(total, total)) + sp.identity(total)
        degree = np.asarray(looped.sum(axis=1)).ravel()
        if relation.source == relation.target and (adjacency != adjacency.T).nnz == 0:
            looped = sp.diags(degree**-0.5) @ looped @ sp.diags(degree**-0.5)
        else:
            looped = sp.diags(1 / degree) @ looped
        coo = looped.tocoo()
        index = torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64))
        values = torch.from_numpy(coo.data.astype(np.float32))
        matrices[relation] = torch.sparse_coo_tensor(index, values, coo.shape).coalesce().to(graph.device)
    return matrices


def offsets(graph: HeteroGraph) -> tuple[dict[str, int], int]:
    """Where each type starts when all nodes are numbered together, and how many there are."""
    ends = np.cumsum(list(graph.num_nodes.values()))
    return dict(zip(graph.num_nodes, [0, *ends[:-1].tolist()], strict=True)), int(ends[-1])


class Tower(nn.Module):
    """One meta graph evaluated over all N nodes."""

    def __init__(self, graph: HeteroGraph, metagraph: MetaGraph, settings: TrainSettings) -> None:
        super().__init__()
        self.graph, self.metagraph, self.settings = graph, metagraph, settings
        inputs = {t: x.shape[1] for t, x in graph.features.items()}
        self.projections = nn.ModuleList(
            nn.Linear(inputs.get(t, graph.num_nodes[t]), settings.dim) for t in graph.num_nodes
        )
        self.shared = nn.Linear(settings.dim, settings.dim)
        self.norm = nn.LayerNorm(settings.dim) if settings.layer_norm else nn.Identity()

    def forward(self, matrices: dict[Relation, Tensor]) -> Tensor:
        """Representations of the target type."""
        projected = [self._project(p, t) for p, t in zip(self.projections, self.graph.num_nodes, strict=True)]
        h = torch.cat(projected)
        h = torch.tanh(h) if self.settings.tanh else h
        states = [self.shared(F.dropout(h, self.settings.dropout, self.training))]
        for k in range(1, self.metagraph.depth + 1):
            state = torch.zeros_like(states[0])
            for i in range(k):
                for operation in self.metagraph[k, i]:
                    if operation is IDENTITY:
                        state = state + states[i]
                    elif operation is not EMPTY:
                        state = state + torch.sparse.mm(matrices[operation], states[i])  # type: ignore[index]
            states.append(state)
        start = offsets(self.graph)[0][self.metagraph.target]
        rows = slice(start, start + self.graph.num_nodes[self.metagraph.target])
        return F.gelu(self.norm(states[-1]))[rows]

    def _project(self, projection: Any, node_type: str) -> Tensor:
        features = self.graph.features.get(node_type)
        if features is None:
            return projection.weight.T + projection.bias
        if isinstance(features, FixedMatrix):
            return torch.sparse.mm(features.forward, projection.weight.T) + projection.bias
        return projection(features)


def train(problem: Problem, metagraphs: Sequence[MetaGraph], settings: TrainSettings, seed: int) -> dict[str, float]:
    """Train once; the scores and the number of the epoch that validation chose."""
    graph, task = problem.graph, problem.task
    torch.manual_seed(seed)
    towers = nn.ModuleList(Tower(graph, m, settings) for m in metagraphs).to(graph.device)
    head = nn.Linear(settings.dim, task.outputs).to(graph.device) if task.outputs else nn.Identity()
    optimizer = torch.optim.Adam(
        [*towers.parameters(), *head.parameters()], lr=settings.lr, weight_decay=settings.weight_decay
    )
    matrices = stacked_matrices(graph)
    best: dict[str, float] = {"value": -float("inf"), "epoch": 0}
    for epoch in range(1, settings.max_epochs + 1):
        towers.train()
        optimizer.zero_grad()
        task.loss(tuple(head(t(matrices)) for t in towers), "train").backward()
        optimizer.step()
        towers.eval()
        with torch.no_grad():
            outputs = tuple(head(t(matrices)) for t in towers)
            val = float(task.scores(outputs, "val")[task.metric])
            value = val if settings.select == "score" else -float(task.loss(outputs, "val"))
            if value > best["value"]:
                kept = outputs
                best = {"value": value, "epoch": epoch, "val": val}
        if settings.patience is not None and epoch - best["epoch"] >= settings.patience:
            break
    return best | {"test": float(task.scores(kept, "test")[task.metric])}
