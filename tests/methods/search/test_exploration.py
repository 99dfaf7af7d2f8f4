"""What chance decides in a DiffMG search, drawn before it starts."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from diffmg.methods.search._gradient import Architecture
from diffmg.methods.search.diffmg import DiffMG, Exploration
from resuming import resumed, run
from searches import architecture_of, search_of


def explored(tower: Architecture, seed: int = 0, **options) -> Exploration:
    """What chance decides in a search of this one tower."""
    (found,) = Exploration.draw(DiffMG(**options), [tower], seed)
    return found


def samples(tower: Architecture, epochs: int, **options) -> Tensor:
    """(epochs, links): what is taken in each epoch if λ stays as it is and ε too."""
    chance = explored(tower, epochs=epochs, decay=1.0, **options)
    return torch.stack([chance.pick(tower.best(), torch.tensor([done])) for done in range(epochs)])


@pytest.mark.parametrize("coin", ["link", "tower"])
def test_exploration_decays(classification, coin):
    """In epoch n a link is explored with probability ε·decay^n; both coins have that share."""
    tower, seeds, epochs = architecture_of(classification), 1500, 8
    tables = [explored(tower, seed, epochs=epochs, epsilon=0.8, decay=0.7, coin=coin) for seed in range(seeds)]
    share = torch.stack([table.explores for table in tables]).double().mean(dim=(0, 2))
    wanted = 0.8 * 0.7 ** torch.arange(epochs, dtype=torch.float64)
    tosses = seeds * (len(tower.counts) if coin == "link" else 1)
    assert ((share - wanted).abs() < 4 * (wanted * (1 - wanted) / tosses).sqrt()).all()


def test_a_decay_of_zero_explores_in_the_first_epoch_only(classification):
    table = explored(architecture_of(classification), epochs=5, epsilon=1.0, decay=0.0)
    assert table.explores[0].all()
    assert not table.explores[1:].any()


@pytest.mark.parametrize("coin", ["link", "tower"])
def test_the_links_of_a_tower_share_a_toss_only_where_the_coin_is_the_towers(classification, coin):
    table = explored(architecture_of(classification), epochs=200, epsilon=0.5, decay=1.0, coin=coin)
    alike = (table.explores == table.explores[:, :1]).all(dim=1)
    assert table.explores.any()
    assert not table.explores.all()
    assert bool(alike.all()) == (coin == "tower")


def test_explored_links_take_what_was_drawn_and_the_others_the_best(classification):
    tower = architecture_of(classification)
    table = explored(tower, epochs=30, epsilon=0.5, decay=1.0)
    best = torch.arange(len(tower.counts)) - 100
    for done in range(30):
        picks = table.pick(best, torch.tensor([done])).tolist()
        rows = zip(table.explores[done].tolist(), table.anything[done].tolist(), best.tolist(), strict=True)
        assert picks == [drawn if explores else star for explores, drawn, star in rows]


@pytest.mark.parametrize("coin", ["link", "tower"])
def test_towers_are_explored_on_their_own(recommendation, coin):
    search = search_of(recommendation, epsilon=0.5, decay=1.0, coin=coin)
    users, items = search.exploration
    shape = (search.options.epochs, len(search.towers[0].counts))
    assert users.explores.shape == users.anything.shape == items.explores.shape == items.anything.shape == shape
    assert not torch.equal(users.explores, items.explores)
    assert not torch.equal(users.anything, items.anything)


def test_chance_depends_on_the_seed_alone(problem):
    def tables(seed: int) -> list[Tensor]:
        return [t for e in search_of(problem, seed, epochs=20).exploration for t in (e.explores, e.anything)]

    torch.manual_seed(1)
    first = tables(3)
    torch.manual_seed(2)
    assert all(torch.equal(a, b) for a, b in zip(first, tables(3), strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(first, tables(4), strict=True))


def test_a_search_takes_what_was_drawn_for_its_epoch(problem):
    """Also after it was stopped and taken up again."""
    straight = search_of(problem, epochs=6, epsilon=1.0, decay=1.0)
    seen: list[list[list[int]]] = []
    real = straight._two_levels
    straight._two_levels = lambda chosen, picks: seen.append([p.tolist() for p in picks]) or real(chosen, picks)
    run(straight, 3)
    again = resumed(straight, lambda: search_of(problem, epochs=6, epsilon=1.0, decay=1.0))
    rest = again._two_levels
    again._two_levels = lambda chosen, picks: seen.append([p.tolist() for p in picks]) or rest(chosen, picks)
    run(again)
    assert seen == [[e.anything[n].tolist() for e in straight.exploration] for n in range(6)]


def test_without_exploration_the_sample_is_the_best(classification):
    tower = architecture_of(classification)
    assert (samples(tower, 20, epsilon=0.0) == tower.best()).all()


@pytest.mark.parametrize("coin", ["link", "tower"])
def test_full_exploration_is_uniform_over_the_candidates(classification, coin):
    tower = architecture_of(classification)
    taken = samples(tower, 2000, epsilon=1.0, coin=coin)
    for link, count in enumerate(tower.counts.tolist()):
        share = torch.bincount(taken[:, link], minlength=count) / len(taken)
        assert len(share) == count
        assert (share * count - 1).abs().max() < 0.35


@pytest.mark.parametrize("coin", ["link", "tower"])
def test_the_coin_is_tossed_for_each_link_or_for_the_tower(classification, coin):
    """Share of samples that are the best everywhere: (1 - ε + ε/n) over the links, or 1 - ε + ε/size."""
    tower, epsilon = architecture_of(classification), 0.3
    share = (samples(tower, 4000, epsilon=epsilon, coin=coin) == tower.best()).all(dim=1).double().mean().item()
    by_link = torch.prod(1 - epsilon + epsilon / tower.counts).item()
    by_tower = 1 - epsilon + epsilon / tower.space.size
    assert share == pytest.approx(by_link if coin == "link" else by_tower, abs=0.03)
    assert abs(by_link - by_tower) > 0.1
