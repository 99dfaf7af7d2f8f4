from __future__ import annotations

import pytest
import torch

import oracle
from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import IDENTITY
from diffmg.methods.search.darts import Darts
from diffmg.methods.search.diffmg import DiffMG
from diffmg.methods.search.nasp import Nasp
from diffmg.methods.search.snas import Snas
from rivals import assert_same, in_double, rows, started, step_of_lambda, step_of_weights
from searches import search_of
from small_networks import small_classification, small_world


def mixed(search):
    """α of every candidate of every link, one list a tower, from the definition of softmax."""
    return [
        torch.cat([row.exp() / row.exp().sum() for row in rows(search, tower)]) for tower in range(len(search.towers))
    ]


def test_the_mixture_is_that_of_the_dense_oracle():
    """The validation loss and its gradient by λ, with N x N matrices for all candidates of all links."""
    search = in_double(Darts(), small_classification())
    tower, task = search.towers[0], search.problem.task
    z = oracle.encode(small_world(), search.everything[0], search.model.towers[0], mixed(search)[0])
    wanted = task.loss((search.model.head(z),), "val")
    (slope,) = torch.autograd.grad(wanted, tower.parameter)
    loss = task.loss(search.model(search.problem.graph, search.everything, [tower.listed(tower.alpha())]), "val")
    (ours,) = torch.autograd.grad(loss, tower.parameter)
    torch.testing.assert_close((loss, ours), (wanted, slope))
    assert ((ours != 0) == ~tower.mask).all(), "every candidate has a gradient"


def test_an_iteration_by_hand(problem):
    """All candidates in both updates: the weights on the training loss, then λ on the validation loss."""
    search, hand = started(Darts(), problem), started(Darts(), problem)
    graph, task = problem.graph, problem.task
    train_loss = task.loss(hand.model(graph, hand.everything, [w.detach() for w in mixed(hand)]), "train")
    step_of_weights(hand, train_loss)
    outputs = hand.model(graph, hand.everything, mixed(hand))
    val_loss = task.loss(outputs, "val")
    step_of_lambda(hand, val_loss)
    (record,) = search.advance()
    assert_same(search, hand, record, (train_loss, val_loss, task.scores(outputs, "val")[task.metric]))


def test_the_update_of_lambda_computes_no_gradient_for_the_weights(problem):
    """What is left on them is the training loss's alone."""
    search, hand = started(Darts(), problem), started(Darts(), problem)
    weights = [w.detach() for w in mixed(hand)]
    problem.task.loss(hand.model(problem.graph, hand.everything, weights), "train").backward()
    search.advance()
    for ours, theirs in zip(search.model.parameters(), hand.model.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, torch.zeros_like(ours) if theirs.grad is None else theirs.grad)
        assert ours.requires_grad


def test_weights_are_listed_in_the_order_of_the_choices(problem):
    for tower in started(Darts(), problem).towers:
        number = {c: n for n, c in enumerate(tower.space.everything().choices)}
        table = torch.full(tower.mask.shape, -1.0)
        for row, (link, candidates) in enumerate(tower.space.items()):
            for column, operation in enumerate(candidates):
                table[row, column] = number[link, operation]
        assert tower.listed(table).tolist() == list(range(len(number)))


def test_found_is_the_best_of_every_link(classification):
    search = started(Darts(), classification)
    with torch.no_grad():
        for row in rows(search, 0):
            row[-1] = 1.0
    assert search.found()[0].operations == tuple((c[-1],) for c in search.towers[0].space.candidates)


def test_identity_last_widens_the_space(classification):
    plain, wider = (started(Darts(identity_last=x), classification).towers[0].space for x in (False, True))
    assert IDENTITY in wider.candidates[-1]
    assert IDENTITY not in plain.candidates[-1]


@pytest.mark.parametrize(
    "wrong", [{"epochs": 0}, {"lr": 0.0}, {"weight_decay": -1.0}, {"arch_lr": 0.0}, {"epochs": 1.5}], ids=str
)
def test_rules_that_all_searches_by_gradient_share_are_checked_with_the_value_shown(wrong):
    ((name, value),) = wrong.items()
    for kind in (Darts, DiffMG, Nasp, Snas):
        with pytest.raises(DiffmgError, match=f"`{name}.*but got .*{name}={value}"):
            kind(**wrong)


def test_diffmg_with_all_alpha_mixes_in_the_update_of_lambda_alone(problem):
    """The paper's ablation: one iteration by hand, the weights on the sample, λ on all candidates."""
    search, hand = (search_of(problem, all_alpha=True) for _ in range(2))
    graph, task = problem.graph, problem.task
    picks = [e.pick(t.best(), torch.tensor([0])) for t, e in zip(hand.towers, hand.exploration, strict=True)]
    sample = [t.metagraph(p) for t, p in zip(hand.towers, picks, strict=True)]
    alphas = [t.weights(p).detach() for t, p in zip(hand.towers, picks, strict=True)]
    train_loss = task.loss(hand.model(graph, sample, alphas), "train")
    step_of_weights(hand, train_loss)
    outputs = hand.model(graph, [t.space.everything() for t in hand.towers], mixed(hand))
    val_loss = task.loss(outputs, "val")
    step_of_lambda(hand, val_loss)
    (record,) = search.advance()
    assert_same(search, hand, record, (train_loss, val_loss, task.scores(outputs, "val")[task.metric]))


def test_one_level_has_no_update_of_lambda_of_its_own():
    with pytest.raises(DiffmgError, match="single_level and all_alpha"):
        DiffMG(single_level=True, all_alpha=True)
