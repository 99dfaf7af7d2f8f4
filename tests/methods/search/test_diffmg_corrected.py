from __future__ import annotations

import pytest
import torch

import oracle
from diffmg.core.errors import DiffmgError
from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.datasets.academic import PUBLISHES, WRITTEN_BY
from diffmg.methods.search._gradient import straight_through
from diffmg.methods.search.diffmg_corrected import DiffMGCorrected
from resuming import run
from rivals import assert_same, in_double, started, step_of_lambda, step_of_weights
from small_networks import small_classification, small_world


def first_picks(search):
    """What the search takes in its first epoch: anything, since it warms up."""
    return [table.anything[0] for table in search.exploration]


def test_an_iteration_by_hand(problem):
    """The weights along the plain sample; then λ by α times the gradient of a factor that is 1."""
    search, hand = (started(DiffMGCorrected(), problem) for _ in range(2))
    graph, task = problem.graph, problem.task
    picks = first_picks(hand)
    chosen = [t.metagraph(p) for t, p in zip(hand.towers, picks, strict=True)]
    train_loss = task.loss(hand.model(graph, chosen), "train")
    step_of_weights(hand, train_loss)
    ones = [torch.ones(len(p), requires_grad=True) for p in picks]
    outputs = hand.model(graph, chosen, ones)
    val_loss = task.loss(outputs, "val")
    slopes = torch.autograd.grad(val_loss, ones)
    as_of_alpha = [(t.weights(p) * g).sum() for t, p, g in zip(hand.towers, picks, slopes, strict=True)]
    step_of_lambda(hand, sum(as_of_alpha))
    (record,) = search.advance()
    assert_same(search, hand, record, (train_loss, val_loss, task.scores(outputs, "val")[task.metric]))


def test_the_gradient_of_lambda_is_that_of_the_dense_oracle():
    search = in_double(DiffMGCorrected(), small_classification())
    tower, task = search.towers[0], search.problem.task
    picks = first_picks(search)[0]
    ones = torch.ones(len(picks), dtype=torch.float64, requires_grad=True)
    z = oracle.encode(small_world(), tower.metagraph(picks), search.model.towers[0], ones)
    (slope,) = torch.autograd.grad(task.loss((search.model.head(z),), "val"), ones)
    factors = straight_through(tower.weights(picks))
    task.loss(search.model(search.problem.graph, [tower.metagraph(picks)], [factors]), "val").backward()
    alpha = tower.alpha().detach()
    chosen = torch.nn.functional.one_hot(picks, alpha.shape[1])
    star = (alpha * chosen).sum(dim=1, keepdim=True)
    torch.testing.assert_close(tower.parameter.grad, slope[:, None] * star * (chosen - alpha))
    assert (slope != 0).any()


def test_factors_are_exactly_one():
    alpha = torch.rand(1000, requires_grad=True)
    factors = straight_through(alpha)
    assert (factors == 1).all()
    (factors * torch.arange(1000)).sum().backward()
    assert torch.equal(alpha.grad, torch.arange(1000.0))


@pytest.mark.parametrize(("warm_up", "first"), [(0.0, 0), (0.25, 2), (0.5, 4), (1.0, 8)])
def test_uniform_at_first_then_annealed(warm_up, first):
    found = DiffMGCorrected(epochs=8, warm_up=warm_up, epsilon=0.4, decay=0.5).epsilons()
    wanted = [1.0] * first + [0.4 * 0.5**n for n in range(8 - first)]
    assert found.tolist() == pytest.approx(wanted)


def test_every_link_explores_while_warming_up_and_none_without_epsilon(problem):
    search = started(DiffMGCorrected(epochs=6, warm_up=0.5, epsilon=0.0), problem)
    for table in search.exploration:
        assert table.explores[:3].all()
        assert not table.explores[3:].any()


def test_the_warm_up_is_a_share():
    with pytest.raises(DiffmgError, match="`0 <= warm_up <= 1` must hold, but got warm_up=2"):
        DiffMGCorrected(warm_up=2.0)


def test_finds_the_planted_path():
    """At random one in twelve meta graphs of this space has it."""
    problem, settings = load_dataset("academic:1500"), Settings()
    found = []
    for seed in range(3):
        search = DiffMGCorrected(depth=3).search(problem, settings, seed)
        run(search)
        found.append((PUBLISHES, WRITTEN_BY) in search.found()[0].paths())
    assert sum(found) >= 2
