from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from baseline_checks import CHOICES, shop
from diffmg.core.errors import DiffmgError
from diffmg.methods.baselines import _item_weights
from diffmg.methods.baselines.ease import Ease
from diffmg.methods.baselines.item_knn import ItemKNN
from fitted_checks import SETTINGS, assert_a_saved_network_predicts_by_itself, outputs


def chosen() -> np.ndarray:
    r = np.zeros((4, 4))
    for user, item in CHOICES:
        r[user, item] = 1
    return r


def test_the_weights_minimise_the_penalised_error():
    """Found by a general optimiser over the entries off the diagonal."""
    r, off = chosen(), ~np.eye(4, dtype=bool)

    def error(entries: np.ndarray) -> float:
        w = np.zeros((4, 4))
        w[off] = entries
        return np.square(r - r @ w).sum() + 0.5 * np.square(w).sum()

    wanted = np.zeros((4, 4))
    wanted[off] = minimize(error, np.zeros(12), tol=1e-12).x
    users, items = outputs(Ease(l2=0.5), shop())
    assert torch.equal(users, torch.from_numpy(r).float())
    np.testing.assert_allclose(items.numpy(), wanted.T, atol=1e-4)
    np.testing.assert_allclose((users @ items.T).numpy(), r @ wanted, atol=1e-4)


def test_a_saved_network_predicts_by_itself():
    assert_a_saved_network_predicts_by_itself(Ease(), shop())


def test_too_many_items_are_refused(monkeypatch):
    monkeypatch.setattr(_item_weights, "MOST_NUMBERS", 31)
    with pytest.raises(DiffmgError, match=r"<= 31.*'ease'.*but got 4 users and 4 items"):
        Ease().check(shop(), SETTINGS)
    monkeypatch.setattr(_item_weights, "MOST_NUMBERS", 32)
    Ease().check(shop(), SETTINGS)


@pytest.mark.parametrize("kind", [Ease, ItemKNN])
def test_cheap_goes_by_the_items_that_somebody_chose(kind, monkeypatch):
    """Three of four."""
    monkeypatch.setattr(kind, "cheap_items", 3)
    assert kind().is_cheap(shop())
    monkeypatch.setattr(kind, "cheap_items", 2)
    assert not kind().is_cheap(shop())


def test_only_the_weights_of_chosen_items_are_stored():
    network = Ease().network(shop(), SETTINGS, 0)
    network.fit(shop(), 0)
    assert network.kept("chosen").tolist() == [0, 1, 2]
    assert network.kept("block").shape == (3, 3)


def test_bad_options():
    with pytest.raises(DiffmgError, match="l2"):
        Ease(l2=0.0)
