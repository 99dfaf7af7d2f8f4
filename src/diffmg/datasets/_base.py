"""What every data set offers."""

import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from diffmg.core import DiffmgError, MetaGraph, MissingDataError, Registry, Source
from diffmg.datasets._card import Card, read_card
from diffmg.tasks.problem import Problem


@dataclass(frozen=True)
class Published:
    """What the paper's authors published for a data set."""

    metagraphs: tuple[MetaGraph, ...]
    search: Mapping[str, Any]
    """Options of the method `diffmg`; other searches take those they have too."""
    train: Mapping[str, Any]
    """Fields of `Settings`."""
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

    def card(self) -> Card:
        """Where it comes from, what is in it, and what to beware of."""
        return read_card(self.name)

    def with_split(self, seed: int) -> Self:
        """The same with a fresh split; only ratings can be split anew."""
        raise DiffmgError(f"only data sets of ratings can be split anew, but got {self.name}@{seed}")

    def published(self) -> Published | None:
        """The authors' meta graphs and settings, where there are any."""
        file = resources.files("diffmg.datasets") / "published" / f"{self.name}.json"
        if not file.is_file():
            return None
        data = json.loads(file.read_text(encoding="utf-8"))
        return Published(**data | {"metagraphs": tuple(MetaGraph.from_dict(m) for m in data["metagraphs"])})


DATASETS = Registry[type[Dataset]]("data set", "diffmg.datasets", group="diffmg.datasets")


class DatasetName(NamedTuple):
    """What `NAME`, `NAME:SIZE` and `NAME@SEED` say."""

    name: str
    size: int | None = None
    """Nodes of made data."""
    split_seed: int | None = None
    """Draws a fresh split."""


def parse_name(text: str) -> DatasetName:
    """Split `academic:1e5` into name and size, `yelp@7` into name and seed of the split."""
    named, at, seed = text.partition("@")
    if at and not (seed.isascii() and seed.isdecimal()):
        raise DiffmgError(f"a fresh split is written NAME@SEED with a whole number from 0, but got {text!r}")
    name, colon, size = named.partition(":")
    split_seed = int(seed) if at else None
    if not colon:
        return DatasetName(name, None, split_seed)
    try:
        number = float(size)
    except ValueError:
        number = -1.0
    if not (1 <= number < math.inf and number == int(number)):
        raise DiffmgError(f"a data set is written NAME or NAME:SIZE with a whole number of nodes, but got {text!r}")
    return DatasetName(name, int(number), split_seed)


def load_dataset(text: str, *, root: Path | str | None = None, seed: int = 0, split_seed: int | None = None) -> Problem:
    """Load `NAME`, `NAME:SIZE` or `NAME@SEED`; `seed` draws made data, `split_seed` a fresh split of ratings."""
    name, size, written = parse_name(text)
    dataset = DATASETS.get(name)(name)
    if seed < 0:
        raise DiffmgError(f"`seed >= 0` must hold for made data, but got {seed}")
    if split_seed is not None and written is not None:
        raise DiffmgError(f"a split has one seed, but got {text!r} and split_seed={split_seed}")
    if split_seed is not None:
        text, written = f"{text}@{split_seed}", split_seed
    if written is not None:
        dataset = dataset.with_split(written)
    problem = dataset.load(root=None if root is None else Path(root), size=size, seed=seed)
    return replace(problem, source=Source(text, seed))


def data_places(root: Path | None) -> list[Path]:
    """Where files are looked for: `root` alone if it is given, else DIFFMG_DATA, then the user's cache."""
    if root is not None:
        return [root]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "diffmg"
    return [Path(os.environ["DIFFMG_DATA"]), cache] if os.environ.get("DIFFMG_DATA") else [cache]


def find_file(root: Path | None, relative: str) -> Path:
    """A data file under `root`, under DIFFMG_DATA, or in the user's cache, in this order."""
    places = data_places(root)
    for place in places:
        if (place / relative).is_file():
            return place / relative
    looked = ", ".join(repr(str(p)) for p in places)
    raise MissingDataError(
        f"the file {relative!r} must be under --data-root, DIFFMG_DATA or the user's cache, but got none in {looked}; "
        "`python -m experiments.data download NAME`, in a clone of the repository, fetches what is missing"
    )
