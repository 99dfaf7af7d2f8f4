from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bank import bank
from diffmg.core.errors import DiffmgError


@pytest.mark.parametrize("as_type", [int, bool, float])
def test_a_feature_that_is_the_label_is_refused(as_type: type) -> None:
    def plant(tables: Any, described: Any, left: np.ndarray, rng: Any) -> None:
        tables["customers"]["gone"] = left.astype(as_type)

    with pytest.raises(DiffmgError, match=r"must not be the label, but got customer.gone with the values of 'left'"):
        bank(plant)


def test_names_of_classes_are_compared_too() -> None:
    def plant(tables: Any, described: Any, left: np.ndarray, rng: Any) -> None:
        tables["customers"] |= {"left": np.where(left, "yes", "no"), "gone": np.where(left, "yes", "no")}

    with pytest.raises(DiffmgError, match="leave it out of `features` of"):
        bank(plant)


def test_a_column_that_differs_in_one_row_is_not() -> None:
    def plant(tables: Any, described: Any, left: np.ndarray, rng: Any) -> None:
        tables["customers"]["gone"] = np.where(np.arange(len(left)) % 50 == 0, 2, left)

    assert bank(plant).graph.num_nodes["customer"] == 400
