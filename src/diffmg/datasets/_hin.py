"""Reads the rating networks of the paper (Yelp, Amazon, Douban Movie): text files of edges and the authors' split."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from diffmg.datasets._base import Dataset, find_file
from diffmg.datasets._files import read_edges, read_npz
from diffmg.errors import DiffmgError
from diffmg.graph import HeteroGraph
from diffmg.schema import Relation
from diffmg.task import Part, Recommendation
from diffmg.train.problem import Problem

PARTS: tuple[Part, ...] = ("train", "val", "test")


@dataclass(frozen=True)
class EdgeFile:
    """A file whose first two columns are the nodes of an edge; it gives a relation and its reverse."""

    name: str
    first: str
    second: str
    relation: str
    """Name of the relation from the second column's type to the first's."""
    reverse: str
    delimiter: str = "\t"


class HinDataset(Dataset):
    """No features: every node has a learned vector. Only the observed half of the ratings above 3 are edges."""

    folder: str
    first_id: int
    num_nodes: ClassVar[dict[str, int]]
    user: str
    item: str
    observed: tuple[str, str]
    """Names of the relation from item to user and of its reverse."""
    friends: str | None = None
    """Name of the relation between users in `user_user.dat.gz`, made symmetric."""
    files: tuple[EdgeFile, ...]

    def load(self, *, root: Path | None = None, size: int | None = None, seed: int = 0) -> Problem:  # noqa: ARG002
        """Read the files and the authors' split."""
        if size is not None:
            raise DiffmgError(f"only made data sets have a size, but got {self.name}:{size}")
        keys = ["observed", *(f"{sign}_{p}" for sign in ("pos", "neg") for p in PARTS)]
        raw = read_npz(find_file(root, f"{self.folder}/split.npz"), keys)
        split = {key: raw[key].astype(np.int64) for key in keys}
        edges: dict[Relation, NDArray[np.int64]] = {}
        if self.friends is not None:
            links = self._read(root, "user_user.dat.gz", "\t")
            edges[Relation(self.user, self.friends, self.user)] = np.concatenate([links, links[::-1]], axis=1)
        edges |= _both(self.user, self.item, *self.observed, split["observed"].T)
        for f in self.files:
            edges |= _both(f.first, f.second, f.relation, f.reverse, self._read(root, f.name, f.delimiter))
        shape = (self.num_nodes[self.user], self.num_nodes[self.item])
        positives, negatives = ({p: split[f"{sign}_{p}"] for p in PARTS} for sign in ("pos", "neg"))
        task = Recommendation.build(self.user, self.item, shape, positives, negatives, seen=split["observed"])
        ids = {t: np.arange(n) + self.first_id for t, n in self.num_nodes.items()}
        return Problem(HeteroGraph.build(self.num_nodes, edges, ids=ids), task)

    def _read(self, root: Path | None, name: str, delimiter: str) -> NDArray[np.int64]:
        return read_edges(find_file(root, f"{self.folder}/{name}"), delimiter, self.first_id)


def _both(
    first: str, second: str, relation: str, reverse: str, columns: NDArray[np.int64]
) -> dict[Relation, NDArray[np.int64]]:
    return {Relation(second, relation, first): columns[::-1], Relation(first, reverse, second): columns}
