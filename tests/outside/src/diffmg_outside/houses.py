"""A made data set: the price of a house is that of its street, which has the telling feature."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from diffmg import HeteroGraph, Problem
from diffmg.datasets import Card, Dataset
from diffmg_outside.regression import NodeRegression


class Houses(Dataset):
    """Two hundred houses on twenty streets."""

    summary = "made: predict the price of houses from their streets"

    def load(self, *, root: Path | None = None, size: int | None = None, seed: int = 0) -> Problem:
        """Draw the network."""
        rng = np.random.default_rng(seed)
        houses, streets = size or 200, 20
        level, street = rng.standard_normal(streets), rng.integers(0, streets, houses)
        graph = HeteroGraph.build(
            {"house": houses, "street": streets},
            {("street", "has", "house"): [street, np.arange(houses)]},
            {"house": rng.standard_normal((houses, 2)), "street": level[:, None]},
            ids={"house": [f"house {n}" for n in range(houses)]},
            reverse=True,
        )
        cuts = np.split(rng.permutation(houses), [houses // 2, 3 * houses // 4])
        parts = dict(zip(("train", "val", "test"), cuts, strict=True))
        return Problem(graph, NodeRegression.build("house", 10 + 3 * level[street], parts))

    def card(self) -> Card:
        """Where it comes from."""
        return Card("made", "none", "streets tell", "random", (), {}, {}, {})
