"""A small library in tables, whose authors have the field of the venues of their papers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

TOML = """
[nodes.author]
file = "authors.csv"

[nodes.paper]
file = "papers.csv"
id = "paper"

[relations.wrote]
file = "wrote.csv"
source = ["author", "author"]
target = ["paper", "paper"]

[task]
target = "author"
label = "field"
"""


def library(authors: int = 12, seed: int = 0) -> dict[str, dict[str, Any]]:
    """Columns of three tables: string ids of authors, numbers of papers."""
    rng = np.random.default_rng(seed)
    field = np.arange(authors) % 2
    papers = 3 * authors
    writer = np.repeat(np.arange(authors), 3)
    return {
        "authors": {
            "author": [f"a{i}" for i in range(authors)],
            "age": rng.integers(20, 70, authors),
            "field": [("art", "bio")[f] for f in field],
        },
        "papers": {"year": rng.integers(1990, 2020, papers), "paper": np.arange(papers) + 100},
        "wrote": {"author": [f"a{i}" for i in writer], "paper": rng.permutation(papers) + 100},
    }


def write_csv(path: Path, columns: Mapping[str, Any]) -> None:
    csv.write_csv(pa.table({name: pa.array(values) for name, values in columns.items()}), str(path))


def write_library(folder: Path, toml: str = TOML, **changed: Mapping[str, Any]) -> Path:
    """Write the tables, some of them changed, and the description; returns its path."""
    for name, columns in (library() | changed).items():
        write_csv(folder / f"{name}.csv", columns)
    (folder / "library.toml").write_text(toml, encoding="utf-8")
    return folder / "library.toml"
