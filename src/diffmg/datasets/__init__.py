"""Data sets: networks with a task, by name. One file per member."""

from diffmg.datasets._base import DATASETS, Dataset, DatasetName, Published, data_places, load_dataset, parse_name
from diffmg.datasets._card import Card

__all__ = [
    "DATASETS", "Card", "Dataset", "DatasetName", "Published", "data_places", "load_dataset", "parse_name",
]  # fmt: skip
