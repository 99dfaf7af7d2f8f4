"""What every data set offers."""

from __future__ import annotations

import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

from diffmg.errors import DiffmgError, MissingDataError
from diffmg.metagraph import MetaGraph
from diffmg.registry import Registry
from diffmg.train.problem import Problem


@dataclass(frozen=True)
class Published:
    """What the paper's authors published for a data set."""

    metagraphs: tuple[MetaGraph, ...]
    search: Mapping[str, Any]
    """Options of the `diffmg` strategy."""
    train: Mapping[str, Any]
    """Fields of `TrainSettings`."""
    paper: Mapping[str, float]
    """Scores the paper reports, in percent."""


class Dataset(ABC):
    """A network with a task on it, by name."""

    summary: ClassVar[str]
    """One line for listings."""
    planted: ClassVar[tuple[MetaGraph, ...]] = ()
    """For made data: the meta graphs that explain the target."""

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def load(self, *, root: Path | None, size: int | None, seed: int) -> Problem:
        """The network and its task. `root` is where files lie; `size` and `seed` are for made data."""

    def published(self) -> Published | None:
        """The authors' meta graphs and settings, where there are any."""
        file = resources.files("diffmg.datasets") / "published" / f"{self.name}.json"
        if not file.is_file():
            return None
        data = json.loads(file.read_text(encoding="utf-8"))
        metagraphs = tuple(MetaGraph.from_dict(m) for m in data["metagraphs"])
        return Published(metagraphs, data["search"], data["train"], data["paper"])


DATASETS: Registry[type[Dataset]] = Registry("data set", "diffmg.datasets")


def parse_name(text: str) -> tuple[str, int | None]:
    """Split `academic:1e5` into name and size."""
    name, colon, size = text.partition(":")
    if not colon:
        return name, None
    try:
        number = float(size)
    except ValueError:
        number = -1.0
    if not (1 <= number < math.inf and number == int(number)):
        raise DiffmgError(f"a data set is written NAME or NAME:SIZE with a whole number of nodes, but got {text!r}")
    return name, int(number)


def load_dataset(text: str, *, root: Path | str | None = None, seed: int = 0) -> Problem:
    """Load `NAME` or `NAME:SIZE`; `seed` draws made data."""
    name, size = parse_name(text)
    kind = DATASETS.get(name)
    if seed < 0:
        raise DiffmgError(f"`seed >= 0` must hold for made data, but got {seed}")
    return kind(name).load(root=None if root is None else Path(root), size=size, seed=seed)


def find_file(root: Path | None, relative: str) -> Path:
    """A data file under `root`, under DIFFMG_DATA, or in the user's cache, in this order."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "diffmg"
    environment = os.environ.get("DIFFMG_DATA")
    places = [root] if root is not None else [*([Path(environment)] if environment else []), cache]
    for place in places:
        if (place / relative).is_file():
            return place / relative
    looked = ", ".join(repr(str(p)) for p in places)
    raise MissingDataError(
        f"the file {relative!r} must be under --data-root, DIFFMG_DATA or the user's cache, but got none in {looked}"
    )
