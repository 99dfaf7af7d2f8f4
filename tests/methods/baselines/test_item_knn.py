from __future__ import annotations

import numpy as np
import pytest
import torch

from baseline_checks import CHOICES, shop
from diffmg.core.errors import DiffmgError
from diffmg.methods.baselines import item_knn
from diffmg.methods.baselines.item_knn import ItemKNN
from fitted_checks import assert_a_saved_network_predicts_by_itself, outputs


def oracle(neighbours: int, shrinkage: float) -> np.ndarray:
    """Item by item: users in common over the root of the product of users, the largest ones kept."""
    users = {item: {u for u, i in CHOICES if i == item} for item in range(4)}
    weights = np.zeros((4, 4))
    for one in range(4):
        found = {}
        for other in set(range(4)) - {one}:
            below = (len(users[one]) * len(users[other])) ** 0.5 + shrinkage
            found[other] = len(users[one] & users[other]) / below if below else 0.0
        for other in sorted(found, key=lambda o: -found[o])[:neighbours]:
            weights[one, other] = found[other]
    return weights


@pytest.mark.parametrize("chunk", [1024, 3])
@pytest.mark.parametrize(("neighbours", "shrinkage"), [(1, 0.0), (2, 0.5), (50, 10.0)])
def test_scores_are_sums_of_similarities(neighbours, shrinkage, chunk, monkeypatch):
    monkeypatch.setattr(item_knn, "CHUNK", chunk)
    users, items = outputs(ItemKNN(neighbours=neighbours, shrinkage=shrinkage), shop())
    weights = torch.from_numpy(oracle(neighbours, shrinkage)).float()
    torch.testing.assert_close(items, weights)
    for user in range(4):
        for item in range(4):
            wanted = sum(weights[item, other] for u, other in CHOICES if u == user)
            assert (users @ items.T)[user, item] == pytest.approx(float(wanted), abs=1e-6)


def test_only_neighbours_are_stored():
    network = ItemKNN(neighbours=2).network(shop(), item_knn.Settings(), 0)
    network.fit(shop(), 0)
    assert {name: tuple(t.shape) for name, t in network.state_dict().items()} == {
        "neighbours": (4, 2),
        "similarities": (4, 2),
    }


def test_a_saved_network_predicts_by_itself():
    assert_a_saved_network_predicts_by_itself(ItemKNN(), shop())


@pytest.mark.parametrize("options", [{"neighbours": 0}, {"shrinkage": -1.0}])
def test_bad_options(options):
    with pytest.raises(DiffmgError, match=next(iter(options))):
        ItemKNN(**options)
