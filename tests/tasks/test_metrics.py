from __future__ import annotations

import warnings
from math import log2

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn import metrics as sk

from diffmg.tasks.metrics import (
    accuracy,
    auc,
    auc_of,
    average_precision,
    macro_f1,
    micro_f1,
    ndcg_at_k,
    r2,
    recall_at_k,
)

CLASSES = 4


@st.composite
def scored_labels(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Few different scores, so that ties abound; both labels are there."""
    n = draw(st.integers(2, 30))
    scores = draw(st.lists(st.sampled_from([-1.5, -0.0, 0.0, 0.25, 3.0]), min_size=n, max_size=n))
    labels = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    assume(0 < labels.sum() < n)
    return np.array(scores, np.float32), labels


@st.composite
def decisions(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Predicted and true classes (n,); some classes may be in neither."""
    n = draw(st.integers(1, 20))
    some = st.lists(st.integers(0, CLASSES - 1), min_size=n, max_size=n)
    return np.array(draw(some)), np.array(draw(some))


@st.composite
def many_decisions(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Predicted and true labels (n, C) of zeros and ones."""
    n = draw(st.integers(1, 8)) * CLASSES
    some = st.lists(st.integers(0, 1), min_size=n, max_size=n)
    return tuple(np.array(draw(some)).reshape(-1, CLASSES) for _ in range(2))


@st.composite
def rankings(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """Scores without ties and relevance of items for each user, each with a relevant item; a length of list."""
    users, items = draw(st.integers(1, 4)), draw(st.integers(2, 8))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    scores = rng.permuted(np.tile(np.arange(items), (users, 1)), axis=1).astype(float)
    relevant = rng.random((users, items)) < draw(st.sampled_from([0.1, 0.5, 0.9]))
    relevant[np.arange(users), rng.integers(0, items, users)] = True
    return scores, relevant, draw(st.integers(1, items))


def hits_of(scores: np.ndarray, relevant: np.ndarray, k: int) -> torch.Tensor:
    """Whether each of the k best items is relevant, best first."""
    best = np.argsort(-scores, axis=1)[:, :k]
    return torch.from_numpy(np.take_along_axis(relevant, best, axis=1))


def tensors(*arrays: np.ndarray) -> tuple[torch.Tensor, ...]:
    return tuple(torch.from_numpy(a) for a in arrays)


def scikit_f1(true: np.ndarray, predicted: np.ndarray, average: str) -> float:
    return sk.f1_score(true, predicted, average=average, zero_division=0)


@given(scored_labels())
def test_auc_equals_scikit_learn(sample):
    scores, labels = sample
    assert auc(*tensors(scores, labels)).item() == pytest.approx(sk.roc_auc_score(labels, scores))


@given(scored_labels())
def test_average_precision_equals_scikit_learn(sample):
    scores, labels = sample
    assert average_precision(*tensors(scores, labels)).item() == pytest.approx(
        sk.average_precision_score(labels, scores)
    )


@given(decisions())
def test_scores_of_one_label_equal_scikit_learn(sample):
    predicted, true = sample
    given_ = tensors(predicted, true)
    assert accuracy(*given_).item() == pytest.approx(sk.accuracy_score(true, predicted))
    assert macro_f1(*given_, CLASSES).item() == pytest.approx(scikit_f1(true, predicted, "macro"))
    assert micro_f1(*given_, CLASSES).item() == pytest.approx(scikit_f1(true, predicted, "micro"))


@given(many_decisions())
def test_scores_of_several_labels_equal_scikit_learn(sample):
    predicted, true = sample
    given_ = tensors(predicted, true)
    assert accuracy(*given_).item() == pytest.approx(sk.accuracy_score(true, predicted))
    assert macro_f1(*given_, CLASSES).item() == pytest.approx(scikit_f1(true, predicted, "macro"))
    assert micro_f1(*given_, CLASSES).item() == pytest.approx(scikit_f1(true, predicted, "micro"))


@given(rankings())
def test_recall_at_k_equals_a_plain_loop(sample):
    scores, relevant, k = sample
    shares = []
    for user, row in enumerate(scores):
        best = sorted(range(len(row)), key=lambda item: -row[item])[:k]
        shares.append(sum(relevant[user, item] for item in best) / relevant[user].sum())
    got = recall_at_k(hits_of(*sample).double(), torch.from_numpy(relevant.sum(axis=1)))
    assert got.item() == pytest.approx(np.mean(shares))


@given(rankings())
def test_ndcg_at_k_equals_a_plain_loop(sample):
    scores, relevant, k = sample
    gains = []
    for user, row in enumerate(scores):
        best = sorted(range(len(row)), key=lambda item: -row[item])[:k]
        gain = sum(relevant[user, item] / log2(place + 2) for place, item in enumerate(best))
        gains.append(gain / sum(1 / log2(place + 2) for place in range(min(k, relevant[user].sum()))))
    got = ndcg_at_k(hits_of(*sample).double(), torch.from_numpy(relevant.sum(axis=1)))
    assert got.item() == pytest.approx(np.mean(gains))


@given(rankings())
def test_ndcg_at_k_equals_scikit_learn(sample):
    scores, relevant, k = sample
    got = ndcg_at_k(hits_of(*sample).double(), torch.from_numpy(relevant.sum(axis=1)))
    assert got.item() == pytest.approx(sk.ndcg_score(relevant.astype(float), scores, k=k))


@pytest.mark.parametrize("labels", [[1, 1], [0, 0]])
def test_auc_of_one_label_is_undefined(labels):
    """As in scikit-learn, which also warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(sk.roc_auc_score(labels, [0.1, 0.2]))
    assert auc(torch.tensor([0.1, 0.2]), torch.tensor(labels)).isnan()


@pytest.mark.parametrize("score", [auc, average_precision])
@pytest.mark.parametrize("scores", [[np.nan] * 4, [np.nan, 1.0, 2.0, 3.0], [3.0, 1.0, 2.0, np.nan]])
def test_scores_that_are_no_numbers_are_not_rated(score, scores):
    """A model that diverged must not look better than one that did not."""
    assert score(torch.tensor(scores), torch.tensor([1, 0, 1, 0])).isnan()


@given(scored_labels())
def test_auc_of_two_groups_equals_scikit_learn(sample):
    """Ties within a group and between them; the order within a group does not matter."""
    scores, labels = sample
    positive, negative = tensors(scores[labels == 1], scores[labels == 0])
    wanted = pytest.approx(sk.roc_auc_score(labels, scores))
    assert auc_of(positive, negative).item() == wanted
    assert auc_of(positive.flip(0), negative.flip(0)).item() == wanted


@given(scored_labels())
def test_auc_of_two_groups_is_the_share_of_pairs_in_the_right_order(sample):
    scores, labels = sample
    pairs = [(p, n) for p in scores[labels == 1] for n in scores[labels == 0]]
    share = sum(1.0 if p > n else 0.5 if p == n else 0.0 for p, n in pairs) / len(pairs)
    assert auc_of(*tensors(scores[labels == 1], scores[labels == 0])).item() == pytest.approx(share)


@pytest.mark.parametrize(("positive", "negative"), [([], [0.5, 0.1]), ([0.5, 0.1], []), ([], [])])
def test_auc_with_an_empty_group_is_undefined(positive, negative):
    assert auc_of(torch.tensor(positive), torch.tensor(negative)).isnan()


@pytest.mark.parametrize(
    ("positive", "negative"), [([np.nan], [0.0]), ([1.0], [np.nan]), ([1.0, np.nan, 3.0], [0.0]), ([np.nan], [np.nan])]
)
def test_auc_of_groups_with_what_is_no_number_is_none(positive, negative):
    assert auc_of(torch.tensor(positive), torch.tensor(negative)).isnan()


def test_auc_leaves_the_scores_as_they_are_and_takes_no_part_in_gradients():
    scores = torch.tensor([0.3, -1.0, 2.0, 0.5], requires_grad=True)
    area = auc_of(scores[:2], scores[2:])
    assert not area.requires_grad
    assert area.item() == 0.0
    assert scores.tolist() == pytest.approx([0.3, -1.0, 2.0, 0.5])


def test_auc_of_equal_scores_is_a_half():
    assert auc(torch.zeros(5), torch.tensor([1, 0, 0, 1, 0])).item() == 0.5


def test_auc_is_exact_for_many_pairs():
    """Ranks beyond what single precision holds."""
    n = 2**13
    labels = torch.arange(n) % 2
    assert auc(labels + torch.arange(n), labels.float()).item() == pytest.approx(
        sk.roc_auc_score(labels.numpy(), (labels + torch.arange(n)).numpy()), abs=1e-12
    )


def test_infinite_and_huge_scores_are_numbers():
    inf = float("inf")
    assert auc_of(torch.tensor([inf]), torch.tensor([-inf])).item() == 1.0
    assert auc_of(torch.tensor([3e38, 3e38]), torch.tensor([-3e38, -3e38])).item() == 1.0


def test_whole_numbers_of_one_class_have_no_auc():
    assert auc(torch.tensor([1, 2]), torch.tensor([1, 1])).isnan()


def test_r2_of_a_constant_is_that_of_scikit_learn():
    true = torch.full((3, 1), 0.1).double()
    assert float(r2(true, true)) == 1
    assert float(r2(true + 1, true)) == sk.r2_score(true.numpy(), true.numpy() + 1) == 0
    assert r2(true * torch.nan, true).isnan()
