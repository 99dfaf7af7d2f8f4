"""Converts the public files of a data set to the compact form that the package reads."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffmg.core.errors import DiffmgError
from diffmg.core.files import make_folder, write_atomically
from diffmg.datasets import Dataset
from diffmg.datasets.gtn import GtnDataset
from diffmg.datasets.hin import HinDataset
from diffmg.tasks.ratings import Ratings, split_ratings
from experiments.data.gtn_source import papers_first, read_source


def convert(dataset: Dataset, originals: Mapping[str, Path], folder: Path) -> None:
    """Write the files of a data set's card under `folder`, from the public ones by their place in the source."""
    if isinstance(dataset, GtnDataset):
        _convert_gtn(dataset, originals, folder)
    elif isinstance(dataset, HinDataset):
        _convert_hin(dataset, originals, folder)
    else:
        raise DiffmgError(
            f"only data sets with files can be downloaded, but got {dataset.name!r}, which is made by code"
        )


def _convert_gtn(dataset: GtnDataset, originals: Mapping[str, Path], folder: Path) -> None:
    """Plain arrays out of the pickles of the source."""
    (path,) = originals.values()
    arrays = read_source(path, dataset.relations)
    if dataset.supposed_types:
        arrays["node_type_diffmg"] = papers_first(arrays)
    write_npz(folder / dataset.folder / "graph.npz", arrays)


def _convert_hin(dataset: HinDataset, originals: Mapping[str, Path], folder: Path) -> None:
    """Pack the text files, and draw the authors' split again from their seeds."""
    for source in originals.values():
        pack(source, folder / dataset.folder / f"{source.name}.gz")
    ratings = dataset.read_ratings(folder / dataset.folder / dataset.ratings)
    write_npz(folder / dataset.folder / "split.npz", authors_split(ratings, dataset.seeds))


def authors_split(ratings: Ratings, seeds: tuple[int, int]) -> dict[str, NDArray[np.int32]]:
    """The split of the paper's authors, to the bit, from their seeds for positive and for negative pairs."""
    positives, negatives = (np.random.RandomState(seed) for seed in seeds)
    return split_ratings(ratings, positives, negatives)


def write_npz(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Arrays in a compressed file, whole or not at all."""

    def write(temporary: Path) -> None:
        with temporary.open("wb") as stream:
            np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]

    make_folder(path.parent)
    write_atomically(path, write)


def pack(source: Path, path: Path) -> None:
    """A file packed by gzip, the same bytes for the same content."""

    def write(temporary: Path) -> None:
        with (
            source.open("rb") as stream,
            temporary.open("wb") as raw,
            gzip.GzipFile("", "wb", compresslevel=9, fileobj=raw, mtime=0) as packed,
        ):
            shutil.copyfileobj(stream, packed, 1 << 20)

    make_folder(path.parent)
    write_atomically(path, write)
