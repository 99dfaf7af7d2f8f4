"""Yelp, Amazon and Douban Movie, the rating networks of the paper: edges as text files, and a split of the ratings."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from diffmg.core import PARTS, DiffmgError, Relation
from diffmg.datasets._base import DATASETS, Dataset, find_file, read_columns, read_npz
from diffmg.datasets._made import both_ways
from diffmg.graph.network import HeteroGraph
from diffmg.tasks.problem import Problem
from diffmg.tasks.ratings import Ratings, fresh_split
from diffmg.tasks.recommendation import Recommendation


@dataclass(frozen=True)
class EdgeFile:
    """A file whose first two columns are the ends of an edge; defines a relation and its reverse."""

    name: str
    first: str
    second: str
    relation: str
    """Name of the relation from the second column's type to the first's."""
    reverse: str
    delimiter: str = "\t"


class HinDataset(Dataset):
    """No features: nodes have learned embeddings. Only the observed half of the ratings above 3 become edges."""

    folder: str
    first_id: int
    num_nodes: ClassVar[dict[str, int]]
    user: str
    item: str
    ratings: str
    """Tab-separated file of user, item and rating."""
    seeds: tuple[int, int]
    """The authors' split seeds for positive and negative pairs."""
    observed: tuple[str, str]
    """Names of the relation from item to user and of its reverse."""
    friends: str | None = None
    """Name of the relation between users in `user_user.dat.gz`, made symmetric."""
    files: tuple[EdgeFile, ...]

    def __init__(self, name: str, split_seed: int | None = None) -> None:
        super().__init__(name)
        self.split_seed = split_seed

    def with_split(self, seed: int) -> Self:
        """A copy with a new random split by the paper's protocol."""
        if seed < 0:
            raise DiffmgError(f"`split_seed >= 0` must hold, but got {seed}")
        return type(self)(self.name, seed)

    def load(self, *, root: Path | None = None, size: int | None = None, seed: int = 0) -> Problem:  # noqa: ARG002
        """Read the files, and the authors' split unless a new one was requested."""
        if size is not None:
            raise DiffmgError(f"only made data sets have a size, but got {self.name}:{size}")
        split = self._split(root)
        edges: dict[Relation, NDArray[np.int64]] = {}
        if self.friends is not None:
            links = self._read(root, "user_user.dat.gz", "\t")
            edges[Relation(self.user, self.friends, self.user)] = np.concatenate([links, links[::-1]], axis=1)
        forth, back = self.observed
        edges |= both_ways(Relation(self.item, forth, self.user), back, split["observed"].T[::-1])
        for f in self.files:
            links = self._read(root, f.name, f.delimiter)
            edges |= both_ways(Relation(f.second, f.relation, f.first), f.reverse, links[::-1])
        positives, negatives = ({p: split[f"{sign}_{p}"] for p in PARTS} for sign in ("pos", "neg"))
        task = Recommendation.build(self.user, self.item, self.shape, positives, negatives, seen=split["observed"])
        ids = {t: np.arange(n) + self.first_id for t, n in self.num_nodes.items()}
        return Problem(HeteroGraph.build(self.num_nodes, edges, ids=ids), task)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and of items."""
        return (self.num_nodes[self.user], self.num_nodes[self.item])

    def _split(self, root: Path | None) -> dict[str, NDArray[np.int64]]:
        keys = ["observed", *(f"{sign}_{p}" for sign in ("pos", "neg") for p in PARTS)]
        if self.split_seed is None:
            arrays = read_npz(find_file(root, f"{self.folder}/split.npz"), keys)
        else:
            arrays = fresh_split(self.read_ratings(find_file(root, f"{self.folder}/{self.ratings}")), self.split_seed)
        return {key: arrays[key].astype(np.int64) for key in keys}

    def read_ratings(self, path: Path) -> Ratings:
        """Read a file of ratings; users and items are numbered from 0."""
        users, items, stars = read_columns(path, "\t", 3)
        return Ratings.build(np.stack([users, items], axis=1) - self.first_id, stars, self.shape)

    def _read(self, root: Path | None, name: str, delimiter: str) -> NDArray[np.int64]:
        return read_columns(find_file(root, f"{self.folder}/{name}"), delimiter, 2) - self.first_id


@DATASETS.add("amazon")
class Amazon(HinDataset):
    """Users rate items; items have a brand, categories and views."""

    summary = "recommend 2753 items to 6170 users; brands, categories, views"
    folder = "Amazon"
    first_id = 0
    num_nodes: ClassVar = {"user": 6170, "item": 2753, "brand": 334, "category": 22, "view": 3857}
    user, item = "user", "item"
    ratings, seeds = "user_item.dat.gz", (3, 4)
    observed = ("UI", "IU")
    files = (
        EdgeFile("item_brand.dat.gz", "item", "brand", "IB", "BI", ","),
        EdgeFile("item_category.dat.gz", "item", "category", "IC", "CI", ","),
        EdgeFile("item_view.dat.gz", "item", "view", "IV", "VI", ","),
    )


@DATASETS.add("douban")
class Douban(HinDataset):
    """Users rate movies, befriend users and join groups; movies have actors, a director and types."""

    summary = "recommend 12677 movies to 13367 users; friends, groups, actors, directors, types"
    folder = "Douban_Movie"
    first_id = 1
    num_nodes: ClassVar = {"user": 13367, "movie": 12677, "group": 2753, "actor": 6311, "director": 2449, "type": 38}
    user, item = "user", "movie"
    ratings, seeds = "user_movie.dat.gz", (5, 6)
    observed = ("UM", "MU")
    friends = "UU"
    files = (
        EdgeFile("user_group.dat.gz", "user", "group", "UG", "GU"),
        EdgeFile("movie_actor.dat.gz", "movie", "actor", "MA", "AM"),
        EdgeFile("movie_director.dat.gz", "movie", "director", "MD", "DM"),
        EdgeFile("movie_type.dat.gz", "movie", "type", "MT", "TM"),
    )


@DATASETS.add("yelp")
class Yelp(HinDataset):
    """Users rate businesses, befriend users and pay compliments; businesses have categories and a city."""

    summary = "recommend 14284 businesses to 16239 users; friends, compliments, categories, cities"
    folder = "Yelp"
    first_id = 1
    num_nodes: ClassVar = {"user": 16239, "business": 14284, "compliment": 11, "category": 511, "city": 47}
    user, item = "user", "business"
    ratings, seeds = "user_business.dat.gz", (1, 2)
    observed = ("UB", "BU")
    friends = "UU"
    files = (
        EdgeFile("user_compliment.dat.gz", "user", "compliment", "UCo", "CoU"),
        EdgeFile("business_category.dat.gz", "business", "category", "BCa", "CaB"),
        EdgeFile("business_city.dat.gz", "business", "city", "BC", "CB"),
    )
