from __future__ import annotations

import torch

import oracle
from diffmg.methods.search.nasp import Nasp, projected
from resuming import run
from rivals import assert_same, in_double, rows, started, step_of_weights
from small_networks import small_classification, small_world


def discrete(search):
    """λ̄ of every tower: 1 for the largest entry of each link, 0 for the others; leaves."""
    parts = [
        [torch.nn.functional.one_hot(r.argmax(), len(r)) for r in rows(search, n)] for n in range(len(search.towers))
    ]
    return [torch.cat(part).to(search.towers[0].parameter.dtype).requires_grad_() for part in parts]


def test_an_iteration_by_hand(problem):
    """ω along the arg-max alone; then λ by the gradient at the discrete point, clipped to the box."""
    search, hand = started(Nasp(), problem), started(Nasp(), problem)
    graph, task = problem.graph, problem.task
    train_loss = task.loss(hand.model(graph, hand.found()), "train")
    step_of_weights(hand, train_loss)
    bars = discrete(hand)
    outputs = hand.model(graph, hand.everything, bars)
    val_loss = task.loss(outputs, "val")
    for number, slope in enumerate(torch.autograd.grad(val_loss, bars)):
        counts = hand.towers[number].counts.tolist()
        with torch.no_grad():
            for row, g in zip(rows(hand, number), slope.split(counts), strict=True):
                row.copy_((row - hand.options.arch_lr * g / (g.abs() + 1e-8)).clip(0, 1))  # Adam's first step
    (record,) = search.advance()
    assert_same(search, hand, record, (train_loss, val_loss, task.scores(outputs, "val")[task.metric]))


def test_the_gradient_at_the_discrete_point_is_that_of_the_dense_oracle():
    """Also for the candidates whose weight is zero, which is why NASP computes them."""
    search = in_double(Nasp(), small_classification())
    tower, task = search.towers[0], search.problem.task
    (bar,) = discrete(search)
    z = oracle.encode(small_world(), search.everything[0], search.model.towers[0], bar)
    (wanted,) = torch.autograd.grad(task.loss((search.model.head(z),), "val"), bar)
    weights = tower.listed(projected(tower, tower.best()))
    assert torch.equal(weights, bar)
    task.loss(search.model(search.problem.graph, search.everything, [weights]), "val").backward()
    torch.testing.assert_close(tower.listed(tower.parameter.grad), wanted)
    assert (wanted[bar == 0] != 0).any()


def test_the_weights_see_one_candidate_a_link(problem):
    """The mixture of all with the discrete weights is the model of the arg-max."""
    search = started(Nasp(), problem)
    mixture = search.model(problem.graph, search.everything, discrete(search))
    torch.testing.assert_close(mixture, search.model(problem.graph, search.found()), rtol=1e-4, atol=1e-5)


def test_lambda_stays_in_the_box(classification):
    search = started(Nasp(arch_lr=0.4, epochs=8), classification)
    run(search)
    entries = search.towers[0].listed(search.towers[0].parameter.detach())
    assert ((entries >= 0) & (entries <= 1)).all()
    assert ((entries == 0) | (entries == 1)).any(), "the box was reached"


def test_lambda_starts_in_the_middle_and_differs_by_seed(problem):
    one, other = (started(Nasp(), problem, seed).towers[0].parameter for seed in (0, 1))
    assert (one - 0.5).abs().max() < 0.01
    assert not torch.equal(one, other)
