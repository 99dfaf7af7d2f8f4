"""Data sets: networks with a task, by name. Data sets with the same file format share a module."""

from diffmg.datasets._base import DATASETS, Card, Dataset, DatasetName, Published, data_places, load_dataset, parse_name

__all__ = [
    "DATASETS", "Card", "Dataset", "DatasetName", "Published", "data_places", "load_dataset", "parse_name",
]  # fmt: skip
