"""Labels and splits from columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from diffmg.core import PARTS, DiffmgError, Part
from diffmg.core.arrow import plain

Ints = NDArray[np.int64]
Shares = tuple[float, float, float]
NAMES: dict[str, Part] = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "dev": "val",
    "test": "test",
    "testing": "test",
}
"""Accepted names of the parts in a split column."""
MANY = 50
"""More different whole numbers than this are taken as numbers, not as classes."""


def are_numbers(values: pa.ChunkedArray) -> bool:
    """Whether labels are numbers, not classes: some of them are not whole, or there are many different ones."""
    if pa.types.is_decimal(values.type):
        values = values.cast(pa.float64())
    values = plain(values)
    if pa.types.is_floating(values.type):  # `plain` makes whole numbers integers
        return bool(values.null_count < len(values))
    return bool(pa.types.is_integer(values.type) and pc.count_distinct(values).as_py() > MANY)


def class_numbers(values: pa.ChunkedArray, what: str, classes: Sequence[Any] | None = None) -> tuple[Ints, list[Any]]:
    """The class of each row, -1 where there is none, and the classes: sorted, unless they are given."""
    values = plain(values)
    try:
        found = sorted(pc.unique(values.drop_null()).to_pylist())
        names = found if classes is None else list(classes)
        codes = pc.index_in(values, value_set=pa.array(names, values.type)).fill_null(-1).to_numpy()
    except (pa.ArrowException, TypeError) as error:
        raise DiffmgError(f"{what} must be names or numbers of classes, but got {values.type}: {error}") from error
    known = len(values) - values.null_count
    if len(found) < 2:
        raise DiffmgError(f"{what} must have two or more classes, but got {found} in {known} rows")
    if len(found) > 100 and len(found) > known / 5:
        raise DiffmgError(f"{what} must be classes, but got {len(found)} different values in {known} rows")
    unexpected = [name for name in found if name not in names]
    if unexpected:
        raise DiffmgError(f"{what} must be one of {names}, but got {unexpected[:3]}")
    return np.asarray(codes, np.int64), names


def split_numbers(values: pa.ChunkedArray, what: str) -> dict[Part, Ints]:
    """The rows of each part, from a column of train, val or test; rows with an empty value are in no part."""
    values = plain(values)
    texts = ["" if v is None else str(v).strip() for v in values.to_pylist()]
    unexpected = sorted({t for t in texts if t and t.lower() not in NAMES})
    if unexpected:
        raise DiffmgError(f"{what} must say train, val, test or nothing, but got {unexpected[:3]}")
    parts = np.array([NAMES[t.lower()] if t else "" for t in texts])
    return {part: np.flatnonzero(parts == part) for part in PARTS}


def split_by_id(strata: Ints, shares: Shares, seed: int, ids: ArrayLike | None) -> dict[Part, Ints]:
    """`random_split` in the order of ids, so that it is the same for any order of the rows."""
    order = np.arange(len(strata)) if ids is None else np.argsort(np.asarray(ids), kind="stable")
    return {part: order[index] for part, index in random_split(strata[order], shares, seed).items()}


def random_split(labels: Ints, shares: Shares, seed: int) -> dict[Part, Ints]:
    """Draw a stratified split: rows per part, each class divided by `shares`; rows with label -1 are left out.

    A class with few rows gets one row in each part with a positive share, train first.
    """
    if len(shares) != 3 or min(shares[:2]) <= 0 or shares[2] < 0 or sum(shares) > 1 + 1e-9:
        raise DiffmgError(f"shares must be train > 0, val > 0 and test >= 0 with a sum of at most 1, but got {shares}")
    if seed < 0:
        raise DiffmgError(f"`seed >= 0` must hold for a random split, but got seed={seed}")
    rng = np.random.default_rng(seed)
    part = np.full(len(labels), -1)
    for label in np.unique(labels[labels >= 0]):
        rows = rng.permutation(np.flatnonzero(labels == label))
        part[rows] = np.searchsorted(_boundaries(len(rows), shares), np.arange(len(rows)), side="right")
    return {name: np.flatnonzero(part == number) for number, name in enumerate(PARTS)}


def fold_numbers(labels: Ints, count: int, seed: int) -> Ints:
    """The fold of each row: every class is divided evenly among `count` folds, at random."""
    rng, number, start = np.random.default_rng(seed), np.empty(len(labels), np.int64), 0
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        number[rows] = (start + np.arange(len(rows))) % count
        start += len(rows)
    return number


def _boundaries(count: int, shares: Shares) -> list[int]:
    """The ends of train, val and test among `count` rows."""
    boundaries: list[int] = []
    end, minimum = 0, [int(share > 0) for share in shares]
    for i, total in enumerate(np.cumsum(shares)):
        at_most = count - sum(minimum[i + 1 :])
        at_least = min(end + minimum[i], count)
        end = max(min(round(total * count), at_most), at_least)
        boundaries.append(end)
    return boundaries
