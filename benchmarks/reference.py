"""A naive reference: the paper with typeless N×N sparse products for every link, and autograd for the rest.

It shares data, labels, meta graphs and settings with the package, and nothing of its engine: no types, no liveness, no
merged products, no gradients by hand, scores by scikit-learn on the host. It serves as a second opinion on every number
and as what the engine's speed is measured against.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from benchmarks.reference_targets import targets_of
from diffmg.core.metagraph import EMPTY, MetaGraph, Operation
from diffmg.core.schema import Relation
from diffmg.core.settings import Settings
from diffmg.graph.network import Features, HeteroGraph
from diffmg.tasks.problem import Problem


class StackedNetwork:
    """A network without types: all N nodes numbered together, one N×N COO matrix per relation."""

    def __init__(self, graph: HeteroGraph) -> None:
        ends = np.cumsum(list(graph.num_nodes.values())).tolist()
        starts = [0, *ends[:-1]]
        self.num_nodes, self.total = graph.num_nodes, ends[-1]
        self.rows = {t: slice(a, b) for t, a, b in zip(graph.num_nodes, starts, ends, strict=True)}
        self.inputs = [_plain(graph.features.get(t)) for t in graph.num_nodes]
        self.matrices = {r: self._matrix(a, r).to(graph.device) for r, a in graph.adjacency.items()}

    def _matrix(self, adjacency: sp.csr_matrix, relation: Relation) -> Tensor:
        """The normalised A + I over all nodes."""
        edges, shape = adjacency.tocoo(), (self.total, self.total)
        rows, columns = edges.row + self.rows[relation.target].start, edges.col + self.rows[relation.source].start
        looped = sp.csr_matrix((edges.data, (rows, columns)), shape) + sp.identity(self.total)
        degree = np.asarray(looped.sum(axis=1)).ravel()
        if relation.source == relation.target and (adjacency != adjacency.T).nnz == 0:
            coo = (sp.diags(degree**-0.5) @ looped @ sp.diags(degree**-0.5)).tocoo()
        else:
            coo = (sp.diags(1 / degree) @ looped).tocoo()
        index = torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64))
        return torch.sparse_coo_tensor(
            index, torch.from_numpy(coo.data.astype(np.float32)), shape, check_invariants=False
        ).coalesce()


class Tower(nn.Module):
    """The encoder of one target type; every state holds all N nodes."""

    def __init__(self, network: StackedNetwork, target: str, settings: Settings, learned_scale: bool) -> None:
        super().__init__()
        self.network, self.target, self.settings = network, target, settings
        sizes = [
            n if x is None else x.shape[1] for n, x in zip(network.num_nodes.values(), network.inputs, strict=True)
        ]
        self.projections = nn.ModuleList(nn.Linear(size, settings.dim) for size in sizes)
        self.shared = nn.Linear(settings.dim, settings.dim)
        scaled = nn.LayerNorm(settings.dim, elementwise_affine=learned_scale)
        self.norm = scaled if settings.layer_norm else nn.Identity()

    def forward(self, metagraph: MetaGraph, weights: Tensor | None = None) -> Tensor:
        """Embeddings of the target type; `weights` multiplies the message of each choice of the meta graph."""
        h = torch.cat([_projected(p, x) for p, x in zip(self.projections, self.network.inputs, strict=True)])
        h = torch.tanh(h) if self.settings.tanh else h
        states = [self.shared(F.dropout(h, self.settings.dropout, self.training))]
        for k in range(1, metagraph.depth + 1):
            state = torch.zeros_like(states[0])
            for number, (link, operation) in enumerate(metagraph.choices):
                if link.k == k and operation is not EMPTY:
                    message = self._message(operation, states[link.i])
                    state = state + (message if weights is None else weights[number] * message)
            states.append(state)
        return F.gelu(self.norm(states[-1]))[self.network.rows[self.target]]

    def _message(self, operation: Operation, state: Tensor) -> Tensor:
        if isinstance(operation, Relation):
            product: Tensor = torch.sparse.mm(self.network.matrices[operation], state)
            return product
        return state


class Towers(nn.Module):
    """The whole model: a tower per target type, and a linear head where the task has classes."""

    def __init__(self, problem: Problem, settings: Settings, learned_scale: bool) -> None:
        super().__init__()
        network, task = StackedNetwork(problem.graph), problem.task
        self.towers = nn.ModuleList(Tower(network, t, settings, learned_scale) for t in task.target_types)
        self.head = nn.Linear(settings.dim, task.outputs) if task.outputs else nn.Identity()
        self.to(problem.graph.device)

    def forward(self, metagraphs: Sequence[MetaGraph], weights: Sequence[Tensor] | None = None) -> tuple[Tensor, ...]:
        """Logits, or the embeddings of the two towers."""
        given: Sequence[Tensor | None] = weights or [None] * len(metagraphs)
        return tuple(self.head(t(m, w)) for t, m, w in zip(self.towers, metagraphs, given, strict=True))


class RetrainReference:
    """Training of given meta graphs, epoch by epoch. It seeds and uses torch's global generator."""

    def __init__(self, problem: Problem, metagraphs: Sequence[MetaGraph], settings: Settings, seed: int) -> None:
        torch.manual_seed(seed)
        self.metagraphs = problem.arranged(metagraphs)
        self.targets = targets_of(problem.task)
        self.model = Towers(problem, settings, learned_scale=True)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
        self.outputs: tuple[Tensor, ...] = ()
        """Outputs of the last evaluation."""

    def epoch(self) -> dict[str, float]:
        """One full-batch update with dropout, one evaluation without."""
        self.model.train()
        self.optimizer.zero_grad()
        loss = self.targets.loss(self.targets.predicted(self.model(self.metagraphs), "train"), "train")
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return {"train_loss": loss.item(), **self.evaluate()}

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Loss and score on validation."""
        self.outputs = self.model.eval()(self.metagraphs)
        predicted = self.targets.predicted(self.outputs, "val")
        return {
            "val_loss": self.targets.loss(predicted, "val").item(),
            "val_score": self.targets.score(predicted, "val"),
        }


def train(problem: Problem, metagraphs: Sequence[MetaGraph], settings: Settings, seed: int) -> dict[str, float]:
    """Train once; returns the scores and the index of the best epoch on validation."""
    live = RetrainReference(problem, metagraphs, settings, seed)
    best: dict[str, float] = {"value": -float("inf"), "epoch": 0}
    kept: tuple[Tensor, ...] = ()
    for epoch in range(1, settings.max_epochs + 1):
        seen = live.epoch()
        value = seen["val_score"] if settings.select == "score" else -seen["val_loss"]
        if value > best["value"]:
            best, kept = {"value": value, "epoch": epoch, "val": seen["val_score"]}, live.outputs
        if settings.patience is not None and epoch - best["epoch"] >= settings.patience:
            break
    return best | {"test": live.targets.score(live.targets.predicted(kept, "test"), "test")}


def _plain(features: Features | None) -> Tensor | None:
    """Features as a dense or a COO tensor; None stands for one-hot input."""
    if features is None or isinstance(features, Tensor):
        return features
    return features.forward.to_sparse(layout=torch.sparse_coo)


def _projected(projection: Any, x: Tensor | None) -> Tensor:
    weight: Tensor = projection.weight.T
    bias: Tensor = projection.bias
    if x is None:
        return weight + bias
    return (torch.sparse.mm(x, weight) if x.is_sparse else x @ weight) + bias
