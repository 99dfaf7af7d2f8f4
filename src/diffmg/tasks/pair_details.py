"""Details of test answers about users and items: curves of pairs, scores of longer lists, examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffmg.core import PARTS, Part
from diffmg.core.details import Details, Point, Recommended
from diffmg.graph.network import HeteroGraph
from diffmg.tasks.details import calibration, rank_curves
from diffmg.tasks.metrics import average_precision
from diffmg.tasks.pairs import Labelled
from diffmg.tasks.ranks import Wanted, score
from diffmg.tasks.resampling import Resampled, how_many, mean_on_resamples, resamples, rows_of_groups
from diffmg.tasks.top_items import Top
from diffmg.tasks.two_ends import marks

if TYPE_CHECKING:
    from diffmg.tasks.item_ranking import ItemRanking
    from diffmg.tasks.recommendation import Recommendation

LENGTHS = (1, 2, 3, 5, 10, 20, 30, 50, 70, 100)
USERS, ITEMS = 6, 5
"""Users that are shown as examples, drawn at random, and items for each."""


class _Ranks(Protocol):
    """A task that finds the best items."""

    @property
    def target_types(self) -> tuple[str, ...]: ...

    def top(
        self, outputs: tuple[Tensor, ...], users: NDArray[np.int64], k: int, exclude: sp.csr_matrix | None
    ) -> Top: ...


def recommendation_details(
    task: Recommendation, outputs: tuple[Tensor, ...], part: Part, graph: HeteroGraph
) -> Details | None:
    """Curves and calibration of the labelled pairs, and examples."""
    labelled = task.parts[part]
    scores = labelled.pairs.scores(*outputs).detach().double().cpu()
    if not len(scores) or not bool(scores.isfinite().all()):
        return None
    positive, earlier = labelled.labels.numpy(force=True) > 0, task.known(PARTS[: PARTS.index(part)])
    rows = torch.stack([labelled.pairs.left, labelled.pairs.right], dim=1).numpy(force=True)[positive]
    shown = examples(task, outputs, graph, marks(rows.astype(np.int64), task.shape), earlier, earlier)
    bins = calibration(positive, torch.sigmoid(scores).numpy())
    return Details(
        curves=rank_curves(positive, scores.numpy()), calibration=bins, of="a pair being chosen", examples=shown
    )


def ranking_details(task: ItemRanking, outputs: tuple[Tensor, ...], part: Part, graph: HeteroGraph) -> Details | None:
    """Recall and NDCG of lists of any length, and examples."""
    interactions = task.parts[part]
    wanted = interactions.wanted
    ranks = task.ranks(outputs, wanted)
    if not len(wanted.users) or bool(ranks.isnan().any()):
        return None
    lengths = sorted({k for k in (*LENGTHS, task.k) if k <= task.shape[1]})
    curves = {name: _by_length(name, wanted, ranks, lengths) for name in ("recall", "ndcg")}
    earlier = PARTS[: PARTS.index(part)]
    hidden, liked = task.known(earlier), sp.csr_matrix(task.known(earlier) - task.known(earlier, liked=False))
    own = marks(interactions.rows()[0], task.shape)
    return Details(curves=curves, examples=examples(task, outputs, graph, own, hidden, liked))


def _by_length(name: str, wanted: Wanted, ranks: Tensor, lengths: list[int]) -> tuple[Point, ...]:
    return tuple((float(k), float(score(name, wanted, ranks, k))) for k in lengths)


def examples(
    task: _Ranks,
    outputs: tuple[Tensor, ...],
    graph: HeteroGraph,
    wanted: sp.csr_matrix,
    hidden: sp.csr_matrix,
    liked: sp.csr_matrix,
) -> tuple[Recommended, ...]:
    """Recommendations for a few users that were drawn at random from those who chose something in the part."""
    candidates = np.flatnonzero(np.diff(wanted.indptr))
    rng = np.random.default_rng(0)
    users = np.sort(rng.choice(candidates, min(USERS, len(candidates)), replace=False))
    items, scores = task.top(outputs, users, ITEMS, hidden)
    names = [graph.ids_of(t).astype(str) for t in task.target_types]
    found = []
    for user, best, values in zip(users, items, scores, strict=True):
        best = best[values > -np.inf]
        own = wanted[user].indices
        found.append(
            Recommended(
                str(names[0][user]),
                tuple(names[1][best].tolist()),
                tuple(np.isin(best, own).tolist()),
                tuple(names[1][own[:ITEMS]].tolist()),
                tuple(names[1][_marked(liked, user)[:ITEMS]].tolist()),
            )
        )
    return tuple(found)


def _marked(matrix: sp.csr_matrix, user: int) -> NDArray[np.int64]:
    row = matrix[user]
    return np.asarray(row.indices[row.data > 0], np.int64)


def resampled_pairs(labelled: Labelled, scores: Tensor, metric: str, user: str, most: int) -> Resampled | None:
    """A score of labelled pairs on resamples of their users, since pairs of one user are alike."""
    labels, scores = labelled.labels.cpu(), scores.detach().cpu()
    if not len(labels):
        return None
    users, group = torch.unique(labelled.pairs.left.cpu(), return_inverse=True)
    if metric == "auc":
        return Resampled(_auc_on_resamples(scores, labels > 0, group, len(users), most), len(users), user)
    every = (rows_of_groups(group, len(users), drawn) for drawn in resamples(len(users), most))
    found = [average_precision(scores[rows], labels[rows]) for rows in every]
    return Resampled(torch.stack(found).double().numpy(), len(users), user)


def _auc_on_resamples(scores: Tensor, positive: Tensor, group: Tensor, units: int, most: int) -> NDArray[np.float64]:
    """The area under the ROC curve on every resample of groups: pairs are sorted once, and then weigh 0, 1, 2, ..."""
    values, order = scores.double().sort()
    level = torch.unique_consecutive(values, return_inverse=True)[1].numpy()
    marked, groups, found = positive[order].numpy(), group[order].numpy(), []
    if bool(values.isnan().any()):
        return np.full(how_many(units, most), np.nan)
    for drawn in resamples(units, most):
        weights = np.bincount(drawn.numpy(), minlength=units)[groups].astype(np.float64)
        high, low = np.bincount(level, weights * marked), np.bincount(level, weights * ~marked)
        pairs = high.sum() * low.sum()
        found.append(high @ (low.cumsum() - low / 2) / pairs if pairs else np.nan)
    return np.array(found)


def resampled_users(task: ItemRanking, wanted: Wanted, ranks: Tensor, most: int) -> Resampled | None:
    """A score of a ranking on resamples of the users; it is a mean over them."""
    if not len(wanted.users):
        return None
    values = score_per_user(task.metric, wanted, ranks, task.k).double().numpy(force=True)
    return Resampled(mean_on_resamples(values, most), len(values), task.user)


def score_per_user(name: str, wanted: Wanted, ranks: Tensor, k: int) -> Tensor:
    """A score of every user; their mean is the score of the ranking: like that, NaN where a rank is."""
    if bool(ranks.isnan().any()):
        return ranks.new_full((len(wanted.users),), torch.nan)
    if name in ("hit_rate", "mrr"):
        best = wanted.best(ranks)
        return (best < k).double() if name == "hit_rate" else 1 / (best + 1)
    gains = (ranks < k).double() / wanted.count[wanted.row]
    if name == "ndcg":
        places = torch.arange(2, k + 2, device=ranks.device, dtype=torch.float64)
        ideal = (1 / places.log2()).cumsum(0)[wanted.count.clamp(1, k) - 1]
        gains = torch.where(ranks < k, 1 / (ranks + 2).log2(), 0.0) / ideal[wanted.row]
    return ranks.new_zeros(len(wanted.users)).index_add(0, wanted.row, gains)
