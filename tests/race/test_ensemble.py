from __future__ import annotations

from itertools import combinations_with_replacement

import pytest
import torch

from diffmg.race.ensemble import choose_ensemble, diverse_pool

TRUE = torch.tensor([1.0, 0.0, 1.0, 0.0, 1.0, 0.0])


def closeness(votes):
    return -float((votes - TRUE).square().mean())


def noisy(seed, share=0.5):
    return TRUE + share * torch.randn(6, generator=torch.Generator().manual_seed(seed))


def test_one_model_is_the_ensemble():
    assert choose_ensemble([TRUE], closeness) == {0: 1.0}


def test_never_below_the_best_model():
    votes = [noisy(seed) for seed in range(12)]
    shares = choose_ensemble(votes, closeness)
    mean = sum(share * votes[n] for n, share in shares.items())
    assert closeness(mean) > max(map(closeness, votes))
    assert sum(shares.values()) == pytest.approx(1)


def test_it_is_as_good_as_trying_everything():
    """Three models, up to six additions: greedy comes within a hair of the best of all multisets."""
    votes = [noisy(seed) for seed in range(3)]
    shares = choose_ensemble(votes, closeness, rounds=6)
    got = closeness(sum(share * votes[n] for n, share in shares.items()))
    every = [pick for size in range(1, 7) for pick in combinations_with_replacement(range(3), size)]
    best = max(closeness(torch.stack([votes[n] for n in pick]).mean(dim=0)) for pick in every)
    assert got >= best - 0.01


def test_a_harmful_model_stays_out():
    assert set(choose_ensemble([noisy(0, 0.1), -TRUE, noisy(1, 0.1)], closeness)) <= {0, 2}


def test_ties_go_to_the_first():
    assert choose_ensemble([TRUE, TRUE.clone(), TRUE.clone()], closeness) == {0: 1.0}


def test_models_that_validation_cannot_tell_apart_begin_together():
    """The second and the third differ from the best by less than the margin; the last one does not."""
    level = [TRUE + 0.1 * torch.eye(6)[n] * (1 + n / 100) for n in range(3)]
    shares = choose_ensemble([*level, -TRUE], closeness, margin=0.01, rounds=3)
    assert shares == pytest.approx({0: 1 / 3, 1: 1 / 3, 2: 1 / 3})
    assert choose_ensemble([*level, -TRUE], closeness, rounds=1) == {0: 1.0}


def test_the_pool_prefers_models_that_differ():
    """Two close relatives of the best wait until there is room; the first of another kind is always in."""
    base, other, third = (torch.randn(50, generator=torch.Generator().manual_seed(n)) for n in range(3))
    votes = [base, base + 0.01 * other, 2 * base + 1, other, third]
    kinds = ["given", "given", "given", "given", "gcn"]
    assert diverse_pool(votes, kinds, most=2) == [0, 4]
    assert diverse_pool(votes, kinds, most=3) == [0, 3, 4]
    assert diverse_pool(votes, kinds, most=4) == [0, 1, 3, 4]
    assert diverse_pool(votes, kinds) == [0, 1, 2, 3, 4]
