"""A synthetic academic network: only the venues of an author's papers tell the author's field."""

from pathlib import Path
from typing import Any

import numpy as np

from diffmg.core import EMPTY, Link, MetaGraph, Relation
from diffmg.datasets._base import DATASETS, Dataset
from diffmg.datasets._made import (
    Distractors,
    Ints,
    both_ways,
    check_variant,
    counts,
    distractor_edges,
    hint,
    mislabelled,
    noise,
    numbered,
    pick_in_group,
)
from diffmg.graph.network import HeteroGraph
from diffmg.tasks import NodeClassification
from diffmg.tasks.problem import Problem

SIZE = 4000
FIELDS = 4
FEATURES = 16
PAPERS_PER_AUTHOR = 5
LOYALTY = 0.7
"""Share of an author's papers in the author's field; the others are random."""
SHARES = {"author": 0.3, "paper": 0.45, "venue": 0.05, "term": 0.12, "institution": 0.08}

PUBLISHES = Relation("venue", "publishes", "paper")
WRITTEN_BY = Relation("paper", "written_by", "author")
DISTRACTORS: Distractors = {
    (Relation("term", "mentioned_in", "paper"), "mentions"): 4,
    (Relation("term", "interests", "author"), "interested_in"): 3,
    (Relation("institution", "employs", "author"), "works_at"): 1,
    (Relation("paper", "cited_by", "paper"), "cites"): 3,
}
"""Uninformative relations with the name of their reverse: edges per target node."""


@DATASETS.add("academic")
class Academic(Dataset):
    """Five node types, twelve relations. Only venues have informative features, two relations away from the authors."""

    summary = "made: classify authors by field; planted path venue -> paper -> author, distractors around it"
    planted = (MetaGraph.of("author", {Link(1, 0): PUBLISHES, Link(2, 0): EMPTY, Link(2, 1): WRITTEN_BY}),)

    def load(self, *, root: Path | None = None, size: int | None = None, seed: int = 0) -> Problem:  # noqa: ARG002
        """Generate a network of about `size` nodes (default 4000)."""
        return make_academic(SIZE if size is None else size, seed)


def make_academic(size: int = SIZE, seed: int = 0, *, distractors: int = 1, label_noise: float = 0.0) -> Problem:
    """The network of about `size` nodes and its task.

    Harder variants have `distractors` times as many uninformative relations, and a share of `label_noise` wrong labels
    in training; all else is the same, and labels of validation and test stay right.
    """
    check_variant(distractors, label_noise)
    rng, extra = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    n = counts(size, SHARES, least=2 * FIELDS)
    venue_field = rng.permutation(np.arange(n["venue"]) % FIELDS)
    venue = rng.integers(0, n["venue"], n["paper"])
    field = rng.permutation(np.arange(n["author"]) % FIELDS)
    edges = {
        **both_ways(WRITTEN_BY, "writes", _written(rng, field, venue_field[venue])),
        **both_ways(PUBLISHES, "published_in", np.stack([venue, np.arange(n["paper"])])),
    }
    edges |= distractor_edges(rng, n, DISTRACTORS)
    for number in range(2, distractors + 1):
        edges |= distractor_edges(extra, n, numbered(DISTRACTORS, number))
    features = {t: noise(rng, n[t], FEATURES) for t in n if t != "venue"}
    features["venue"] = hint(rng, venue_field, FEATURES, strength=1.0)
    order = rng.permutation(n["author"])
    train, val = int(0.3 * len(order)), int(0.5 * len(order))
    parts: dict[str, Any] = {"train": order[:train], "val": order[train:val], "test": order[val:]}
    labels = mislabelled(extra, field, parts["train"], FIELDS, label_noise)
    classes = [f"field {i}" for i in range(FIELDS)]
    task = NodeClassification.build("author", labels, **parts, classes=classes)
    return Problem(HeteroGraph.build(n, edges, features), task)


def _written(rng: np.random.Generator, field: Ints, paper_field: Ints) -> Ints:
    """Papers and their authors: mostly of the author's field."""
    writer = np.repeat(np.arange(len(field)), PAPERS_PER_AUTHOR)
    loyal = pick_in_group(rng, field[writer], paper_field)
    stray = rng.integers(0, len(paper_field), len(writer))
    return np.stack([np.where(rng.random(len(writer)) < LOYALTY, loyal, stray), writer])
