"""Who proposes the next candidates: chance, evolution, a surrogate."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from diffmg.core.candidate import Candidate, CandidateSpace, Genes

Judged = Sequence[tuple[Candidate, float]]
"""Candidates that were tried and their values; higher is better."""
TOURNAMENT = 0.1
"""A parent is the best of this share of random candidates."""
ENOUGH = 16
"""Judged candidates before anything but chance proposes."""
TREES = 40
POOL = 120
"""Candidates among which the surrogate picks."""


@dataclass(frozen=True)
class Proposal:
    """A candidate, and who proposed it."""

    candidate: Candidate
    origin: str


def chance(space: CandidateSpace, judged: Judged, rng: random.Random) -> Candidate:  # noqa: ARG001
    """A random candidate."""
    return space.draw(rng)


def evolution(space: CandidateSpace, judged: Judged, rng: random.Random) -> Candidate:
    """A mutation of a parent, or a cross of two; a parent is the best of a few, so no family takes over at once."""
    size = max(4, round(TOURNAMENT * len(judged)))
    one, other = (max(rng.choices(judged, k=size), key=lambda pair: pair[1])[0] for _ in range(2))
    if rng.random() < 0.4:
        return space.mutate(space.cross(one, other, rng), rng)
    return space.mutate(one, rng)


def surrogate(space: CandidateSpace, judged: Judged, rng: random.Random) -> Iterator[Candidate]:
    """Of many candidates, drawn and mutated, those a random forest expects most of, best first."""
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.feature_extraction import DictVectorizer

    pool = [(chance if n % 2 else evolution)(space, judged, rng) for n in range(POOL)]
    vectors = DictVectorizer(sparse=False)
    x = vectors.fit_transform([_plain(space.genes(c)) for c, _ in judged])
    y = _ranks([value for _, value in judged])
    forest = ExtraTreesRegressor(TREES, min_samples_leaf=2, random_state=rng.randrange(2**31), n_jobs=1)
    forest.fit(x, y)
    rows = vectors.transform([_plain(space.genes(c)) for c in pool])
    each = np.stack([tree.predict(rows) for tree in forest.estimators_])
    hope = each.mean(axis=0) + 0.5 * each.std(axis=0)
    return (pool[place] for place in np.argsort(-hope, kind="stable"))


def proposals(
    space: CandidateSpace, judged: Judged, rng: random.Random, seeds: Sequence[Candidate], mix: Sequence[str]
) -> Iterator[Proposal]:
    """Candidates without end: what is left of the seeds, every second one, and those of the proposers by turns."""
    waiting = iter(seeds)
    hoped: Iterator[Candidate] = iter(())
    for number in count():
        seed = next(waiting, None)
        if seed is not None:
            yield Proposal(seed, "seed")
        origin = mix[number % len(mix)] if len(judged) >= ENOUGH else "chance"
        if origin == "surrogate":
            hoped = hoped if number >= len(mix) else surrogate(space, judged, rng)  # one forest serves a batch
            candidate = next(hoped, None) or space.draw(rng)
        else:
            candidate = (evolution if origin == "evolution" else chance)(space, judged, rng)
        yield Proposal(candidate, origin)


def _plain(genes: Genes) -> dict[str, Any]:
    """Numbers as they are, learning rates and the like by their logarithm, anything else as a name."""
    found: dict[str, Any] = {}
    for name, value in genes.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            found[name] = str(value)
        else:
            found[name] = float(np.log10(value + 1e-6)) if name in ("lr", "weight_decay", "dim") else float(value)
    return found


def _ranks(values: Sequence[float]) -> np.ndarray[Any, Any]:
    """Ranks between 0 and 1: failures and outliers weigh no more than their place."""
    order = np.argsort(np.argsort(np.asarray(values), kind="stable"), kind="stable")
    return order / max(1, len(values) - 1)
