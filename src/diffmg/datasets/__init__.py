"""Data sets: networks with a task, by name. Members that are read alike share a file."""

from diffmg.datasets._base import DATASETS, Card, Dataset, DatasetName, Published, data_places, load_dataset, parse_name

__all__ = [
    "DATASETS", "Card", "Dataset", "DatasetName", "Published", "data_places", "load_dataset", "parse_name",
]  # fmt: skip
