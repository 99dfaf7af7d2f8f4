"""Six small networks that no method was tuned for: what tells the class of a node lies in another place in each.

Numbers of neighbours are spread widely and some nodes are popular, as in real networks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from diffmg.core.schema import Relation
from diffmg.datasets._made import Ints, both_ways, hint, noise
from diffmg.graph.network import HeteroGraph
from diffmg.tasks import NodeClassification
from diffmg.tasks.problem import Problem

FEATURES = 16
SPREAD = 0.8
"""Standard deviation of the logarithm of a node's number of neighbours."""
POPULARITY = 0.6
"""A node of popularity rank r is drawn in proportion to r to the power of minus this."""
Distractor = tuple[str, str, str, str, float]
"""Source, name, target, name of the reverse, mean number of edges per target."""
Edges = dict[Relation, Ints]
Features = dict[str, NDArray[np.float32]]


def homophily(seed: int = 0) -> Problem:
    """Papers mostly cite papers of their topic; features are noise, keywords have none."""
    rng, n = np.random.default_rng([1, seed]), {"paper": 1600, "author": 800, "venue": 60, "keyword": 300}
    topic = _classes(rng, n["paper"], (0.3, 0.25, 0.25, 0.2))
    cited = _edges(rng, topic, topic, mean=4, loyalty=0.75)
    edges = both_ways(Relation("paper", "cited_by", "paper"), "cites", cited)
    edges |= _distractors(
        rng,
        n,
        ("author", "writes", "paper", "written_by", 3),
        ("venue", "publishes", "paper", "published_in", 1),
        ("keyword", "describes", "paper", "described_by", 4),
    )
    return _problem(rng, n, edges, _noise(rng, n, "keyword"), "paper", topic, train=400, val=250)


def one_relation(seed: int = 0) -> Problem:
    """Customers buy from shops of their segment, whose features tell it; classes are unbalanced."""
    rng, n = np.random.default_rng([2, seed]), {"customer": 1600, "shop": 300, "branch": 80, "device": 700}
    segment = _classes(rng, n["customer"], (0.5, 0.25, 0.15, 0.1))
    kind = _classes(rng, n["shop"], (0.25, 0.25, 0.25, 0.25))
    edges = both_ways(Relation("shop", "sells_to", "customer"), "buys_from", _edges(rng, segment, kind, 5, 0.6))
    edges |= _distractors(
        rng,
        n,
        ("branch", "serves", "customer", "banks_at", 1),
        ("device", "used_by", "customer", "uses", 2),
        ("customer", "recruits", "customer", "recruited_by", 2),
    )
    features = _noise(rng, n, "shop") | {"shop": hint(rng, kind, FEATURES, strength=0.7)}
    return _problem(rng, n, edges, features, "customer", segment, train=500, val=250)


def two_hops(seed: int = 0) -> Problem:
    """Patients receive treatments, which contain drugs: only features of drugs tell the patient's disease."""
    rng, n = (
        np.random.default_rng([3, seed]),
        {"patient": 1200, "treatment": 1500, "drug": 150, "clinic": 60, "region": 40},
    )
    disease = _classes(rng, n["patient"], (0.4, 0.3, 0.3))
    purpose = _classes(rng, n["treatment"], (0.4, 0.3, 0.3))
    group = _classes(rng, n["drug"], (0.4, 0.3, 0.3))
    edges = both_ways(Relation("treatment", "helps", "patient"), "receives", _edges(rng, disease, purpose, 4, 0.75))
    edges |= both_ways(Relation("drug", "part_of", "treatment"), "contains", _edges(rng, purpose, group, 2, 0.85))
    edges |= _distractors(
        rng, n, ("clinic", "offers", "treatment", "offered_at", 1), ("region", "home_of", "patient", "lives_in", 1)
    )
    features = _noise(rng, n, "drug") | {"drug": hint(rng, group, FEATURES, strength=1.0)}
    return _problem(rng, n, edges, features, "patient", disease, train=300, val=200)


