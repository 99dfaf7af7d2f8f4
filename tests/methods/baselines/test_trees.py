from __future__ import annotations

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingRegressor

from diffmg.methods.baselines import _trees
from diffmg.methods.baselines._trees import Tree, Trees, tree_from_lightgbm, tree_from_sklearn

STUMP = Tree(*np.array([[1, 0.5, 1, 1, 2, 0], [0, 0, 0, 1, 1, -1.0], [0, 0, 0, 2, 2, 3.0]]).T)
"""Column 1 at most 0.5, or missing: -1; else 3."""
DUMP = {
    "split_feature": 0, "threshold": 2.0, "decision_type": "<=", "default_left": False, "missing_type": "NaN",
    "left_child": {"leaf_value": 10.0},
    "right_child": {
        "split_feature": 1, "threshold": -1.0, "decision_type": "<=", "default_left": True, "missing_type": "None",
        "left_child": {"leaf_value": 20.0}, "right_child": {"leaf_value": 30.0},
    },
}  # fmt: skip
X = torch.tensor([[0.0, 0.5], [3.0, 0.6], [torch.nan, torch.nan], [3.0, -1.0]])


def by_hand(row: list[float]) -> tuple[float, float]:
    """Of the stump, and of the dump; LightGBM reads a missing value as 0 where training had none."""
    first, second = row
    stump = -1.0 if np.isnan(second) or second <= 0.5 else 3.0
    if first <= 2.0:
        return stump, 10.0
    second = 0.0 if np.isnan(second) else second
    return stump, 20.0 if second <= -1.0 else 30.0


def test_every_row_falls_into_its_leaf():
    trees = Trees.join([(0, STUMP), (2, tree_from_lightgbm(DUMP)), (2, STUMP)], [0.5, 1.0, 2.0])
    wanted = []
    for row in X.tolist():
        stump, dump = by_hand(row)
        wanted.append([0.5 + stump, 1.0, 2.0 + dump + stump])
    assert trees.scores(X).tolist() == wanted


def test_many_rows_are_walked_in_parts(monkeypatch):
    trees = Trees.join([(0, STUMP), (1, STUMP)], [0.0, 0.0])
    whole = trees.scores(X.repeat(5, 1))
    monkeypatch.setattr(_trees, "CHUNK", 6)
    assert torch.equal(trees.scores(X.repeat(5, 1)), whole)


def test_without_trees_the_scores_are_the_start():
    assert Trees.join([], [1.0, -2.0]).scores(X).tolist() == [[1.0, -2.0]] * 4


def test_a_single_leaf_is_a_tree():
    assert Trees.join([(0, tree_from_lightgbm({"leaf_value": 4.0}))], [1.0]).scores(X).tolist() == [[5.0]] * 4


def test_buffers_are_all_that_is_needed():
    trees = Trees.join([(0, STUMP)], [0.0])
    assert torch.equal(Trees(**trees.buffers()).scores(X), trees.scores(X))


def test_a_split_by_what_is_missing_has_a_finite_threshold_and_the_same_answers():
    x = np.where(np.arange(200) % 2, np.nan, np.linspace(-1e30, 1e30, 200))[:, None]
    grown = HistGradientBoostingRegressor(max_iter=3).fit(x, np.isnan(x[:, 0]) * 5.0)
    nodes = [stage[0].nodes for stage in grown._predictors]
    assert any(np.isinf(n["num_threshold"]).any() for n in nodes)
    trees = Trees.join([(0, tree_from_sklearn(n)) for n in nodes], [float(grown._baseline_prediction.item())])
    assert all(tensor.isfinite().all() for tensor in trees.buffers().values())
    np.testing.assert_allclose(trees.scores(torch.from_numpy(x))[:, 0], grown.predict(x), rtol=1e-12)
