"""Recommend nodes of one type to nodes of another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from torch import Tensor

from diffmg.core import PARTS, TASKS, Bounds, DiffmgError, Part, TaskSpec, unknown
from diffmg.core.arrow import numbers
from diffmg.core.details import Details
from diffmg.core.task import RESAMPLES, Examples, Reading
from diffmg.graph.fingerprint import fingerprint
from diffmg.graph.network import HeteroGraph
from diffmg.tasks.answers import inverse
from diffmg.tasks.labels import split_numbers
from diffmg.tasks.metrics import average_precision, ndcg_at_k, recall_at_k
from diffmg.tasks.pair_details import recommendation_details, resampled_pairs
from diffmg.tasks.pairs import Labelled, Pairs, check_overlap, checked_pairs, means
from diffmg.tasks.ratings import Ratings, fresh_split
from diffmg.tasks.resampling import Resampled
from diffmg.tasks.two_ends import PairTask, check_counts, check_no_edges

if TYPE_CHECKING:
    from diffmg.tables.description import Description
    from diffmg.tables.export import TablesOut
    from diffmg.tables.network import Network


@dataclass(frozen=True)
class RecommendationSpec(TaskSpec):
    """Recommend along a relation: its rows are split, the observed half stays in the network."""

    relation: str
    """Name of the relation whose source is the user and whose target is the item."""
    rating: str | None = None
    """Column of ratings; without it every row counts as liked."""
    liked: float = 3.0
    """Ratings above it are positive, the others negative."""
    split: str | None = None
    """Column of train, val and test, empty for pairs that are only edges; random where there is none."""
    seed: Annotated[int, Bounds(0)] = 0
    """Draws a random split, by id: the order of rows does not matter."""
    metric: str = "auc"
    exempt: tuple[str, ...] = ()
    """Other relations from users to items that are known before a pair is decided, so that they may link it."""
    k: int = 20
    """Length of the list that recall@k and ndcg@k look at."""

    @classmethod
    def matches(cls, given: Mapping[str, Any]) -> bool:
        """It names a relation."""
        return "relation" in given

    def check(self, description: Description) -> None:
        """The relation must be described."""
        description.relation_table(self.relation)

    def columns(self, description: Description) -> dict[str, set[str]]:
        """Ratings and split."""
        return {description.relation_table(self.relation): {name for name in (self.rating, self.split) if name}}

    def read(self, tables: Network) -> Reading:
        """Pairs and their split; of a pair that is rated more than once the mean counts."""
        relation, index = tables.edges(self.relation)
        if not index.shape[1]:
            raise DiffmgError(f"the relation of the task must have edges, but got none in {self.relation!r}")
        stars = self._stars(tables, index.shape[1])
        rated = ~np.isnan(stars)
        notes = [f"relation {self.relation}: {int((~rated).sum())} rows without a rating, left out"]
        shape = (tables.count(relation.source), tables.count(relation.target))
        split = self._split(index.T[rated], stars[rated], tables, rated, shape)
        code, observed = index[0] * shape[1] + index[1], split["observed"] @ np.array([shape[1], 1])
        task = Recommendation.build(
            relation.source,
            relation.target,
            shape,
            {part: split[f"pos_{part}"] for part in PARTS},
            {part: split[f"neg_{part}"] for part in PARTS},
            seen=split["observed"],
            exempt=tuple(name for given in self.exempt for name in (given, f"rev_{given}")),
            metric=self.metric,
            k=self.k,
        )
        return Reading(task, {self.relation: rated & np.isin(code, observed)}, () if rated.all() else tuple(notes))

    def lines(self) -> list[str]:
        """What is recommended, and by what."""
        rating = f" by {self.rating} above {self.liked:g}" if self.rating else ""
        return [f"task: recommend along {self.relation}{rating}; seed {self.seed}"]

    def _stars(self, tables: Network, count: int) -> NDArray[np.float64]:
        """The rating of each row, NaN where there is none; without a rating column every row is liked."""
        if self.rating is None:
            return np.full(count, np.inf)
        values = tables.edge_column(self.relation, self.rating)
        return numbers(values, f"ratings of relation {self.relation!r}")

    def _split(
        self,
        pairs: NDArray[np.int64],
        stars: NDArray[np.float64],
        tables: Network,
        rated: NDArray[np.bool_],
        shape: tuple[int, int],
    ) -> Mapping[str, NDArray[Any]]:
        """Rows (user, item): `observed`, and `pos_PART` and `neg_PART` for each part."""
        if self.split is None:
            return fresh_split(Ratings.build(*means(pairs, stars, shape), shape), self.seed, self.liked)
        what = f"the split column {self.split!r} of relation {self.relation!r}"
        parts = split_numbers(tables.edge_column(self.relation, self.split).filter(pa.array(rated)), what)
        rest, liked = np.ones(len(pairs), bool), stars > self.liked
        split: dict[str, NDArray[Any]] = {}
        for part, rows in parts.items():
            in_part = np.isin(np.arange(len(pairs)), rows)
            split |= {f"pos_{part}": pairs[in_part & liked], f"neg_{part}": pairs[in_part & ~liked]}
            rest &= ~in_part
        return split | {"observed": pairs[rest & liked]}


@TASKS.add("recommendation")
@dataclass(frozen=True, repr=False)
class Recommendation(PairTask):
    """Two towers: a pair is scored by the dot product of the user's and the item's representation."""

    user: str
    item: str
    shape: tuple[int, int]
    parts: Mapping[Part, Labelled]
    seen: sp.csr_matrix
    """Items each user is known to have chosen before any part: never recommended, never counted as a hit."""
    exempt: tuple[str, ...] = ()
    """Names of relations that may link a supervised pair, since they are known before the pair is decided."""
    metric: str = "auc"
    k: int = 20
    """Length of the list that recall@k and ndcg@k look at."""

    kind: ClassVar = "recommendation"
    summary: ClassVar = "recommend nodes of one type to nodes of another, by the dot product of two towers"
    metrics: ClassVar = {"auc": "max", "average_precision": "max"}
    verb: ClassVar = "recommend"
    rivals: ClassVar = ("popularity", "svd")
    estimator: ClassVar = "MetaGraphRecommender"
    spec: ClassVar = RecommendationSpec

    @classmethod
    def build(
        cls,
        user: str,
        item: str,
        shape: tuple[int, int],
        positives: Mapping[Part, ArrayLike],
        negatives: Mapping[Part, ArrayLike],
        *,
        seen: ArrayLike | None = None,
        exempt: tuple[str, ...] = (),
        metric: str = "auc",
        k: int = 20,
    ) -> Recommendation:
        """Build from rows (user, item) per part; `shape` is the number of users and of items."""
        if metric not in cls.metrics:
            raise unknown("metric", metric, cls.metrics)
        if k < 1:
            raise DiffmgError(f"`k >= 1` must hold, but got k={k}")
        if user == item:
            raise DiffmgError(f"users and items must be of two node types, but got {user!r} for both")
        empty = np.empty((0, 2), np.int64)
        rows = {
            p: tuple(checked_pairs(given.get(p, empty), shape, p) for given in (positives, negatives)) for p in PARTS
        }
        check_overlap(rows)
        known = empty if seen is None else checked_pairs(seen, shape, "seen")
        return cls(
            user,
            item,
            shape,
            {p: Labelled.build(r, shape) for p, r in rows.items()},
            _marks(known[:, 0], known[:, 1], shape),
            exempt,
            metric,
            k,
        )

    def size(self, part: Part) -> int:
        """Labelled pairs of a part."""
        return len(self.parts[part].labels)

    def check(self, graph: HeteroGraph) -> None:
        """Both types must exist, and no supervised pair may be an edge, in either direction."""
        check_counts(graph, self.target_types, self.shape)
        users = np.concatenate([p.pairs.left.numpy(force=True) for p in self.parts.values()])
        items = np.concatenate([p.pairs.right.numpy(force=True) for p in self.parts.values()])
        check_no_edges(graph, self.target_types, (users, items), self.exempt)

    def to(self, device: torch.device | str) -> Recommendation:
        """The same task with its tensors on another device."""
        return replace(self, parts={p: part.to(device) for p, part in self.parts.items()})

    def loss(self, outputs: tuple[Tensor, ...], part: Part) -> Tensor:
        """The paper's loss, each sum divided by its number of pairs."""
        labelled = self.parts[part]
        return _loss(labelled, labelled.pairs.scores(*outputs))

    def scores(self, outputs: tuple[Tensor, ...], part: Part) -> dict[str, Tensor]:
        """AUC and average precision over the labelled pairs."""
        labelled = self.parts[part]
        if not len(labelled.labels):
            return {}
        scores = labelled.pairs.scores(*outputs)
        return {"auc": labelled.auc(scores), "average_precision": average_precision(scores, labelled.labels)}

    def evaluate(self, outputs: tuple[Tensor, ...], part: Part) -> tuple[Tensor, Tensor]:
        """The loss and the selection metric, from the same pair scores."""
        labelled = self.parts[part]
        scores = labelled.pairs.scores(*outputs)
        detached = scores.detach()
        score = labelled.auc(detached) if self.metric == "auc" else average_precision(detached, labelled.labels)
        return _loss(labelled, scores), score

    def votes(self, outputs: tuple[Tensor, ...], part: Part) -> Tensor:
        """The scores of the pairs."""
        return self.parts[part].pairs.scores(*outputs)

    def score_votes(self, votes: Tensor, part: Part) -> Tensor:
        """The selection metric of summed scores."""
        labelled = self.parts[part]
        return labelled.auc(votes) if self.metric == "auc" else average_precision(votes, labelled.labels)

    def vote_scale(self, votes: Tensor) -> float:
        """One over the standard deviation of the scores."""
        return 1 / max(float(votes.std()), 1e-12)

    def vote_calibration(self, votes: Tensor, part: Part) -> float:
        """The factor with the lowest loss, so that probabilities mean what those of one model mean."""
        labelled = self.parts[part]
        found = minimize_scalar(lambda x: float(_loss(labelled, math.exp(x) * votes)), bounds=(-4, 6), method="bounded")
        return math.exp(found.x)

    def blend(self, outputs: Sequence[tuple[Tensor, ...]], weights: Sequence[float]) -> tuple[Tensor, ...]:
        """A weighted sum of dot products is the dot product of the vectors side by side, one end weighted."""
        users = [w * z[0] for w, z in zip(weights, outputs, strict=True)]
        return torch.cat(users, dim=1), torch.cat([z[1] for z in outputs], dim=1)

    def joined(self, *, test: bool = False) -> Recommendation:
        """Training on the pairs of validation too, and on those of the test part."""
        kept = [self.parts[part] for part in (PARTS if test else PARTS[:2])]
        rows = np.concatenate([torch.stack([p.pairs.left, p.pairs.right], dim=1).numpy(force=True) for p in kept])
        labels = torch.cat([p.labels for p in kept]).cpu()
        pairs, order = Pairs.build(rows.astype(np.int64), *self.shape)
        joined = Labelled.of(pairs, labels[torch.from_numpy(order)]).to(kept[0].labels.device)
        return replace(self, parts={**self.parts, "train": joined})

    def final_scores(self, outputs: tuple[Tensor, ...], part: Part) -> dict[str, Tensor]:
        """Also recall@k and ndcg@k: all items ranked for each user with a positive in `part`, except known ones."""
        found = self.scores(outputs, part)
        if not found:
            return found
        wanted = self._positives((part,))
        users = np.flatnonzero(np.diff(wanted.indptr))
        if not len(users):
            return found
        earlier = PARTS[: PARTS.index(part)]
        top = self.top(outputs, users, self.k, self.known(earlier))[0]
        hits = np.asarray(wanted[np.repeat(users, top.shape[1]), top.ravel()]).reshape(top.shape) > 0
        relevant = torch.from_numpy(np.diff(wanted.indptr)[users])
        marks = torch.from_numpy(hits).double()
        return found | {f"recall@{self.k}": recall_at_k(marks, relevant), f"ndcg@{self.k}": ndcg_at_k(marks, relevant)}

    def judged(self, part: Part) -> tuple[Tensor, ...]:
        """Users and items of the part's pairs."""
        pairs = self.parts[part].pairs
        return torch.unique(pairs.left).long(), torch.unique(pairs.right).long()

    def details(self, outputs: tuple[Tensor, ...], part: Part, graph: HeteroGraph) -> Details | None:
        """Curves of the labelled pairs, and examples of recommendations."""
        return recommendation_details(self, outputs, part, graph)

    def resample_votes(self, votes: Tensor, part: Part, most: int = RESAMPLES) -> Resampled | None:
        """Users are drawn, each with all its pairs."""
        return resampled_pairs(self.parts[part], votes, self.metric, self.user, most)

    def examples(self) -> Examples:
        """The pairs of training and validation."""
        train, val = self.parts["train"], self.parts["val"]
        left = torch.cat([train.pairs.left, val.pairs.left]).numpy(force=True).astype(np.int64)
        right = torch.cat([train.pairs.right, val.pairs.right]).numpy(force=True).astype(np.int64)
        labels = torch.cat([train.labels, val.labels]).numpy(force=True)
        return Examples("pair", (left, right), labels, np.arange(len(left)) >= len(train.labels))

    def known(self, parts: tuple[Part, ...] = ("train", "val")) -> sp.csr_matrix:
        """Items a user is known to have chosen: seen ones and positives of these parts."""
        return sp.csr_matrix(self.seen + self._positives(parts))

    def hidden(self, *, exclude_seen: bool) -> sp.csr_matrix | None:
        """What the user is known to have chosen, if that is to be left out."""
        return self.known() if exclude_seen else None

    def counts(self) -> dict[str, dict[str, int]]:
        """Negative and positive pairs, by part."""
        positive = {part: int(labelled.labels.sum()) for part, labelled in self.parts.items()}
        return {str(part): {"negative": self.size(part) - n, "positive": n} for part, n in positive.items()}

    def digests(self, order: Mapping[str, NDArray[np.int64]]) -> dict[str, str]:
        """Pairs and labels of each part, seen pairs, and the settings of the metrics."""
        user, item = (order.get(t) for t in self.target_types)
        places = [np.arange(n) if o is None else inverse(o) for n, o in zip(self.shape, (user, item), strict=True)]
        found = {"task": f"recommendation of {self.item} to {self.user}", "metric": f"{self.metric}, k = {self.k}"}
        found["exempt"] = ", ".join(self.exempt)
        for part, labelled in self.parts.items():
            left, right = labelled.pairs.left.numpy(force=True), labelled.pairs.right.numpy(force=True)
            codes = places[0][left] * np.int64(self.shape[1]) + places[1][right]
            by_code = np.argsort(codes)
            labels = labelled.labels.numpy(force=True)[by_code]
            found[f"split, {part}"] = f"{len(codes)} pairs #{fingerprint(codes[by_code], labels)}"
        users, items = self.seen.nonzero()
        codes = np.sort(places[0][users] * np.int64(self.shape[1]) + places[1][items])
        return found | {"seen": f"{len(codes)} pairs #{fingerprint(codes)}"}

    def permuted(self, orders: Mapping[str, NDArray[np.int64]]) -> Recommendation:
        """The same pairs of nodes in another order."""
        order = [orders.get(t, np.arange(n)) for t, n in zip(self.target_types, self.shape, strict=True)]
        places = [inverse(o) for o in order]
        parts: dict[Part, Labelled] = {}
        for part, labelled in self.parts.items():
            left, right = (rows.numpy(force=True) for rows in (labelled.pairs.left, labelled.pairs.right))
            pairs, by_pair = Pairs.build(np.stack([places[0][left], places[1][right]], axis=1), *self.shape)
            labels = labelled.labels.cpu()[torch.from_numpy(by_pair)]
            parts[part] = Labelled.of(pairs, labels).to(labelled.labels.device)
        return replace(self, parts=parts, seen=sp.csr_matrix(self.seen[order[0]][:, order[1]]))

    def export(self, tables: TablesOut) -> RecommendationSpec:
        """A row for each supervised pair, and columns of ratings and split."""
        name = tables.relation_with(self.user, self.item, np.stack(self.seen.nonzero()).astype(np.int64))
        seen, more = self.seen.nnz, [self.parts[part] for part in PARTS]
        rows: dict[str, Any] = {
            "rating": np.concatenate([np.ones(seen), *(p.labels.numpy(force=True) for p in more)]),
            "split": [None] * seen + [part for part in PARTS for _ in range(self.size(part))],
        }
        edges = [np.stack([p.pairs.left.numpy(force=True), p.pairs.right.numpy(force=True)]) for p in more]
        tables.add_edge_rows(name, rows, np.concatenate(edges, axis=1).astype(np.int64))
        return RecommendationSpec(
            name, "rating", liked=0.5, split="split", metric=self.metric, exempt=self.exempt, k=self.k
        )

    def with_other_test_labels(self) -> Recommendation:
        """The same task with the labels of all test pairs flipped."""
        test = self.parts["test"]
        return replace(self, parts={**self.parts, "test": Labelled.of(test.pairs, 1 - test.labels)})

    def __repr__(self) -> str:
        return f"Recommendation({self.describe()}; {self.shape[0]} users, {self.shape[1]} items)"

    def _positives(self, parts: tuple[Part, ...]) -> sp.csr_matrix:
        users, items = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for part in parts:
            labelled = self.parts[part]
            positive = labelled.labels.numpy(force=True) > 0
            users.append(labelled.pairs.left.numpy(force=True)[positive])
            items.append(labelled.pairs.right.numpy(force=True)[positive])
        rows, columns = np.concatenate(users), np.concatenate(items)
        return _marks(rows, columns, self.shape)


def _loss(labelled: Labelled, scores: Tensor) -> Tensor:
    return -(labelled.shares * F.logsigmoid(labelled.signs * scores)).sum()


def _marks(rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]) -> sp.csr_matrix:
    return sp.csr_matrix((np.ones(len(rows), np.int32), (rows, columns)), shape=shape)
