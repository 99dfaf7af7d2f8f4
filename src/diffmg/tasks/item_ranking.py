"""Rank the items of one type for each node of another: what should be shown to whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from diffmg.core import PARTS, TASKS, DiffmgError, Part, unknown
from diffmg.core.details import Details
from diffmg.core.task import RESAMPLES, error_of_share
from diffmg.graph.fingerprint import fingerprint
from diffmg.graph.network import HeteroGraph
from diffmg.tasks.answers import inverse
from diffmg.tasks.interactions import Contrast, Interactions, Ints
from diffmg.tasks.item_ranking_spec import RankingSpec
from diffmg.tasks.pair_details import ranking_details, resampled_users
from diffmg.tasks.pairs import checked_pairs
from diffmg.tasks.ranks import SCORES, Wanted, reach, score
from diffmg.tasks.resampling import Resampled
from diffmg.tasks.top_items import Scorer
from diffmg.tasks.two_ends import PairTask, check_counts, check_no_edges, marks

if TYPE_CHECKING:
    from diffmg.tables.export import TablesOut

Rows = Mapping[Part, tuple[Ints, Ints]]
"""Per part, liked and disliked pairs (user, item)."""


@TASKS.add("ranking")
@dataclass(frozen=True, repr=False)
class ItemRanking(PairTask):
    """Two towers: items are ranked by the dot product of the user's and the item's representation.

    Training interactions are edges of the network, and what a model is trained on; those of validation and test are
    neither. Users about whom nothing is known get the items that most users chose.
    """

    user: str
    item: str
    shape: tuple[int, int]
    parts: Mapping[Part, Interactions]
    seen: sp.csr_matrix
    """Marks (users, items) of what was chosen before any part: known, but not trained on."""
    popular: Tensor
    """For each item, the logarithm of one plus the number of users who are known to have chosen it."""
    cold: Tensor | None
    """Marks the users about whom nothing is known; None where there are none."""
    exempt: tuple[str, ...] = ()
    """Names of relations that may link a held-out pair, since they are known before it is decided."""
    metric: str = "ndcg"
    k: int = 20
    """Length of the list that ndcg, recall and the hit rate look at."""
    contrast: Contrast = field(default_factory=Contrast)

    kind: ClassVar = "ranking"
    summary: ClassVar = "rank items for users by what they chose before; judged on the first k of all items"
    metrics: ClassVar = dict.fromkeys(SCORES, "max")
    verb: ClassVar = "recommend"
    rivals: ClassVar = ("popularity", "item_knn")
    estimator: ClassVar = "MetaGraphRecommender"
    spec: ClassVar = RankingSpec

    @classmethod
    def build(
        cls,
        user: str,
        item: str,
        shape: tuple[int, int],
        liked: Mapping[Part, ArrayLike],
        *,
        disliked: Mapping[Part, ArrayLike] | None = None,
        seen: ArrayLike | None = None,
        informed: NDArray[np.bool_] | None = None,
        exempt: tuple[str, ...] = (),
        metric: str = "ndcg",
        k: int = 20,
        contrast: Contrast | None = None,
    ) -> ItemRanking:
        """Build from rows (user, item) per part; `shape` is the number of users and of items.

        `informed` marks users whom the network knows by more than what they chose: their features, their friends.
        """
        if metric not in cls.metrics:
            raise unknown("metric", metric, cls.metrics)
        if k < 1:
            raise DiffmgError(f"`k >= 1` must hold, but got k={k}")
        if user == item:
            raise DiffmgError(f"users and items must be of two node types, but got {user!r} for both")
        empty = np.empty((0, 2), np.int64)
        given = (liked, disliked or {})
        rows: Rows = {p: tuple(checked_pairs(g.get(p, empty), shape, p) for g in given) for p in PARTS}  # type: ignore[misc]
        known = empty if seen is None else checked_pairs(seen, shape, "seen")
        _check(rows, known)
        before = marks(known, shape)
        chosen = sp.csr_matrix(before + marks(rows["train"][0], shape))
        silent = np.diff(chosen.indptr) == 0 if informed is None else (np.diff(chosen.indptr) == 0) & ~informed
        counts = np.asarray(chosen.sum(axis=0), np.float64).ravel()
        return cls(
            user,
            item,
            shape,
            _parts(rows, before),
            before,
            torch.from_numpy(np.log1p(counts)).float(),
            torch.from_numpy(silent) if silent.any() else None,
            exempt,
            metric,
            k,
            contrast or Contrast(),
        )

    def size(self, part: Part) -> int:
        """Liked pairs of a part."""
        return len(self.parts[part].pairs.left)

    def standard_error(self, score: float) -> float:
        """Scores are means over users; an ensemble is chosen by those that vote."""
        return error_of_share(score, len(self.parts["val"].voters.users))

    def check(self, graph: HeteroGraph) -> None:
        """Both types must exist, and no held-out pair may be an edge, in either direction."""
        check_counts(graph, self.target_types, self.shape)
        held_out = [p.rows()[0] for name, p in self.parts.items() if name != "train"]
        rows = np.concatenate([np.empty((0, 2), np.int64), *held_out])
        check_no_edges(graph, self.target_types, (rows[:, 0], rows[:, 1]), self.exempt)

    def to(self, device: torch.device | str) -> ItemRanking:
        """The same task with its tensors on another device."""
        parts = {p: part.to(device) for p, part in self.parts.items()}
        cold = None if self.cold is None else self.cold.to(device)
        return replace(self, parts=parts, popular=self.popular.to(device), cold=cold)

    def loss(self, outputs: tuple[Tensor, ...], part: Part) -> Tensor:
        """The loss against items that are drawn once and for all."""
        epoch = torch.zeros(1, dtype=torch.int64, device=outputs[0].device)
        return self.parts[part].loss(outputs, self.contrast, epoch, 0)

    def training_loss(self, outputs: tuple[Tensor, ...], epoch: Tensor, seed: int) -> Tensor:
        """The loss against items that are drawn anew in every epoch."""
        return self.parts["train"].loss(outputs, self.contrast, epoch + 1, seed)

    def scores(self, outputs: tuple[Tensor, ...], part: Part) -> dict[str, Tensor]:
        """All scores, over the users who liked something in the part."""
        wanted = self.parts[part].wanted
        if not len(wanted.users):
            return {}
        ranks = self.ranks(outputs, wanted)
        return {name: score(name, wanted, ranks, self.k) for name in SCORES}

    def evaluate(self, outputs: tuple[Tensor, ...], part: Part) -> tuple[Tensor, Tensor]:
        """The loss and the selection metric."""
        return self.loss(outputs, part), self._judged(outputs, self.parts[part].wanted)

    def follow(self, outputs: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """The same on validation, for some of the users where there are many."""
        return self.loss(outputs, "val"), self._judged(outputs, self.parts["val"].watched)

    def _judged(self, outputs: tuple[Tensor, ...], wanted: Wanted) -> Tensor:
        ranks = self.ranks([z.detach() for z in outputs], wanted, reach(self.metric, self.k))
        return score(self.metric, wanted, ranks, self.k)

    def final_scores(self, outputs: tuple[Tensor, ...], part: Part) -> dict[str, Tensor]:
        """Also what the most popular items score, and the share of items that are among the first k of some user."""
        found, wanted = self.scores(outputs, part), self.parts[part].wanted
        if not found:
            return found
        ones = torch.ones(self.shape[0], 1, device=self.popular.device)
        popular = score(self.metric, wanted, self.ranks((ones, self.popular.unsqueeze(1)), wanted), self.k)
        hidden = self.known(PARTS[: PARTS.index(part)])
        shown = self.top(outputs, np.arange(self.shape[0]), self.k, hidden)[0]
        coverage = torch.tensor(len(np.unique(shown)) / self.shape[1], dtype=torch.float64)
        return found | {f"popularity_{self.metric}": popular, "coverage": coverage}

    def details(self, outputs: tuple[Tensor, ...], part: Part, graph: HeteroGraph) -> Details | None:
        """Scores of longer and shorter lists, and examples of recommendations."""
        return ranking_details(self, outputs, part, graph)

    def resampled(self, outputs: tuple[Tensor, ...], part: Part) -> Resampled | None:
        """Users are drawn, from all of the part, whether they vote or not."""
        wanted = self.parts[part].wanted
        return resampled_users(self, wanted, self.ranks(outputs, wanted), RESAMPLES)

    def votes(self, outputs: tuple[Tensor, ...], part: Part) -> Tensor:
        """Scores of all items, a row for each user that votes."""
        voters = self.parts[part].voters
        scored = self.scorer(outputs)
        blocks = [scored(voters.users[slice(*block.users)], slice(None)) for block in voters.blocks]
        return torch.cat([outputs[0].new_empty(0, self.shape[1]), *blocks])

    def score_votes(self, votes: Tensor, part: Part) -> Tensor:
        """The selection metric of summed scores, over the users that vote."""
        voters = self.parts[part].voters
        return score(self.metric, voters, _vote_ranks(voters, votes, reach(self.metric, self.k)), self.k)

    def resample_votes(self, votes: Tensor, part: Part, most: int = RESAMPLES) -> Resampled | None:
        """Users are drawn, from those that vote."""
        voters = self.parts[part].voters
        return resampled_users(self, voters, _vote_ranks(voters, votes), most)

    def judged(self, part: Part) -> tuple[Tensor | None, ...]:
        """The users that vote, and every item."""
        return self.parts[part].voters.users, None

    def answer_of(self, outputs: tuple[Tensor, ...], nodes: tuple[int, ...]) -> tuple[Tensor, str]:
        """The score of the pair; users about whom nothing is known get what is popular, whatever it is."""
        score, words = super().answer_of(outputs, nodes)
        cold = self.cold is not None and bool(self.cold[nodes[0]])
        return score, f"{words}, not used: nothing is known of the {self.user}" if cold else words

    def vote_scale(self, votes: Tensor) -> float:
        """One over the standard deviation of a user's scores: what all its items have in common does not rank them."""
        centred = votes - votes.mean(dim=1, keepdim=True)
        return 1 / max(float(centred.square().mean().sqrt()), 1e-12)

    def dealt(self, votes: Tensor, draw: torch.Generator) -> Tensor:
        """A random ranking for every user."""
        return torch.rand(votes.shape, generator=draw)

    def blend(self, outputs: Sequence[tuple[Tensor, ...]], weights: Sequence[float]) -> tuple[Tensor, ...]:
        """A weighted sum of dot products is the dot product of the vectors side by side, one end weighted."""
        users = [w * z[0] for w, z in zip(weights, outputs, strict=True)]
        return torch.cat(users, dim=1), torch.cat([z[1] for z in outputs], dim=1)

    def joined(self, *, test: bool = False) -> ItemRanking:
        """Training on the interactions of validation too, and on those of the test part."""
        kept = [self.parts[part].rows() for part in (PARTS if test else PARTS[:2])]
        liked, disliked = (np.concatenate(several) for several in zip(*kept, strict=True))
        train = Interactions.build(liked, disliked, self.seen).to(self.popular.device)
        return replace(self, parts={**self.parts, "train": train})

    def known(self, parts: tuple[Part, ...] = PARTS, *, liked: bool = True) -> sp.csr_matrix:
        """Marks (users, items) of what is known before and in these parts; without `liked`, of the disliked alone."""
        found = self.seen if liked else sp.csr_matrix(self.shape, dtype=np.int32)
        for part in parts:
            own, low = self.parts[part].rows()
            found = found + marks(low, self.shape) + (marks(own, self.shape) if liked else 0 * found)
        return sp.csr_matrix(found)

    def hidden(self, *, exclude_seen: bool) -> sp.csr_matrix:
        """What the user disliked, and what it chose in any part, if that is to be left out.

        A person is not shown what was bought last week for a test.
        """
        return self.known(liked=exclude_seen)

    def scorer(self, outputs: Sequence[Tensor], items: Tensor | None = None) -> Scorer:
        """Scores of pairs; for users about whom nothing is known, how popular the items are."""
        scored, cold = super().scorer(outputs, items), self.cold
        if cold is None:
            return scored
        popular = self.popular if items is None else self.popular[items]
        return lambda users, some: torch.where(cold[users].unsqueeze(1), popular[some], scored(users, some))

    def counts(self) -> dict[str, dict[str, int]]:
        """Liked and disliked pairs, by part; without the latter where nobody disliked anything."""
        low = {part: len(p.disliked) for part, p in self.parts.items()}
        rated = any(low.values())
        return {str(p): {"liked": self.size(p)} | ({"disliked": low[p]} if rated else {}) for p in self.parts}

    def digests(self, order: Mapping[str, NDArray[np.int64]]) -> dict[str, str]:
        """Pairs of each part, seen pairs, and the settings of loss and metric."""
        orders = [order.get(t) for t in self.target_types]
        places = [np.arange(n) if o is None else inverse(o) for n, o in zip(self.shape, orders, strict=True)]

        def digest(rows: Ints) -> str:
            codes = np.sort(places[0][rows[:, 0]] * np.int64(self.shape[1]) + places[1][rows[:, 1]])
            return f"{len(codes)} pairs #{fingerprint(codes)}"

        found = {"task": f"ranking of {self.item} for {self.user}", "metric": f"{self.metric}, k = {self.k}"}
        found |= {"exempt": ", ".join(self.exempt), "loss": str(self.contrast)}
        for part, interactions in self.parts.items():
            liked, disliked = interactions.rows()
            found |= {f"split, {part}": digest(liked), f"disliked, {part}": digest(disliked)}
        return found | {"seen": digest(np.stack(self.seen.nonzero(), axis=1))}

    def permuted(self, orders: Mapping[str, NDArray[np.int64]]) -> ItemRanking:
        """The same pairs of nodes in another order."""
        order = [orders.get(t, np.arange(n)) for t, n in zip(self.target_types, self.shape, strict=True)]
        places, device = [inverse(o) for o in order], self.popular.device
        rows: dict[Part, Any] = {
            part: tuple(np.stack([places[0][r[:, 0]], places[1][r[:, 1]]], axis=1) for r in p.rows())
            for part, p in self.parts.items()
        }
        seen = sp.csr_matrix(self.seen[order[0]][:, order[1]])
        parts = {part: p.to(device) for part, p in _parts(rows, seen).items()}
        users, items = (torch.from_numpy(o).to(device) for o in order)
        cold = None if self.cold is None else self.cold[users]
        return replace(self, parts=parts, seen=seen, popular=self.popular[items], cold=cold)

    def export(self, tables: TablesOut) -> RankingSpec:
        """A row for each interaction, with columns of ratings and split."""
        rows = {part: p.rows() for part, p in self.parts.items()}
        seen = np.stack(self.seen.nonzero(), axis=1).astype(np.int64)
        name = tables.relation_with(self.user, self.item, np.concatenate([seen, rows["train"][0]]).T)
        edges = tables.graph.edge_index(tables.named[name])
        trained = marks(rows["train"][0], self.shape)[edges[0], edges[1]]
        split = ["train" if t else None for t in np.asarray(trained).ravel()]
        held_out = [(rows[p][0], p, 1.0) for p in PARTS[1:]] + [(rows[p][1], p, 0.0) for p in PARTS]
        rating = np.concatenate([np.ones(len(split)), *(np.full(len(r), liked) for r, _, liked in held_out)])
        split += [part for r, part, _ in held_out for _ in range(len(r))]
        tables.add_edge_rows(
            name, {"rating": rating.tolist(), "split": split}, np.concatenate([r for r, _, _ in held_out]).T
        )
        c, own = self.contrast, {"metric": self.metric, "exempt": self.exempt, "k": self.k}
        more = {"loss": c.objective, "negatives": c.negatives, "hard_negatives": c.hard}
        return RankingSpec(name, "rating", 0.5, "split", **own, **more)  # type: ignore[arg-type]

    def with_other_test_labels(self) -> ItemRanking:
        """The same task with other items for the users of the test part."""
        test = self.parts["test"]
        users = test.pairs.left.long()
        drawn = test.negatives.draw(users, torch.zeros(1, dtype=torch.int64, device=users.device), 1)
        rows = np.unique(torch.stack([users, drawn], dim=1).numpy(force=True), axis=0)
        other = Interactions.build(rows, test.rows()[1], self.known(PARTS[:2])).to(users.device)
        return replace(self, parts={**self.parts, "test": other})

    def describe(self) -> str:
        """A one-line summary of the task."""
        return f"{super().describe()} of the first {self.k}" if self.metric != "mrr" else super().describe()

    def __repr__(self) -> str:
        return f"ItemRanking({self.describe()}; {self.shape[0]} users, {self.shape[1]} items)"

    def ranks(self, outputs: Sequence[Tensor], wanted: Wanted, within: int | None = None) -> Tensor:
        """The places of wanted items; with `within`, only those before it are exact."""
        scored = self.scorer(outputs)
        return wanted.ranks(lambda first, last: scored(wanted.users[first:last], slice(None)), within)


def _vote_ranks(voters: Wanted, votes: Tensor, within: int | None = None) -> Tensor:
    return voters.ranks(lambda first, last: votes[first:last].clone(), within)


def _parts(rows: Rows, seen: sp.csr_matrix) -> dict[Part, Interactions]:
    """Each part with what is known before it."""
    found, known = {}, seen
    for part in PARTS:
        found[part] = Interactions.build(*rows[part], known)
        known = sp.csr_matrix(known + marks(rows[part][0], seen.shape) + marks(rows[part][1], seen.shape))
    return found


def _check(rows: Rows, seen: Ints) -> None:
    """Training and validation have something that was liked, and no pair occurs twice."""
    for part in PARTS[:2]:
        if not len(rows[part][0]):
            raise DiffmgError(
                f"{part} needs interactions that were liked, but got {len(rows[part][0])}; "
                "hold out more of them, or lower `liked`"
            )
    everything = np.concatenate([seen, *(r for part in PARTS for r in rows[part])])
    twice = len(everything) - len(np.unique(everything, axis=0))
    if twice:
        raise DiffmgError(f"an interaction is in one part, liked or disliked, but got {twice} more than once")
