"""How interactions of users and items are read from tables, and held out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from diffmg.core import PARTS, TASKS, Bounds, Count, DiffmgError, TaskSpec
from diffmg.core.arrow import numbers
from diffmg.core.options import Share
from diffmg.core.task import Reading
from diffmg.tasks.holding_out import after, at_random, back_to_training, moment_of, moments, the_last
from diffmg.tasks.interactions import Contrast, Objective
from diffmg.tasks.labels import Shares, split_numbers
from diffmg.tasks.pairs import means

if TYPE_CHECKING:
    from diffmg.tables.description import Description
    from diffmg.tables.network import Network

Ints = NDArray[np.int64]
NEGATIVES = {"bpr": 1, "softmax": 32}
"""Items drawn against each liked one, where the description does not say how many."""
PAIR_METRICS = ("auc", "average_precision")
"""Metrics of another task on the same relation, which scores labelled pairs."""
SEEN = -1
"""The part of what is only an edge."""


@dataclass(frozen=True)
class RankingSpec(TaskSpec):
    """Rank the targets of a relation for its sources; what is not held out stays in the network."""

    relation: str
    """Name of the relation whose source is the user and whose target is the item."""
    rating: str | None = None
    """Column of ratings; without it every row counts as liked."""
    liked: float | None = None
    """Ratings of so much or more were liked; the mean rating where it is not given."""
    split: str | None = None
    """Column of train, val and test, empty for pairs that are only edges; drawn where there is none."""
    time: str | None = None
    """Column of times: the last two interactions of each user are held out, or those after `dates`."""
    dates: tuple[str, ...] = ()
    """Two dates: validation begins with the first, the test part with the second."""
    shares: Shares = (0.8, 0.1, 0.1)
    """Shares of each user's interactions that are for training, validation and test, where the split is random."""
    seed: Annotated[int, Bounds(0)] = 0
    """Draws a random split, by id: the order of rows does not matter."""
    metric: str = "ndcg"
    k: Count = 20
    """Length of the list that is judged."""
    loss: Objective = "bpr"
    """A liked item against others one by one, or against all that were drawn together (`softmax`)."""
    negatives: Count | None = None
    """Items drawn against each liked one, in every epoch; 1 for `bpr`, 32 for `softmax`."""
    hard_negatives: Share = 0.0
    """Share of them that are items the user disliked."""
    exempt: tuple[str, ...] = ()
    """Other relations from users to items that are known before a pair is decided, so that they may link it."""

    def rules(self) -> dict[str, bool]:
        """A split is said in one way."""
        return {
            "split is None or time is None": self.split is None or self.time is None,
            "dates are none or two": len(self.dates) in (0, 2),
            "dates need time": not self.dates or self.time is not None,
        }

    @classmethod
    def matches(cls, given: Mapping[str, Any]) -> bool:
        """It names a relation, and no metric of labelled pairs."""
        return "relation" in given and given.get("metric") not in PAIR_METRICS

    def check(self, description: Description) -> None:
        """The relation must be described."""
        description.relation_table(self.relation)

    def columns(self, description: Description) -> dict[str, set[str]]:
        """Ratings, split and times."""
        names = {name for name in (self.rating, self.split, self.time) if name}
        return {description.relation_table(self.relation): names}

    def read(self, tables: Network) -> Reading:
        """Interactions and their split; of a pair that is rated more than once the mean counts, and its first time."""
        relation, index = tables.edges(self.relation)
        if not index.shape[1]:
            raise DiffmgError(f"the relation of the task must have edges, but got none in {self.relation!r}")
        shape = (tables.count(relation.source), tables.count(relation.target))
        stars, usable, notes = self._stars(tables, index.shape[1])
        rows = _Rows.build(index.T, stars, usable, shape)
        pairs, liked = rows.pairs, self._liked(rows.ratings, notes)
        part = self._part(tables, rows, liked, notes)
        numbered = list(enumerate(PARTS))
        task = TASKS.get("ranking").build(  # type: ignore[attr-defined]  # by name: the task has this spec
            relation.source,
            relation.target,
            shape,
            {name: pairs[liked & (part == number)] for number, name in numbered},
            disliked={name: pairs[~liked & (part == number)] for number, name in numbered},
            seen=pairs[liked & (part == SEEN)],
            informed=_informed(tables, relation.source, self.relation),
            exempt=tuple(name for given in self.exempt for name in (given, f"rev_{given}")),
            metric=self.metric,
            k=self.k,
            contrast=Contrast(self.loss, self.negatives or NEGATIVES[self.loss], self.hard_negatives),
        )
        edges = _codes(pairs[liked & (part <= 0)], shape)
        kept = usable & np.isin(_codes(index.T, shape), edges)
        return Reading(task, {self.relation: kept}, tuple(notes))

    def lines(self) -> list[str]:
        """What is ranked, and how it is split."""
        least = "the mean" if self.liked is None else f"{self.liked:g}"
        rating = f", liked by {self.rating} of {least} or more" if self.rating else ""
        split = f"random split {' / '.join(f'{s:g}' for s in self.shares)} of each user's, seed {self.seed}"
        if self.split:
            split = f"split from column {self.split}"
        elif self.time:
            split = f"by {self.time}, " + (
                f"held out from {' and '.join(self.dates)}" if self.dates else "the last two"
            )
        return [f"task: rank the targets of {self.relation}{rating}; {split}; chosen by {self.metric} of {self.k}"]

    def _stars(self, tables: Network, count: int) -> tuple[NDArray[np.float64], NDArray[np.bool_], list[str]]:
        """The rating of each row, the rows that can be used, and notes on the others."""
        stars, usable, notes = np.full(count, np.inf), np.ones(count, bool), []
        if self.rating is not None:
            stars = numbers(tables.edge_column(self.relation, self.rating), f"ratings of relation {self.relation!r}")
            usable = ~np.isnan(stars)
            if not usable.all():
                notes.append(f"relation {self.relation}: {int((~usable).sum())} rows without a rating, left out")
        if self.time is not None:
            timed = ~np.isnan(self._times(tables))
            if not timed.all():
                notes.append(f"relation {self.relation}: {int((~timed).sum())} rows without a time, left out")
            usable &= timed
        return stars, usable, notes

    def _times(self, tables: Network) -> NDArray[np.float64]:
        values = tables.edge_column(self.relation, str(self.time))
        return moments(values, f"the times {self.time!r} of relation {self.relation!r}")

    def _liked(self, ratings: NDArray[np.float64], notes: list[str]) -> NDArray[np.bool_]:
        if self.rating is None:
            return np.ones(len(ratings), bool)
        least = self.liked
        if least is None:
            least = float(ratings.mean()) if len(ratings) else 0.0
            notes.append(f"ratings of {least:.4g} or more, the mean, count as liked; `liked` sets another limit")
        return ratings >= least

    def _part(self, tables: Network, rows: _Rows, liked: NDArray[np.bool_], notes: list[str]) -> Ints:
        """The number of each pair's part."""
        if self.split is not None:
            return self._by_column(tables, rows)
        if self.time is None:
            return self._at_random(rows.pairs, liked, notes)
        when = np.full(len(rows.pairs), np.inf)
        np.minimum.at(when, rows.place, self._times(tables)[rows.usable])
        if not self.dates:
            few = int((np.bincount(rows.pairs[liked, 0]) < 3).sum())
            notes.append(f"the last two interactions of each user are held out; {few} users have fewer than three")
            return the_last(rows.pairs[:, 0], when, liked)
        values = tables.edge_column(self.relation, self.time)
        cuts = [moment_of(date, values, f"column {self.time!r}") for date in self.dates]
        return after(when, (cuts[0], cuts[1]))

    def _at_random(self, pairs: Ints, liked: NDArray[np.bool_], notes: list[str]) -> Ints:
        part = np.empty(len(pairs), np.int64)
        for number, which in enumerate((liked, ~liked)):
            part[which] = at_random(pairs[which, 0], self.shares, self.seed + number * 2**31)
        single = int((np.bincount(pairs[liked, 0]) == 1).sum())
        if single:
            notes.append(f"{single} users with a single interaction are not judged: it stays in training")
        before, own = part[liked], pairs[liked]
        part[liked] = back_to_training(before, own[:, 1])
        moved = int((part[liked] != before).sum())
        if moved:
            notes.append(f"{moved} interactions stay in training, since nothing else is known of their items")
        return part

    def _by_column(self, tables: Network, rows: _Rows) -> Ints:
        what = f"the split column {self.split!r} of relation {self.relation!r}"
        given = tables.edge_column(self.relation, str(self.split)).filter(pa.array(rows.usable))
        by_row = np.full(len(rows.place), SEEN)
        for number, found in enumerate(split_numbers(given, what).values()):
            by_row[found] = number
        part = np.full(len(rows.pairs), SEEN)
        part[rows.place] = by_row
        mixed = int((part[rows.place] != by_row).sum())
        if mixed:
            raise DiffmgError(f"{what} must put a pair into one part, but got {mixed} rows that repeat one in another")
        return part


