from __future__ import annotations

from math import log2

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

import diffmg.tasks.ranks as module
from diffmg.tasks.ranks import SCORES, Wanted, reach, score


@st.composite
def worlds(draw):
    """Scores with ties, and for each (user, item) whether it is wanted (1), known (2) or neither (0)."""
    users, items = draw(st.integers(1, 6)), draw(st.integers(2, 9))
    whole = st.lists(st.integers(-3, 3), min_size=users * items, max_size=users * items)
    kinds = st.lists(st.sampled_from([0, 0, 1, 2]), min_size=users * items, max_size=users * items)
    scores, kind = (np.array(draw(s)).reshape(users, items) for s in (whole, kinds))
    return scores.astype(np.float32), kind, draw(st.integers(1, items + 2))


def slowly(scores, kind, k):
    """The scores by definition, user by user: a tied item stands in the middle of those it is tied with."""
    found = {name: [] for name in SCORES}
    for row, marks in zip(scores, kind, strict=True):
        allowed = [i for i in range(len(row)) if marks[i] != 2]
        wanted = [i for i in allowed if marks[i] == 1]
        if not wanted:
            continue
        places = []
        for i in wanted:
            above = sum(row[j] > row[i] for j in allowed)
            tied = sum(row[j] == row[i] for j in allowed if j != i)
            places.append(above + tied / 2)
        ideal = sum(1 / log2(n + 2) for n in range(min(k, len(wanted))))
        found["ndcg"].append(sum(1 / log2(p + 2) for p in places if p < k) / ideal)
        found["recall"].append(sum(p < k for p in places) / len(wanted))
        found["hit_rate"].append(float(min(places) < k))
        found["mrr"].append(1 / (min(places) + 1))
    return {name: np.mean(values) for name, values in found.items()}


def wanted_of(kind) -> Wanted:
    return Wanted.build(sp.csr_matrix(kind == 1), sp.csr_matrix(kind == 2))


@given(worlds(), st.sampled_from([1, 7, 2**22]))
def test_scores_are_those_of_the_slow_computation_in_blocks_of_any_size(world, numbers):
    scores, kind, k = world
    if not (kind == 1).any():
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "NUMBERS", numbers)
        wanted = wanted_of(kind)
        ranks = wanted.ranks(lambda first, last: torch.from_numpy(scores[wanted.users.numpy()[first:last]].copy()))
    for name, value in slowly(scores, kind, k).items():
        assert float(score(name, wanted, ranks, k)) == pytest.approx(value), name


@given(st.integers(1, 40), st.integers(20, 200), st.integers(1, 6), st.integers(0, 999))
def test_places_within_a_list_are_those_of_the_whole_ranking(levels, items, k, seed):
    """Whole numbers as scores, so that there are ties at the end of the list."""
    rng = np.random.default_rng(seed)
    scores = torch.from_numpy(rng.integers(0, levels, (5, items)).astype(np.float32))
    wanted = wanted_of(rng.choice([0, 0, 0, 1, 2], (5, items)))

    def scored(first, last):
        return scores[wanted.users[first:last]].clone()

    whole, near = wanted.ranks(scored), wanted.ranks(scored, within=k)
    assert torch.equal(near[whole < k], whole[whole < k])
    assert (near[whole >= k] >= k).all()


@pytest.mark.parametrize("name", SCORES)
def test_no_score_asks_beyond_its_reach(name):
    rng = np.random.default_rng(0)
    scores, kind = torch.rand(20, 100), rng.choice([0, 0, 0, 1, 2], (20, 100))
    wanted = wanted_of(kind)

    def scored(first, last):
        return scores[wanted.users[first:last]].clone()

    assert score(name, wanted, wanted.ranks(scored, reach(name, 5)), 5) == score(name, wanted, wanted.ranks(scored), 5)


def test_a_model_that_scores_all_items_alike_is_no_better_than_the_middle():
    kind = np.eye(30, 50, dtype=int)
    wanted = wanted_of(kind)
    ranks = wanted.ranks(lambda first, last: torch.zeros(last - first, 50))
    assert set(ranks.tolist()) == {24.5}


@pytest.mark.parametrize("name", SCORES)
def test_scores_that_are_not_numbers_do_not_look_good(name):
    wanted = wanted_of(np.array([[1, 0, 0], [0, 1, 0]]))

    def scored(first, last):
        scores = torch.ones(2, 3)
        scores[1, 2] = torch.nan
        return scores[first:last]

    assert score(name, wanted, wanted.ranks(scored), 2).isnan()
