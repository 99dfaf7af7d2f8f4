"""A truncated SVD of relations: logistic or ridge regression on it for labels, itself where pairs are scored."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from torch import Tensor, nn

from diffmg.core import METHODS, Count, Positive, Settings, derive_seed
from diffmg.graph.network import HeteroGraph
from diffmg.graph.sparse import FixedMatrix
from diffmg.methods.baselines._choices import observed_choices
from diffmg.methods.baselines._choices_svd import ChoicesSvd
from diffmg.methods.baselines._fitted import FittedBaseline
from diffmg.methods.baselines._labels import TrainingLabels
from diffmg.methods.baselines._moves import both_sides_scaled, moves_into
from diffmg.methods.baselines._svd import Floats, root_mean_square, side_by_side, truncated_svd
from diffmg.nn.fitted import Fitted
from diffmg.tasks.problem import Problem

MOST_BLOCKS = 300
MOST_NUMBERS = 2**26
"""Blocks, and entries of V, up to which a race tries it: seconds, and some copies of 512 MiB."""

_DECOMPOSED: WeakKeyDictionary[HeteroGraph, dict[tuple[str, int, int], tuple[Floats, Floats]]] = WeakKeyDictionary()


@METHODS.add("svd")
@dataclass(frozen=True)
class Svd(FittedBaseline):
    """Logistic regression (of numbers: ridge) on `M V`, V the first `rank` right singular vectors of M.

    M has the nodes of the labelled type as rows. Side by side, it holds the relations that lead to them, the products
    of two relations that lead to them (multiplied with one after the other, never formed), and their features. A
    relation is `D^-1/2 A D^-1/2` without weights, and is also taken backwards if its reverse is not in the network.
    Each of these blocks is divided by the mean length of its rows, so none drowns the others.

    Where users and items are the targets, it is a shrunk SVD of who chose what; other relations, features and labelled
    pairs are not used.
    """

    rank: Count = 256
    """Number of singular vectors; fewer if the matrix has fewer."""
    l2: Positive = 0.3
    """Penalty on the squared coefficients of the regression."""

    weighs_classes: ClassVar = True
    summary = "logistic or ridge regression on an SVD of one- and two-step relations and features; or an SVD of choices"
    tunable: ClassVar = {"rank": (64, 128, 256, 512), "l2": (0.1, 0.3, 1.0, 3.0)}

    def check(self, problem: Problem, settings: Settings) -> None:
        """Also require classes or numbers, or choices."""
        super().check(problem, settings)
        if len(problem.task.target_types) == 2:
            observed_choices(problem)
        else:
            TrainingLabels.of(problem.task)

    def tunable_on(self, problem: Problem) -> Mapping[str, tuple[Any, ...]]:
        """No higher rank than the columns of M allow."""
        columns = sum(_widths(problem))
        ranks = self.tunable["rank"]
        return {**self.tunable, "rank": tuple(r for r in ranks if r == ranks[0] or columns * r <= MOST_NUMBERS)}

    def is_cheap(self, problem: Problem) -> bool:
        """Whether M has few blocks and columns: products of two of many relations within a type are very many."""
        widths = _widths(problem)
        return len(widths) <= MOST_BLOCKS and sum(widths) * self.rank <= MOST_NUMBERS

    def model(self, problem: Problem, settings: Settings, seed: int) -> nn.Module:
        """The one for labels, or the one for pairs."""
        if len(problem.task.target_types) == 2:
            return ChoicesSvd(self.rank, self.l2)
        return super().model(problem, settings, seed)


def _widths(problem: Problem) -> list[int]:
    """Columns of the blocks of M that relations and products of two give, if all have reverses; none for pairs."""
    if len(problem.task.target_types) == 2:
        return []
    schema, (target,) = problem.graph.schema, problem.task.target_types
    first = [r.source for r in schema.into(target)]
    second = [r.source for source in first for r in schema.into(source)]
    return [problem.graph.num_nodes[t] for t in (*first, *second)]


@Svd.builds
class _Network(Fitted):
    """The whole method is one linear map of M, whose coefficients and bias are kept."""

    def __init__(self, options: Svd, problem: Problem, settings: Settings, seed: int) -> None:  # noqa: ARG002
        super().__init__()
        (self.target,), self.options = problem.task.target_types, options

    def fit(self, problem: Problem, seed: int) -> None:
        """Decompose M and fit the regression on the rows of training nodes."""
        labels = TrainingLabels.of(problem.task)
        rows, back = decomposed(problem.graph, self.target, self.options.rank, seed)
        weights, bias = (ridge if labels.numeric else logistic)(rows[labels.nodes.numpy()], labels, self.options.l2)
        self.keep(coefficients=torch.from_numpy(back @ weights), bias=torch.from_numpy(bias))

    def forward(self, graph: HeteroGraph, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:  # noqa: ARG002
        """Logits or numbers of the labelled type."""
        coefficients, bias = (self.kept(name).numpy(force=True) for name in ("coefficients", "bias"))
        logits = side_by_side(blocks_of(graph, self.target)) @ coefficients + bias
        return (torch.from_numpy(logits).float().to(self.device),)


def decomposed(graph: HeteroGraph, target: str, rank: int, seed: int) -> tuple[Floats, Floats]:
    """Rows for the regression, `M V` scaled to length 1 on average, and the matrix that takes M to them.

    Labels have no part in it, so folds and penalties share it: it is kept as long as the network.
    """
    known, key = _DECOMPOSED.setdefault(graph, {}), (target, rank, seed)
    if key not in known:
        rng, blocks = np.random.default_rng(derive_seed(seed, "svd")), blocks_of(graph, target)
        scales = [1 / max(root_mean_square(block, rng), 1e-12) for block in blocks]
        u, s, v = truncated_svd(side_by_side([c * b for c, b in zip(scales, blocks, strict=True)]), rank, rng)
        length = max(float(np.linalg.norm(s)) / len(u) ** 0.5, 1e-12)
        columns = np.repeat(scales, [block.shape[1] for block in blocks])[:, None]
        known[key] = u * s / length, columns * v / length
    return known[key]


def blocks_of(graph: HeteroGraph, target: str) -> list[LinearOperator]:
    """The matrices that M is made of: relations, products of two, features; one column of ones if there are none."""
    moves = {
        t: [(move.source, aslinearoperator(both_sides_scaled(move.links))) for move in into]
        for t, into in moves_into(graph).items()
    }
    blocks = [first for _, first in moves[target]]
    blocks += [first @ second for source, first in moves[target] for _, second in moves[source]]
    features = graph.features.get(target)
    if features is not None:
        x = features.to_scipy() if isinstance(features, FixedMatrix) else features.numpy(force=True)
        blocks.append(aslinearoperator(x.astype(np.float64)))
    return blocks or [aslinearoperator(np.ones((graph.num_nodes[target], 1)))]


def logistic(x: Floats, labels: TrainingLabels, l2: float) -> tuple[Floats, Floats]:
    """Weights (columns, C) and bias (C,) of one regression, or of one per label where a node may have several."""
    bias = labels.constants()
    weights = np.zeros((x.shape[1], len(bias)))
    for classes, columns in labels.models():
        model = _regression(x, classes, labels.node_weights(columns), l2)
        weights[:, columns], bias[columns] = model.coef_.T, model.intercept_
    return weights, bias


def ridge(x: Floats, labels: TrainingLabels, l2: float) -> tuple[Floats, Floats]:
    """Weights (columns, T) and bias (T,) of a linear model of numbers."""
    from sklearn.linear_model import Ridge

    model = Ridge(alpha=l2).fit(x, labels.marks.numpy())
    return model.coef_.T.reshape(x.shape[1], -1), np.ravel(model.intercept_)


def _regression(x: Floats, y: NDArray[Any], node_weights: Floats | None, l2: float) -> Any:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LogisticRegression(C=1 / l2, max_iter=500).fit(x, y, sample_weight=node_weights)
