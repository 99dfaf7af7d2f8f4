from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from baseline_checks import CHOICES, shop
from diffmg.core.errors import DiffmgError
from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.methods.auto import rival_space
from diffmg.methods.baselines import _item_weights, ease
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


@pytest.mark.parametrize("problem", [shop(), load_dataset("films:120")], ids=["shop", "films"])
def test_of_full_rank_what_a_user_did_not_choose_has_the_exact_scores(problem):
    exact, low = (outputs(Ease(l2=0.5, rank=rank), problem) for rank in (None, 10_000))
    unknown = exact[0] == 0 if problem.task.kind == "ranking" else torch.from_numpy(chosen() == 0)
    assert unknown.any()
    assert low[0].shape[1] == low[1].shape[1] == min(len(low[0]), len(low[1]))
    torch.testing.assert_close((low[0] @ low[1].T)[unknown], (exact[0] @ exact[1].T)[unknown], atol=1e-4, rtol=1e-4)


def test_a_lower_rank_has_the_scores_of_the_largest_singular_values():
    """Written out with NumPy's decomposition; so near the full rank, the random projection loses nothing."""
    problem = load_dataset("films:120")
    r = outputs(Ease(), problem)[0].double().numpy()
    rank = min(r.shape) - 10
    _, s, vt = np.linalg.svd(r, full_matrices=False)
    v, shrunk = vt[:rank].T, s[:rank] ** 2 / (s[:rank] ** 2 + 3.0)
    around = v @ np.diag(shrunk) @ v.T
    users, items = outputs(Ease(l2=3.0, rank=rank), problem)
    assert users.shape[1] == rank
    np.testing.assert_allclose((users @ items.T).numpy(), r @ around / (1 - np.diag(around)), atol=1e-4)


@pytest.mark.parametrize("method", [Ease(), Ease(rank=2)])
def test_a_saved_network_predicts_by_itself(method):
    assert_a_saved_network_predicts_by_itself(method, shop())


def test_too_many_items_are_refused(monkeypatch):
    monkeypatch.setattr(_item_weights, "MOST_NUMBERS", 31)
    with pytest.raises(DiffmgError, match=r"<= 31.*'ease'.*but got 4 users and 4 items with 4 columns"):
        Ease().check(shop(), SETTINGS)
    monkeypatch.setattr(_item_weights, "MOST_NUMBERS", 32)
    Ease().check(shop(), SETTINGS)
    monkeypatch.setattr(_item_weights, "MOST_NUMBERS", 16)
    Ease(rank=2).check(shop(), SETTINGS)
    with pytest.raises(DiffmgError, match=r"<= 16.*with 3 columns.*rank=256"):
        Ease(rank=3).check(shop(), SETTINGS)


def test_a_race_takes_a_low_rank_where_many_items_are_ranked(monkeypatch):
    problem = load_dataset("films:120")
    size = sum(problem.graph.num_nodes[t] for t in problem.task.target_types)

    def tried():
        space = rival_space("ease", problem, Settings())
        return {(c.method.l2, c.method.rank) for s in space.values() for c in s.seeds()}

    assert tried() == {(500.0, None)}
    monkeypatch.setattr(Ease, "cheap_items", 2)
    assert tried() == {(500.0, 1024)}
    monkeypatch.setattr(ease, "CHEAP_NUMBERS", 600 * size)
    assert tried() == {(500.0, 512)}
    monkeypatch.setattr(ease, "CHEAP_NUMBERS", 200 * size)
    assert tried() == set()


def test_pairs_are_not_worth_a_decomposition(monkeypatch):
    monkeypatch.setattr(Ease, "cheap_items", 2)
    assert not Ease(rank=256).is_cheap(shop())
    assert rival_space("ease", shop(), Settings()) == {}


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
    with pytest.raises(DiffmgError, match="rank"):
        Ease(rank=0)
