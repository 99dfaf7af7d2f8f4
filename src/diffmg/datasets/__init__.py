"""Data sets: networks with a task, by name. One file per member."""

from diffmg.datasets._base import DATASETS, Dataset, DatasetName, Published, data_places, load_dataset, parse_name
from diffmg.datasets._card import Card
from diffmg.datasets._download import BASE, download_dataset
from diffmg.datasets._verify import Check, verify_dataset

__all__ = [
    "BASE",
    "DATASETS",
    "Card",
    "Check",
    "Dataset",
    "DatasetName",
    "Published",
    "data_places",
    "download_dataset",
    "load_dataset",
    "parse_name",
    "verify_dataset",
]