@dataclass(frozen=True)
class _Rows:
    """Rows of a relation's table, and each of their pairs once, by user and item."""

    usable: NDArray[np.bool_]
    """The rows that count; `place` is for these alone."""
    pairs: Ints
    ratings: NDArray[np.float64]
    """For each pair, the mean of its ratings."""
    place: Ints
    """For each row, the place of its pair."""

    @classmethod
    def build(cls, rows: Ints, stars: NDArray[np.float64], usable: NDArray[np.bool_], shape: tuple[int, int]) -> _Rows:
        """From rows (user, item) with their ratings."""
        _, place = np.unique(_codes(rows[usable], shape), return_inverse=True)
        pairs, ratings = means(rows[usable], stars[usable], shape)
        order = np.lexsort(pairs.T[::-1])
        return cls(usable, pairs[order], ratings[order], place)


def _codes(pairs: Ints, shape: tuple[int, int]) -> Ints:
    return pairs[:, 0] * np.int64(shape[1]) + pairs[:, 1]


def _informed(tables: Network, user: str, relation: str) -> NDArray[np.bool_]:
    """Users with features, or with an edge of another relation."""
    found = np.full(tables.count(user), user in tables.features)
    for name, edges in tables.found.items():
        if name != relation:
            ends = (edges.relation.source, edges.relation.target)
            for end, index in zip(ends, edges.index, strict=True):
                if end == user:
                    found[index] = True
    return found