def numbers(seed: int = 0) -> Problem:
    """The number of a machine's alarms tells its condition; all features are noise, a tenth of the labels too."""
    rng, n = np.random.default_rng([4, seed]), {"machine": 1500, "alarm": 800, "part": 400, "operator": 120, "site": 30}
    edges = _distractors(rng, n, ("alarm", "raised_by", "machine", "raises", 6))
    alarms = np.bincount(edges[Relation("alarm", "raised_by", "machine")][1], minlength=n["machine"])
    condition = np.digitize(alarms, np.quantile(alarms, (1 / 3, 2 / 3))).astype(np.int64)
    chance = rng.random(n["machine"]) < 0.1
    condition[chance] = rng.integers(0, 3, chance.sum())
    edges |= _distractors(
        rng,
        n,
        ("part", "built_into", "machine", "contains", 6),
        ("operator", "runs", "machine", "run_by", 2),
        ("site", "houses", "machine", "stands_at", 1),
    )
    return _problem(rng, n, edges, _noise(rng, n), "machine", condition, train=400, val=300)


def features_only(seed: int = 0) -> Problem:
    """A film's own features tell its genre; actors, directors and studios are random."""
    rng, n = np.random.default_rng([5, seed]), {"film": 1400, "actor": 900, "director": 300, "studio": 60}
    genre = _classes(rng, n["film"], (0.2,) * 5)
    edges = _distractors(
        rng,
        n,
        ("actor", "plays_in", "film", "casts", 4),
        ("director", "directs", "film", "directed_by", 1),
        ("studio", "produces", "film", "produced_by", 1),
    )
    features = _noise(rng, n, "film") | {"film": hint(rng, genre, FEATURES, strength=0.5)}
    return _problem(rng, n, edges, features, "film", genre, train=400, val=250)


def nothing(seed: int = 0) -> Problem:
    """Nothing tells the class of a post: labels are random."""
    rng, n = np.random.default_rng([6, seed]), {"post": 1500, "user": 700, "tag": 200, "forum": 40}
    kind = _classes(rng, n["post"], (0.4, 0.3, 0.3))
    edges = _distractors(
        rng,
        n,
        ("user", "writes", "post", "written_by", 1),
        ("tag", "marks", "post", "marked_by", 3),
        ("forum", "holds", "post", "held_by", 1),
        ("post", "answered_by", "post", "answers", 2),
    )
    return _problem(rng, n, edges, _noise(rng, n), "post", kind, train=400, val=250)


NETWORKS: dict[str, Callable[[int], Problem]] = {
    made.__name__: made for made in (homophily, one_relation, two_hops, numbers, features_only, nothing)
}


def _classes(rng: np.random.Generator, size: int, shares: Sequence[float]) -> Ints:
    """Class numbers in random order, as many of each as its share."""
    return rng.permutation(np.searchsorted(np.cumsum(shares)[:-1], np.arange(size) / size, side="right"))


def _edges(rng: np.random.Generator, wanted: Ints, groups: Ints, mean: float, loyalty: float = 0.0) -> Ints:
    """Sources and targets of edges, about `mean` per target; a share of `loyalty` is from the target's wanted group."""
    degree = np.rint(mean * rng.lognormal(-(SPREAD**2) / 2, SPREAD, len(wanted))).astype(np.int64)
    target = np.repeat(np.arange(len(wanted)), degree)
    weight = (1.0 + rng.permutation(len(groups))) ** -POPULARITY
    source = rng.choice(len(groups), len(target), p=weight / weight.sum())
    loyal = rng.random(len(target)) < loyalty
    for group in np.unique(wanted):
        members, those = np.flatnonzero(groups == group), loyal & (wanted[target] == group)
        source[those] = rng.choice(members, those.sum(), p=weight[members] / weight[members].sum())
    return np.unique(np.stack([source, target]), axis=1)


def _distractors(rng: np.random.Generator, n: Mapping[str, int], *relations: Distractor) -> Edges:
    """Random edges of these relations and their reverses."""
    edges: Edges = {}
    for source, name, target, back, mean in relations:
        drawn = _edges(rng, np.zeros(n[target], np.int64), np.zeros(n[source], np.int64), mean)
        edges |= both_ways(Relation(source, name, target), back, drawn)
    return edges


def _noise(rng: np.random.Generator, n: Mapping[str, int], without: str = "") -> Features:
    """Uninformative features of all types but one."""
    return {t: noise(rng, size, FEATURES) for t, size in n.items() if t != without}


def _problem(
    rng: np.random.Generator,
    n: dict[str, int],
    edges: Edges,
    features: Features,
    target: str,
    labels: Ints,
    *,
    train: int,
    val: int,
) -> Problem:
    """The network and its task, with a random split: so many in training and validation, the rest for test."""
    order = rng.permutation(n[target])
    first, second, rest = np.split(order, (train, train + val))
    task = NodeClassification.build(target, labels, train=first, val=second, test=rest)
    return Problem(HeteroGraph.build(n, edges, features), task)
