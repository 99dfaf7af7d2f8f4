"""ACM, DBLP and IMDB, the networks of Graph Transformer Networks (Yun et al. 2019): one `graph.npz` each."""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from diffmg.core import DiffmgError, Relation
from diffmg.datasets._base import DATASETS, Dataset, find_file, read_npz
from diffmg.graph.network import HeteroGraph
from diffmg.tasks import NodeClassification
from diffmg.tasks.problem import Problem


class GtnDataset(Dataset):
    """Bag-of-words features on every node, one labelled type, the original split."""

    folder: str
    relations: tuple[Relation, ...]
    """In the order of the original files."""
    target: str
    classes: tuple[str, ...]
    supposed_types: bool = False
    """Whether the file also has the node types assumed by DiffMG's code."""

    def load(self, *, root: Path | None = None, size: int | None = None, seed: int = 0) -> Problem:  # noqa: ARG002
        """Read the file; node ids are the original ones, numbered across all types."""
        if size is not None:
            raise DiffmgError(f"only made data sets have a size, but got {self.name}:{size}")
        data = read_npz(find_file(root, f"{self.folder}/graph.npz"), self._keys())
        names = [str(name) for name in data["node_type_names"]]
        ids = {name: np.flatnonzero(data["node_type"] == i) for i, name in enumerate(names)}
        local = np.zeros(int(data["num_nodes"]), np.int64)
        for members in ids.values():
            local[members] = np.arange(len(members))
        ones = np.ones(len(data["feat_indices"]), np.float32)
        words = sp.csr_matrix((ones, data["feat_indices"], data["feat_indptr"]), shape=tuple(data["feat_shape"]))
        graph = HeteroGraph.build(
            {name: len(members) for name, members in ids.items()},
            {r: local[np.stack([data[f"edge_{r.name}_col"], data[f"edge_{r.name}_row"]])] for r in self.relations},
            {name: words[members] for name, members in ids.items()},
            ids=ids,
        )
        labels = np.full(len(ids[self.target]), -1)
        parts = {}
        for part in ("train", "val", "test"):
            parts[part] = local[data[part][:, 0]]
            labels[parts[part]] = data[part][:, 1]
        return Problem(graph, NodeClassification.build(self.target, labels, **parts, classes=self.classes))

    def _keys(self) -> list[str]:
        edges = [f"edge_{r.name}_{end}" for r in self.relations for end in ("row", "col")]
        features = ["feat_indptr", "feat_indices", "feat_shape"]
        return ["num_nodes", "node_type", "node_type_names", "train", "val", "test", *features, *edges]


def _pairs(*pairs: str) -> tuple[Relation, ...]:
    """Relations and their reverses; `subject PS SP paper` is PS from subject to paper, and SP back."""
    ends = [pair.split() for pair in pairs]
    return tuple(r for a, there, back, b in ends for r in (Relation(a, there, b), Relation(b, back, a)))


@DATASETS.add("acm")
class Acm(GtnDataset):
    """Papers labelled by research area."""

    summary = "classify 3025 papers into 3 research areas; papers, authors, subjects"
    folder = "ACM"
    relations = _pairs("author PA AP paper", "subject PS SP paper")
    target = "paper"
    classes = ("0", "1", "2")


@DATASETS.add("dblp")
class Dblp(GtnDataset):
    """Authors labelled by research area; node types are those consistent with the edges."""

    summary = "classify 4057 authors into 4 research areas; papers, authors, conferences"
    folder = "DBLP"
    relations = _pairs("author PA AP paper", "conference PC CP paper")
    target = "author"
    classes = ("0", "1", "2", "3")
    supposed_types = True


@DATASETS.add("imdb")
class Imdb(GtnDataset):
    """Movies labelled by genre; 2939 of the 4661 movies carry a label."""

    summary = "classify movies into 3 genres; 4661 movies, directors, actors"
    folder = "IMDB"
    relations = _pairs("director MD DM movie", "actor MA AM movie")
    target = "movie"
    classes = ("0", "1", "2")
