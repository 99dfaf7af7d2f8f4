"""Data sets: networks with a task, by name. One file per member."""

from diffmg.datasets._base import DATASETS, Dataset, Published, load_dataset, parse_name

__all__ = ["DATASETS", "Dataset", "Published", "load_dataset", "parse_name"]
