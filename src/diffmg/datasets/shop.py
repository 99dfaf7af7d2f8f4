"""A synthetic shop: users choose items whose brand has their style; nothing else is informative."""

from pathlib import Path

import numpy as np

from diffmg.core import EMPTY, IDENTITY, Link, MetaGraph, Relation
from diffmg.datasets._base import DATASETS, Dataset
from diffmg.datasets._made import (
    Distractors,
    Ints,
    both_ways,
    check_variant,
    counts,
    distractor_edges,
    hint,
    noise,
    numbered,
    pick_in_group,
    random_edges,
)
from diffmg.graph.network import HeteroGraph
from diffmg.tasks import Part, Recommendation
from diffmg.tasks.problem import Problem

SIZE = 4000
STYLES = 6
FEATURES = 16
CHOSEN = 8
"""Pairs per user: half become edges of the network, half are supervised."""
LOYALTY = 0.8
"""Share of a user's observed items in the user's style; the others are random."""
SHARES = {"user": 0.35, "item": 0.5, "brand": 0.05, "category": 0.05, "city": 0.05}

MAKES = Relation("brand", "makes", "item")
BOUGHT_BY = Relation("item", "bought_by", "user")
DISTRACTORS: Distractors = {
    (Relation("category", "holds", "item"), "in_category"): 2,
    (Relation("city", "home_of", "user"), "lives_in"): 1,
}
"""Uninformative relations with the name of their reverse: edges per target node."""


@DATASETS.add("shop")
class Shop(Dataset):
    """Five node types, nine relations. Only brands have informative features.

    Friendships are random too; categories and cities have no features.
    """

    summary = "made: recommend items to users; planted paths brand -> item -> user and brand -> item"
    planted = (
        MetaGraph.of("user", {Link(1, 0): MAKES, Link(2, 0): EMPTY, Link(2, 1): BOUGHT_BY}),
        MetaGraph.of("item", {Link(1, 0): IDENTITY, Link(2, 0): EMPTY, Link(2, 1): MAKES}),
    )

    def load(self, *, root: Path | None = None, size: int | None = None, seed: int = 0) -> Problem:  # noqa: ARG002
        """Generate a network of about `size` nodes (default 4000)."""
        return make_shop(SIZE if size is None else size, seed)


def make_shop(size: int = SIZE, seed: int = 0, *, distractors: int = 1, label_noise: float = 0.0) -> Problem:
    """The network of about `size` nodes and its task.

    Harder variants have `distractors` times as many uninformative relations, and a share of `label_noise` of the
    positive training pairs exchanged for negative ones; all else is the same, validation and test too.
    """
    check_variant(distractors, label_noise)
    rng, extra = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    n = counts(size, SHARES, least=2 * STYLES)
    brand_style = rng.permutation(np.arange(n["brand"]) % STYLES)
    brand = rng.integers(0, n["brand"], n["item"])
    item_style = brand_style[brand]
    user_style = rng.permutation(np.arange(n["user"]) % STYLES)
    positives, negatives = _pairs(rng, user_style, item_style)
    observed = _observed(rng, user_style, item_style, np.concatenate([positives, negatives]))
    edges = {
        **both_ways(BOUGHT_BY, "buys", observed.T[::-1]),
        **both_ways(MAKES, "made_by", np.stack([brand, np.arange(n["item"])])),
        **_distractors(rng, n, "friend", DISTRACTORS),
    }
    for number in range(2, distractors + 1):
        edges |= _distractors(extra, n, f"friend_{number}", numbered(DISTRACTORS, number))
    features = {t: noise(rng, n[t], FEATURES) for t in ("user", "item")}
    features["brand"] = hint(rng, brand_style, FEATURES, strength=1.0)
    parts = _mixed(extra, _split(positives), _split(negatives), label_noise)
    task = Recommendation.build("user", "item", (n["user"], n["item"]), *parts, seen=observed)
    return Problem(HeteroGraph.build(n, edges, features), task)


def _distractors(rng: np.random.Generator, n: dict[str, int], friend: str, others: Distractors) -> dict[Relation, Ints]:
    """Random friendships, and the other relations that tell nothing."""
    friends = random_edges(rng, n["user"], n["user"], 3)
    friendship = {Relation("user", friend, "user"): np.concatenate([friends, friends[::-1]], axis=1)}
    return friendship | distractor_edges(rng, n, others)


def _mixed(
    rng: np.random.Generator, positives: dict[Part, Ints], negatives: dict[Part, Ints], share: float
) -> tuple[dict[Part, Ints], dict[Part, Ints]]:
    """A share of the training pairs exchanged between positives and negatives."""
    ups, downs = positives["train"], negatives["train"]
    wrong = rng.permutation(np.arange(len(ups)) < round(share * len(ups)))[:, None]
    return {**positives, "train": np.where(wrong, downs, ups)}, {**negatives, "train": np.where(wrong, ups, downs)}


def _pairs(rng: np.random.Generator, user_style: Ints, item_style: Ints) -> tuple[Ints, Ints]:
    """Supervised pairs in random order: items of the user's style, and equally many of other styles."""
    users = np.repeat(np.arange(len(user_style)), CHOSEN // 2)
    other = (user_style[users] + rng.integers(1, STYLES, len(users))) % STYLES
    drawn = [
        _distinct(rng, np.stack([users, pick_in_group(rng, style, item_style)], axis=1))
        for style in (user_style[users], other)
    ]
    count = min(map(len, drawn))
    return drawn[0][:count], drawn[1][:count]


def _observed(rng: np.random.Generator, user_style: Ints, item_style: Ints, supervised: Ints) -> Ints:
    """Pairs that become edges: mostly of the user's style, none of them supervised."""
    users = np.repeat(np.arange(len(user_style)), CHOSEN // 2)
    loyal = pick_in_group(rng, user_style[users], item_style)
    stray = rng.integers(0, len(item_style), len(users))
    pairs = _distinct(rng, np.stack([users, np.where(rng.random(len(users)) < LOYALTY, loyal, stray)], axis=1))
    codes = [p[:, 0] * len(item_style) + p[:, 1] for p in (pairs, supervised)]
    return pairs[~np.isin(codes[0], codes[1])]


def _split(pairs: Ints) -> dict[Part, Ints]:
    first, second = int(0.6 * len(pairs)), int(0.8 * len(pairs))
    return {"train": pairs[:first], "val": pairs[first:second], "test": pairs[second:]}


def _distinct(rng: np.random.Generator, pairs: Ints) -> Ints:
    return rng.permutation(np.unique(pairs, axis=0))
