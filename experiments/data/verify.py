"""Compares the files and counts of a data set with its card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from diffmg.core.errors import DiffmgError, MissingDataError
from diffmg.datasets import DATASETS, Card
from diffmg.datasets._base import find_file
from diffmg.tasks.problem import Problem
from experiments.data.card_files import StoredFile, stored_files
from experiments.data.digest import content_digest, file_digest

K = TypeVar("K")


@dataclass(frozen=True)
class Check:
    """What one comparison gave."""

    what: str
    state: Literal["ok", "missing", "differs"]
    note: str = ""


def verify_dataset(name: str, root: Path | None = None) -> tuple[Check, ...]:
    """Check every file of a data set by its hash, and what is loaded from them by its counts."""
    dataset = DATASETS.get(name)(name)
    card = dataset.card()
    checks = verify_files(card, root)
    try:
        problem = dataset.load(root=root, size=None, seed=0)
    except MissingDataError:
        return (*checks, Check("counts", "missing", "needs the files"))
    except DiffmgError as error:
        return (*checks, Check("counts", "differs", str(error)))
    found = list(differences(card, problem))
    return (*checks, Check("counts", "differs" if found else "ok", "; ".join(found)))


def verify_files(card: Card, root: Path | None = None) -> tuple[Check, ...]:
    """Check every file of a card by its hash."""
    return tuple(_verify_file(file, root) for file in stored_files(card))


def differences(card: Card, problem: Problem) -> Iterator[str]:
    """Counts of a network that are not those of its card."""
    yield from _differing("nodes", card.nodes, problem.graph.num_nodes)
    yield from _differing("edges", card.edges, {r: matrix.nnz for r, matrix in problem.graph.adjacency.items()})
    parts = problem.task.counts()
    for part, expected in card.parts.items():
        yield from _differing(part, expected, parts.get(part, {}))


def _differing(what: str, expected: Mapping[K, int], found: Mapping[K, float]) -> Iterator[str]:
    for name in dict.fromkeys([*expected, *found]):
        if expected.get(name) != found.get(name):
            yield f"{what} of '{name}' must be {expected.get(name)}, but got {found.get(name)}"


def _verify_file(file: StoredFile, root: Path | None) -> Check:
    try:
        path = find_file(root, file.name)
    except MissingDataError:
        return Check(file.name, "missing")
    try:
        found = content_digest(path)
    except DiffmgError as error:
        return Check(file.name, "differs", str(error))
    if found != file.content:
        return Check(file.name, "differs", f"the content must have the sha256 {file.content}, but got {found}")
    return Check(file.name, "ok", "" if file_digest(path) == file.sha256 else "same content, packed otherwise")
