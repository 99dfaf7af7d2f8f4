from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, mean_absolute_error, roc_auc_score

from diffmg.core.task import RESAMPLES
from diffmg.tasks import ItemRanking, NodeClassification, NodeRegression, Recommendation
from diffmg.tasks import interactions as interactions_module
from diffmg.tasks.pair_details import resampled_pairs, score_per_user
from diffmg.tasks.pairs import Labelled
from diffmg.tasks.ranks import SCORES, score
from diffmg.tasks.resampling import LEAST, ROWS, Resampled, how_many, mean_on_resamples, resamples, rows_of_groups


def test_resamples_are_drawn_with_replacement_and_are_always_the_same() -> None:
    first, second = list(resamples(50)), list(resamples(50))
    assert len(first) == RESAMPLES
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert all(len(r) == 50 and int(r.min()) >= 0 and int(r.max()) < 50 for r in first)
    assert any(len(r.unique()) < 50 for r in first)


def test_large_parts_have_fewer_resamples() -> None:
    assert (how_many(1), how_many(ROWS // 100), how_many(10**9)) == (RESAMPLES, 100, LEAST)


def test_fewer_resamples_are_the_first_ones() -> None:
    few = list(resamples(50, 7))
    assert len(few) == how_many(50, 7) == how_many(10**9, 7) == 7
    assert all(torch.equal(a, b) for a, b in zip(few, resamples(50), strict=False))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.lists(st.integers(0, 4), min_size=5, max_size=5))
def test_rows_of_groups_are_as_many_as_their_groups_were_drawn(group: list[int], drawn: list[int]) -> None:
    rows = rows_of_groups(torch.tensor(group), 5, torch.tensor(drawn))
    wanted = [row for row, own in enumerate(group) for _ in range(drawn.count(own))]
    assert rows.tolist() == wanted


def test_the_error_of_a_mean_is_that_of_the_textbook() -> None:
    values = np.random.default_rng(0).normal(size=400)
    found = Resampled(mean_on_resamples(values), 400, "row")
    assert found.error == pytest.approx(values.std() / 20, rel=0.15)


def test_a_score_without_spread_has_no_error() -> None:
    assert Resampled(np.ones(RESAMPLES), 9, "row").error is None
    assert Resampled(np.full(RESAMPLES, np.nan), 9, "row").error is None


def test_scores_are_compared_one_by_one_where_both_are_known() -> None:
    one = Resampled(np.array([0.5, np.nan, 0.75, 1.0]), 9, "row")
    other = Resampled(np.array([0.25, 0.5, np.nan, 1.0]), 9, "row")
    assert one.minus(other).tolist() == [0.25, 0.0]


def test_a_classification_is_scored_on_each_resample_as_scikit_learn_does() -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 60)
    task = NodeClassification.build("a", labels, train=range(20), val=range(20, 30), test=range(30, 60))
    logits = torch.from_numpy(rng.normal(size=(60, 3)))
    found, few = task.resampled((logits,), "test"), task.resample_votes(task.votes((logits,), "test"), "test", 9)
    decided = logits.argmax(dim=1).numpy()
    wanted = [f1_score(labels[30 + r], decided[30 + r], average="macro") for r in map(np.asarray, resamples(30))]
    assert found is not None
    assert few is not None
    assert found.scores == pytest.approx(np.array(wanted))
    assert few.scores == pytest.approx(np.array(wanted[:9]))
    assert (found.units, found.of) == (30, "a")


def test_a_regression_is_scored_on_each_resample_as_scikit_learn_does() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(5, 3, 40)
    task = NodeRegression.build("a", values, train=range(15), val=range(15, 20), test=range(20, 40))
    outputs = torch.from_numpy(rng.normal(size=(40, 1))).float()
    predicted = task.predictions((outputs,))[:, 0]
    found = task.resampled((outputs,), "test")
    wanted = [mean_absolute_error(values[20 + r], predicted[20 + r]) for r in map(np.asarray, resamples(20))]
    assert found is not None
    assert found.scores == pytest.approx(np.array(wanted))


def test_a_task_without_a_test_part_is_not_resampled() -> None:
    task = NodeClassification.build("a", [0, 1, 0, 1], train=[0, 1], val=[2, 3])
    assert task.resampled((torch.zeros(4, 2),), "test") is None


def recommendation() -> tuple[Recommendation, tuple[torch.Tensor, ...]]:
    rng = np.random.default_rng(3)
    codes = rng.permutation(12 * 9)[:72]
    pairs = np.stack(np.divmod(codes, 9), axis=1)
    positives = {"train": pairs[:10], "val": pairs[10:16], "test": pairs[16:40]}
    negatives = {"train": pairs[40:46], "val": pairs[46:50], "test": pairs[50:]}
    task = Recommendation.build("u", "i", (12, 9), positives, negatives)
    return task, (torch.from_numpy(rng.normal(size=(12, 4))), torch.from_numpy(rng.normal(size=(9, 4))))


