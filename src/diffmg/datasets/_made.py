"""Helpers for synthetic networks, all vectorised, so that they scale to ten million nodes."""

import numpy as np
from numpy.typing import NDArray

from diffmg.core import DiffmgError, Relation

Ints = NDArray[np.int64]


def counts(size: int, shares: dict[str, float], least: int) -> dict[str, int]:
    """Split `size` nodes into types by share, each with at least `least`."""
    if size < least * len(shares) * 2:
        raise DiffmgError(f"`size >= {least * len(shares) * 2}` must hold for made data, but got size={size}")
    return {node_type: max(least, round(share * size)) for node_type, share in shares.items()}


def pick_in_group(rng: np.random.Generator, wanted: Ints, groups: Ints) -> Ints:
    """For each wanted group, a uniformly random member of it; `groups` gives the group of each member."""
    members = np.argsort(groups, kind="stable")
    size = np.bincount(groups, minlength=int(wanted.max(initial=0)) + 1)
    start = np.concatenate([[0], size.cumsum()[:-1]])
    picked: Ints = members[start[wanted] + (rng.random(len(wanted)) * size[wanted]).astype(np.int64)]
    return picked


def both_ways(there: Relation, back: str, edges: Ints) -> dict[Relation, Ints]:
    """A relation and its reverse, named `back`."""
    return {there: edges, Relation(there.target, back, there.source): edges[::-1]}


def random_edges(rng: np.random.Generator, sources: int, targets: int, degree: int) -> Ints:
    """`degree` random sources for each target: two rows (source, target)."""
    target = np.repeat(np.arange(targets), degree)
    return np.stack([rng.integers(0, sources, len(target)), target])


def noise(rng: np.random.Generator, rows: int, columns: int) -> NDArray[np.float32]:
    """Uninformative features: standard normal noise."""
    return rng.standard_normal((rows, columns), dtype=np.float32)


def hint(rng: np.random.Generator, groups: Ints, columns: int, strength: float) -> NDArray[np.float32]:
    """Informative features: the centre of each row's group, plus noise."""
    centres = np.random.default_rng(0).standard_normal((int(groups.max()) + 1, columns), dtype=np.float32)
    return np.float32(strength) * centres[groups] + noise(rng, len(groups), columns)
