"""Label propagation: training labels spread over all relations; features are ignored."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffmg.core import METHODS, Count, Settings, Share
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._base import starts_of
from diffmg.methods.baselines._fitted import FittedOnLabels
from diffmg.methods.baselines._labels import TrainingLabels, logits_of
from diffmg.methods.baselines._reach import union
from diffmg.nn.fitted import Fitted
from diffmg.tasks.problem import Problem


@METHODS.add("label_propagation")
@dataclass(frozen=True)
class LabelPropagation(FittedOnLabels):
    """`F <- (1 - restart) D^-1/2 A D^-1/2 F + restart Y`, from F = Y (Zhou et al., 2004).

    Y marks the labels of training nodes and is 0 elsewhere; A links two nodes of any type that any relation links, in
    either direction. The probabilities of a node are its row of F divided by the sum; a node that nothing arrives at
    has the shares of the classes in training. Where a node may have several labels, a row is divided by how much of the
    training nodes themselves arrives. So it is with numbers: a row is the mean of those that arrive, or of all in
    training. Weights of edges and features are not used.
    """

    steps: Count = 10
    """Number of steps that a label can go."""
    restart: Share = 0.1
    """How much of a node's own label is put back in every step."""

    summary = "training labels spread over all relations, no features"
    tunable: ClassVar = {"steps": (4, 10, 30), "restart": (0.05, 0.1, 0.2, 0.5)}


@LabelPropagation.builds
class _Network(Fitted):
    def __init__(self, options: LabelPropagation, problem: Problem, settings: Settings, seed: int) -> None:  # noqa: ARG002
        super().__init__()
        (self.target,), self.options = problem.task.target_types, options
        self.numeric, self.multilabel = problem.task.numeric, TrainingLabels.of(problem.task).multilabel

    def fit(self, problem: Problem, seed: int) -> None:  # noqa: ARG002
        """Keep the training labels."""
        labels = TrainingLabels.of(problem.task)
        self.keep(nodes=labels.nodes, marks=labels.marks, prior=labels.prior)

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:  # noqa: ARG002
        """Logits or numbers of the labelled type."""
        nodes, marks, prior = (self.kept(name).numpy(force=True) for name in ("nodes", "marks", "prior"))
        start = starts_of(graph)[self.target]
        y = np.zeros((sum(graph.num_nodes.values()), marks.shape[1] + 1))
        y[start + nodes] = np.pad(marks, ((0, 0), (0, 1)), constant_values=1)
        f = propagate(union(graph), y, self.options)[start : start + graph.num_nodes[self.target]]
        arrived = f[:, -1:]
        p = np.where(arrived > 0, f[:, :-1] / np.where(arrived > 0, arrived, 1), prior)
        found = torch.from_numpy(p)
        return ((found.float() if self.numeric else logits_of(found, multilabel=self.multilabel)).to(self.device),)


def propagate(links: sp.csr_matrix, y: NDArray[np.float64], options: LabelPropagation) -> NDArray[np.float64]:
    """F after all steps; `links` is symmetric, (nodes, nodes)."""
    scale = sp.diags(np.maximum(np.asarray(links.sum(axis=1)).ravel(), 1.0) ** -0.5)
    matrix, f = sp.csr_matrix(scale @ links @ scale), y
    for _ in range(options.steps):
        f = (1 - options.restart) * (matrix @ f) + options.restart * y
    return f
