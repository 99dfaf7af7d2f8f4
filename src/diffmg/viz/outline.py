"""Meta paths as the rows of a tree: below the target what it hears, below that what is heard there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from diffmg.core import MetaPath
from diffmg.viz.meaning import Tower


class Row(NamedTuple):
    """One meta path in the tree; `path` is empty for the target itself."""

    path: MetaPath
    share: float | None
    last: tuple[bool, ...]
    """For each level from the target on, whether the row is, or stands below, the last one there."""


def rows_of(tower: Tower) -> list[Row]:
    """The listed paths of a tower, each below the path that ends it; important ones first."""
    return list(_below(tower, (), ()))


def _below(tower: Tower, path: MetaPath, last: tuple[bool, ...]) -> Iterator[Row]:
    shares = {p.path: p.share for p in tower.paths}
    if path in shares:
        yield Row(path, shares[path], last)
        further = [p for p in shares if len(p) == len(path) + 1 and p[1:] == path]
        for number, other in enumerate(further):
            yield from _below(tower, other, (*last, number == len(further) - 1))