def test_pairs_are_drawn_with_their_users() -> None:
    task, outputs = recommendation()
    found = task.resampled(outputs, "test")
    test = task.parts["test"]
    left, labels = test.pairs.left.numpy(), test.labels.numpy()
    scores = (outputs[0][test.pairs.left.long()] * outputs[1][test.pairs.right.long()]).sum(dim=1).numpy()
    users = np.unique(left)
    wanted = []
    for drawn in resamples(len(users)):
        rows = [row for user in users[drawn.numpy()] for row in np.flatnonzero(left == user)]
        wanted.append(roc_auc_score(labels[rows], scores[rows]))
    assert found is not None
    assert found.scores == pytest.approx(np.array(wanted))
    assert found.units == len(users)


LIKED = {
    "train": [[0, 1], [0, 2], [1, 3], [2, 0], [2, 6], [3, 5]],
    "val": [[0, 3], [1, 0], [1, 2], [3, 1]],
    "test": [[0, 5], [2, 1], [3, 6], [3, 2]],
}


@pytest.mark.parametrize("levels", [2, 5, 1000])
def test_pairs_are_scored_on_each_resample_as_scikit_learn_does(levels: int) -> None:
    """Also where scores are tied; NaN where a resample has pairs of one kind alone."""
    rng = np.random.default_rng(levels)
    rows = np.unique(rng.integers(0, (6, 9), (25, 2)), axis=0)
    labelled = Labelled.build((rows[::3], rows[np.arange(len(rows)) % 3 > 0]), (6, 9))
    scores = torch.from_numpy(rng.integers(0, levels, len(rows)).astype(np.float32))
    users, labels = labelled.pairs.left.numpy(), labelled.labels.numpy()
    found = resampled_pairs(labelled, scores, "auc", "user", 40)
    known, group = np.unique(users, return_inverse=True)
    for drawn, got in zip(resamples(len(known), 40), found.scores, strict=True):
        weights = np.bincount(drawn.numpy(), minlength=len(known))[group]
        kinds = set(labels[weights > 0])
        wanted = roc_auc_score(labels, scores.numpy(), sample_weight=weights) if len(kinds) == 2 else np.nan
        assert got == pytest.approx(wanted, nan_ok=True)


@pytest.mark.parametrize("name", SCORES)
def test_the_score_of_a_ranking_is_the_mean_of_its_users(name: str) -> None:
    task = ItemRanking.build("u", "i", (5, 7), LIKED, metric=name, k=3)
    draw = torch.Generator().manual_seed(4)
    outputs = (torch.randn(5, 4, generator=draw), torch.randn(7, 4, generator=draw))
    wanted = task.parts["test"].wanted
    ranks = task.ranks(outputs, wanted)
    each = score_per_user(name, wanted, ranks, 3)
    assert len(each) == len({user for user, _ in LIKED["test"]})
    assert float(each.mean()) == pytest.approx(float(score(name, wanted, ranks, 3)))
    found = task.resampled(outputs, "test")
    assert found is not None
    first = next(iter(resamples(len(each))))
    assert found.scores[0] == pytest.approx(float(each[first].mean()))
    assert score_per_user(name, wanted, ranks * torch.nan, 3).isnan().all()


def slow_ndcg(votes: list[float], wanted: set[int], known: set[int], k: int) -> float:
    ranking = sorted((i for i in range(len(votes)) if i not in known), key=lambda i: -votes[i])[:k]
    gain = sum(1 / np.log2(place + 2) for place, item in enumerate(ranking) if item in wanted)
    return float(gain / sum(1 / np.log2(place + 2) for place in range(min(k, len(wanted)))))


@pytest.mark.parametrize("voters", [2, 3])
def test_votes_of_a_ranking_are_drawn_by_users_that_vote(voters: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs are judged on all three users of the part, votes on those that vote."""
    monkeypatch.setattr(interactions_module, "VOTES", 7 * voters)
    task = ItemRanking.build("u", "i", (5, 7), LIKED, k=3)
    draw = torch.Generator().manual_seed(5)
    outputs = (torch.randn(5, 4, generator=draw), torch.randn(7, 4, generator=draw))
    users = task.parts["val"].voters.users.tolist()
    assert len(users) == voters
    pairs = {part: {u: {i for v, i in LIKED[part] if v == u} for u in range(5)} for part in ("train", "val")}
    scores = (outputs[0] @ outputs[1].T).tolist()
    each = np.array([slow_ndcg(scores[u], pairs["val"][u], pairs["train"][u], 3) for u in users])
    found, whole = task.resample_votes(task.votes(outputs, "val"), "val", 12), task.resampled(outputs, "val")
    assert found is not None
    assert whole is not None
    assert found.scores == pytest.approx(np.array([each[r.numpy()].mean() for r in resamples(voters, 12)]))
    assert (found.units, whole.units) == (voters, 3)
