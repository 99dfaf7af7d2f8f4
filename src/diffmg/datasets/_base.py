"""The interface of data sets, and helpers to find and read their files."""

import json
import math
import os
import re
import tomllib
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
from numpy.typing import NDArray

from diffmg.core import DiffmgError, MetaGraph, MissingDataError, Registry, Relation, Source
from diffmg.tasks.problem import Problem


@dataclass(frozen=True)
class Card:
    """Data card: source, contents and known pitfalls of a data set."""

    source: str
    licence: str
    features: str
    split: str
    traps: tuple[str, ...]
    nodes: Mapping[str, int]
    edges: Mapping[Relation, int]
    parts: Mapping[str, Mapping[str, int]]
    """Number of labelled nodes or pairs by part and class."""
    repository: str = ""
    commit: str = ""
    paper: Mapping[str, int] = field(default_factory=dict)
    """Counts in the paper that differ from those of the files."""
    ratings: Mapping[str, int] = field(default_factory=dict)
    """How the authors' split is made from ratings."""
    files: tuple[Mapping[str, Any], ...] = ()
    """Name, hashes, number of rows of each file, and the public file it was made from, if any."""


@dataclass(frozen=True)
class Published:
    """What the paper's authors published for a data set."""

    metagraphs: tuple[MetaGraph, ...]
    search: Mapping[str, Any]
    """Options of the method `diffmg`; other searches use those they share."""
    train: Mapping[str, Any]
    """Fields of `Settings`."""
    paper: Mapping[str, float]
    """Scores the paper reports, in percent."""


class Dataset(ABC):
    """A network with a task on it, by name."""

    summary: ClassVar[str]
    """One line for listings."""
    planted: ClassVar[tuple[MetaGraph, ...]] = ()
    """For synthetic data: the meta graphs that explain the target."""

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def load(self, *, root: Path | None, size: int | None, seed: int) -> Problem:
        """The network and its task. `root` is the data folder; `size` and `seed` are for synthetic data."""

    def card(self) -> Card:
        """The data card: source, contents and known pitfalls."""
        return read_card(self.name)

    def with_split(self, seed: int) -> Self:
        """A copy with a new random split; only data sets of ratings support it."""
        raise DiffmgError(f"only data sets of ratings can be split anew, but got {self.name}@{seed}")

    def published(self) -> Published | None:
        """The authors' meta graphs and settings, if published."""
        file = resources.files("diffmg.datasets") / "published" / f"{self.name}.json"
        if not file.is_file():
            return None
        data = json.loads(file.read_text(encoding="utf-8"))
        metagraphs = tuple(MetaGraph.from_dict(m) for m in data["metagraphs"])
        return Published(metagraphs, data["search"], data["train"], data["paper"])


DATASETS = Registry[type[Dataset]]("data set", "diffmg.datasets", group="diffmg.datasets")


class DatasetName(NamedTuple):
    """A parsed `NAME`, `NAME:SIZE` or `NAME@SEED`."""

    name: str
    size: int | None = None
    """Number of nodes of synthetic data."""
    split_seed: int | None = None
    """Seed of a new random split."""


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
    """Load `NAME`, `NAME:SIZE` or `NAME@SEED`; `seed` is for synthetic data, `split_seed` for a new rating split."""
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


def read_card(name: str) -> Card:
    """The card of a data set, from `cards/NAME.toml`."""
    file = resources.files("diffmg.datasets") / "cards" / f"{name}.toml"
    if not file.is_file():
        raise DiffmgError(f"every data set has a card, but got no 'cards/{name}.toml'")
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    lists = {key: tuple(data.get(key, ())) for key in ("traps", "files")}
    edges = {_relation(text): count for text, count in data["edges"].items()}
    return Card(**data | lists | {"edges": edges})


def _relation(text: str) -> Relation:
    match = re.fullmatch(r"(.+) -(.+)-> (.+)", text)
    if match is None:
        raise DiffmgError(f"a relation in a card is written 'SOURCE -NAME-> TARGET', but got {text!r}")
    return Relation(*match.groups())


def data_places(root: Path | None) -> list[Path]:
    """Search path for data files: only `root` if given, else DIFFMG_DATA, then the user's cache."""
    if root is not None:
        return [root]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "diffmg"
    return [Path(os.environ["DIFFMG_DATA"]), cache] if os.environ.get("DIFFMG_DATA") else [cache]


def find_file(root: Path | None, relative: str) -> Path:
    """A data file under `root`, under DIFFMG_DATA, or in the user's cache, in this order."""
    places = data_places(root)
    if found := next((place / relative for place in places if (place / relative).is_file()), None):
        return found
    folders = ", ".join(repr(str(p)) for p in places)
    raise MissingDataError(
        f"the file {relative!r} must be under --data-root, DIFFMG_DATA or the user's cache, but got none in {folders}; "
        "`python -m experiments.data download NAME`, in a clone of the repository, fetches what is missing"
    )


def read_npz(path: Path, keys: Iterable[str] = ()) -> dict[str, NDArray[Any]]:
    """All arrays of an npz file, which must have these keys; pickled objects are rejected."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            data = {key: file[key] for key in file.files}
    except (OSError, ValueError, EOFError, KeyError, AttributeError, zipfile.BadZipFile) as error:
        raise DiffmgError(f"a data file must be npz without pickled objects, but got {str(path)!r}: {error}") from error
    missing = [key for key in keys if key not in data]
    if missing:
        raise DiffmgError(f"the data file {str(path)!r} must hold the arrays {missing}, but got {sorted(data)}")
    return data


def read_columns(path: Path, delimiter: str, count: int) -> NDArray[np.int64]:
    """The first `count` columns of a gzipped text file, which must be integers, as (count, rows)."""
    reading, parsing = csv.ReadOptions(autogenerate_column_names=True), csv.ParseOptions(delimiter=delimiter)
    try:
        with path.open("rb") as raw, pa.CompressedInputStream(pa.PythonFile(raw), "gzip") as stream:
            table = csv.read_csv(stream, read_options=reading, parse_options=parsing)
        columns = [table.column(i) for i in range(count)]
    except (OSError, IndexError, pa.ArrowInvalid) as error:
        raise DiffmgError(
            f"a data file must be gzip-packed rows of {count} or more columns, but got {str(path)!r}: {error}"
        ) from error
    for column in columns:
        if not pa.types.is_integer(column.type) or column.null_count:
            raise DiffmgError(
                f"columns must be whole numbers, but got {column.type} with {column.null_count} gaps in {str(path)!r}"
            )
    return np.stack([column.to_numpy().astype(np.int64) for column in columns])
