from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from diffmg.core.errors import DiffmgError
from diffmg.methods.search.snas import Snas, gumbel
from resuming import run
from rivals import assert_same, rows, started, step_of_lambda, step_of_weights


def sampled(search, epoch: int):
    """softmax((λ + G) / τ) for every link, one list a tower."""
    options = search.options
    share = epoch / (options.epochs - 1)
    temperature = math.exp((1 - share) * math.log(options.temperature) + share * math.log(options.final_temperature))
    towers = []
    for number, noise in enumerate(search.noise):
        parts = [(row + g[: len(row)]) / temperature for row, g in zip(rows(search, number), noise[epoch], strict=True)]
        towers.append(torch.cat([part.exp() / part.exp().sum() for part in parts]))
    return towers


def test_an_iteration_by_hand(problem):
    """One sample serves both updates; the gradient goes through it to every λ."""
    search, hand = (started(Snas(temperature=2.0), problem) for _ in range(2))
    graph, task = problem.graph, problem.task
    train_loss = task.loss(hand.model(graph, hand.everything, [w.detach() for w in sampled(hand, 0)]), "train")
    step_of_weights(hand, train_loss)
    outputs = hand.model(graph, hand.everything, sampled(hand, 0))
    val_loss = task.loss(outputs, "val")
    step_of_lambda(hand, val_loss)
    (record,) = search.advance()
    assert_same(search, hand, record, (train_loss, val_loss, task.scores(outputs, "val")[task.metric]))


def test_samples_of_every_epoch_by_their_formula(problem):
    search = started(Snas(epochs=5), problem)
    for epoch in range(5):
        torch.testing.assert_close(search._samples(torch.tensor([epoch])), sampled(search, epoch), rtol=1e-4, atol=1e-6)


def test_the_temperature_falls_by_one_factor_from_the_first_to_the_last_epoch():
    found = Snas(epochs=9, temperature=4.0, final_temperature=0.25).temperatures()
    np.testing.assert_allclose(found, np.geomspace(4.0, 0.25, 9))
    assert Snas(epochs=1).temperatures().tolist() == [1.0]


def test_cold_samples_are_one_candidate_a_link(classification):
    search = started(Snas(temperature=1e-4, final_temperature=1e-4), classification)
    (weights,) = search._samples(torch.tensor([3]))
    for part in weights.split(search.towers[0].counts.tolist()):
        assert part.max() > 0.99


def test_each_candidate_is_the_largest_as_often_as_alpha_says(classification):
    """The Gumbel-max trick: the arg-max of λ + G is a draw from softmax(λ)."""
    search = started(Snas(epochs=8000), classification)
    tower = search.towers[0]
    with torch.no_grad():
        tower.parameter.copy_(torch.linspace(0, 1.5, tower.parameter.shape[1]))
    disturbed = (tower.parameter + search.noise[0]).masked_fill(tower.mask, -torch.inf)
    share = torch.nn.functional.one_hot(disturbed.argmax(dim=2), tower.mask.shape[1]).double().mean(dim=0)
    assert (share - tower.alpha()).abs().max() < 0.025


def test_noise_has_the_moments_of_gumbel():
    noise = gumbel((200, 500), torch.Generator().manual_seed(0)).double()
    assert noise.isfinite().all()
    assert noise.mean().item() == pytest.approx(0.5772156649, abs=0.02)
    assert noise.var().item() == pytest.approx(math.pi**2 / 6, rel=0.02)


def test_the_noise_depends_on_the_seed_alone_and_towers_have_their_own(recommendation):
    torch.manual_seed(1)
    first = started(Snas(), recommendation, seed=3).noise
    torch.manual_seed(2)
    again, other = started(Snas(), recommendation, seed=3).noise, started(Snas(), recommendation, seed=4).noise
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[0], other[0])
    assert not torch.equal(first[0].flatten()[:20], first[1].flatten()[:20])


def test_what_is_saved_holds_no_chance(problem):
    search = started(Snas(epochs=3), problem)
    run(search, 2)
    assert search.numbers() == {}
    assert {name.split(".")[0] for name in search.tensors()} == {"model", "adam", "arch_adam", "arch"}


@pytest.mark.parametrize("wrong", [{"final_temperature": 0.0}, {"temperature": 0.05}, {"final_temperature": 2.0}])
def test_the_temperature_must_fall(wrong):
    with pytest.raises(DiffmgError, match="0 < final_temperature <= temperature"):
        Snas(**wrong)
