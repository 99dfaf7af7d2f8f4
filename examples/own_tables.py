"""From three CSV files to a fitted classifier.

The field of an author is that of the venues the author's papers appeared in: two relations away, in no column of the
author's own. Run it with `python examples/own_tables.py`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from diffmg import DiffMG, HeteroGraph, MetaGraphClassifier, NodeClassification
from diffmg.tables import read_table
from diffmg.viz import draw

FIELDS = ("art", "biology", "computing")


def write_files(folder: Path, authors: int = 150, seed: int = 0) -> None:
    """Write authors.csv, papers.csv and wrote.csv."""
    rng = np.random.default_rng(seed)
    field = rng.integers(0, 3, authors)
    writer = np.repeat(np.arange(authors), 4)
    topic = np.where(rng.random(len(writer)) < 0.8, field[writer], rng.integers(0, 3, len(writer)))
    venue = topic + 3 * rng.integers(0, 5, len(writer))
    year, age = rng.integers(1990, 2025, len(writer)), rng.integers(25, 70, authors)
    rows = {
        "authors": ["author,age,field", *(f"a{i},{age[i]},{FIELDS[field[i]]}" for i in range(authors))],
        "papers": ["paper,year,venue", *(f"{i},{year[i]},venue {venue[i]}" for i in range(len(writer)))],
        "wrote": ["author,paper", *(f"a{a},{i}" for i, a in enumerate(writer))],
    }
    for name, lines in rows.items():
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(folder: Path) -> None:
    """Read the files, build the network, search and train: ten lines."""
    authors, papers, wrote = (read_table(folder / f"{name}.csv") for name in ("authors", "papers", "wrote"))
    graph = HeteroGraph.from_tables(
        {"author": authors, "paper": papers, "venue": None},  # venues are those that papers name
        {("author", "wrote", "paper"): wrote, ("paper", "in", "venue"): papers.select(["paper", "venue"])},
        drop={"author": ["field"], "paper": ["venue"]},  # the label, and what is a relation already
    )
    task = NodeClassification.from_column("author", authors["field"])
    model = MetaGraphClassifier(method=DiffMG(depth=2, search_seeds=1)).fit(graph, task)
    print(draw(model.metagraphs_[0], "text"), f"{task.metric} on test: {model.score():.2f}", sep="\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        main(Path(folder))
