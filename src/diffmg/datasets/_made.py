"""Helpers for synthetic networks, all vectorised, so that they scale to ten million nodes."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from diffmg.core import DiffmgError, MetaGraph, Relation
from diffmg.core.limits import MOST_NODES
from diffmg.engine.device import free_bytes
from diffmg.engine.memory import in_words

NODE_BYTES = 750
"""Memory per node while such data are made, as measured."""
Ints = NDArray[np.int64]
Distractors = Mapping[tuple[Relation, str], int]
"""Uninformative relations with the name of their reverse: edges per target node."""


def counts(size: int, shares: dict[str, float], least: int, most: int = MOST_NODES) -> dict[str, int]:
    """Split `size` nodes into types by share, each with at least `least`; raises before anything too large is made."""
    if size > most:
        raise DiffmgError(f"`size <= {most}` must hold for these made data, but got size={size}")
    free = free_bytes(torch.device("cpu"))
    if free is not None and size * NODE_BYTES > free:
        raise DiffmgError(
            f"made data must fit into memory, but got size={size}, about {in_words(size * NODE_BYTES)}, where "
            f"{in_words(free)} are free; choose a smaller size"
        )
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


def check_variant(distractors: int, label_noise: float) -> None:
    """Raise unless these can be the numbers of a harder variant."""
    if distractors < 1:
        raise DiffmgError(f"`distractors >= 1` must hold, but got distractors={distractors}; 2 is twice as many")
    if not 0 <= label_noise < 1:
        raise DiffmgError(f"`0 <= label_noise < 1` must hold, but got label_noise={label_noise}")


def distractor_edges(rng: np.random.Generator, n: Mapping[str, int], distractors: Distractors) -> dict[Relation, Ints]:
    """Random edges of these relations and of their reverses, for types of `n` nodes."""
    edges: dict[Relation, Ints] = {}
    for (relation, back), degree in distractors.items():
        edges |= both_ways(relation, back, random_edges(rng, n[relation.source], n[relation.target], degree))
    return edges


def numbered(distractors: Distractors, number: int) -> Distractors:
    """The same distractors again, under names with this number."""
    return {
        (Relation(r.source, f"{r.name}_{number}", r.target), f"{back}_{number}"): degree
        for (r, back), degree in distractors.items()
    }


def mislabelled(rng: np.random.Generator, labels: Ints, nodes: Ints, classes: int, share: float) -> Ints:
    """The labels with another class for a random `share` of these nodes."""
    wrong = rng.permutation(nodes)[: round(share * len(nodes))]
    changed = labels.copy()
    changed[wrong] = (labels[wrong] + rng.integers(1, classes, len(wrong))) % classes
    return changed


def found(metagraphs: Sequence[MetaGraph], planted: Sequence[MetaGraph]) -> bool:
    """Whether every planted path is a path of the found meta graphs of its target type.

    The planted paths are the longest ones of the planted meta graphs.
    """
    return all(
        any(m.target == p.target and path in m.meta_paths for m in metagraphs)
        for p in planted
        for path in p.longest_paths()
    )
