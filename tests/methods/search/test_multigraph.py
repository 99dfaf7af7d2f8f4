from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import oracle
from diffmg.core.errors import DiffmgError
from diffmg.core.settings import Settings
from diffmg.methods.search.multigraph import Multigraph, draw_senders, kept
from rivals import assert_same, in_double, rows, started, step_of_lambda, step_of_weights
from searches import architecture_of
from small_networks import small_classification, small_world


def softmaxes(search):
    """α of every link, one list a tower."""
    return [[row.softmax(dim=0) for row in rows(search, n)] for n in range(len(search.towers))]


def senders_of(search, epoch: int):
    """Per tower and link, which candidates send: (candidates,)."""
    return [
        [row[:count] for row, count in zip(table[epoch], tower.counts.tolist(), strict=True)]
        for table, tower in zip(search.senders, search.towers, strict=True)
    ]


def unscaled(search, epoch: int):
    """Factors 1 for candidates that send, as leaves."""
    return [torch.cat(links).requires_grad_() for links in senders_of(search, epoch)]


def test_an_iteration_by_hand(problem):
    """Candidates that were drawn send plain messages; each λ learns by α times the gradient of that factor."""
    search, hand = (started(Multigraph(), problem) for _ in range(2))
    graph, task = problem.graph, problem.task
    factors = unscaled(hand, 0)
    train_loss = task.loss(hand.model(graph, hand.everything, [f.detach() for f in factors]), "train")
    step_of_weights(hand, train_loss)
    outputs = hand.model(graph, hand.everything, factors)
    val_loss = task.loss(outputs, "val")
    slopes = torch.autograd.grad(val_loss, factors)
    alphas = [torch.cat(links) for links in softmaxes(hand)]
    as_of_alpha = sum((a * f.detach() * g).sum() for a, f, g in zip(alphas, factors, slopes, strict=True))
    step_of_lambda(hand, as_of_alpha)
    (record,) = search.advance()
    assert_same(search, hand, record, (train_loss, val_loss, task.scores(outputs, "val")[task.metric]))


def test_scaled_messages_by_the_dense_oracle():
    """As the paper has it: α times the message, averaged over those that send."""
    search = in_double(Multigraph(scaled=True), small_classification())
    mean = replace(Multigraph(scaled=True), depth=2).search(search.problem, Settings(dim=6, links="mean"), 0)
    for found, divided in ((search, False), (mean, True)):
        links = zip(softmaxes(found)[0], senders_of(found, 0)[0], strict=True)
        wanted = torch.cat([a * (s > 0) / (int((s > 0).sum()) if divided else 1) for a, s in links])
        weights = found._weights(found.towers[0], found.senders[0], torch.tensor([0]))
        torch.testing.assert_close(weights, wanted)
    weights = search._weights(search.towers[0], search.senders[0], torch.tensor([0]))
    z = oracle.encode(small_world(), search.everything[0], search.model.towers[0], weights)
    (logits,) = search.model(search.problem.graph, search.everything, [weights])
    torch.testing.assert_close(logits, search.model.head(z))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
def test_a_share_of_the_candidates_sends(classification, share):
    tower = architecture_of(classification)
    table = draw_senders(Multigraph(share=share, epochs=7), tower, torch.Generator().manual_seed(0), mean=False)
    for link, count in enumerate(tower.counts.tolist()):
        sends = table[:, link].sum(dim=1)
        assert (sends == max(1, int(share * count))).all()
        assert not table[:, link, count:].any()
    averaged = draw_senders(Multigraph(share=share, epochs=7), tower, torch.Generator().manual_seed(0), mean=True)
    torch.testing.assert_close(averaged.sum(dim=2), torch.ones(7, len(tower.counts)))
    assert torch.equal(averaged > 0, table > 0)


def test_every_candidate_sends_equally_often(classification):
    tower = architecture_of(classification)
    table = draw_senders(Multigraph(epochs=4000), tower, torch.Generator().manual_seed(0), mean=False)
    for link, count in enumerate(tower.counts.tolist()):
        wanted = max(1, count // 2) / count
        assert (table[:, link, :count].mean(dim=0) - wanted).abs().max() < 0.04


def test_candidates_that_do_not_send_get_no_gradient(problem):
    """Beyond what the softmax takes from all: with α as a leaf, theirs is zero."""
    search = started(Multigraph(), problem)
    tower, senders = search.towers[0], search.senders[0]
    alpha = tower.alpha().detach().requires_grad_()
    tower.alpha = lambda: alpha
    search._weights(tower, senders, torch.tensor([0])).sum().backward()
    assert torch.equal(alpha.grad, senders[0])


@pytest.mark.parametrize("threshold", [0.0, 0.25, 0.5, 1.0])
def test_keeps_what_reaches_the_threshold(classification, threshold):
    tower = architecture_of(classification)
    with torch.no_grad():
        tower.parameter.copy_(torch.rand(tower.parameter.shape, generator=torch.Generator().manual_seed(1)))
    metagraph = kept(tower, threshold)
    for operations, candidates, row in zip(metagraph.operations, tower.space.candidates, tower.parameter, strict=True):
        alpha = row[: len(candidates)].softmax(dim=0)
        place = (alpha - alpha.min()) / (alpha.max() - alpha.min())
        assert operations == tuple(c for c, p in zip(candidates, place, strict=True) if p >= threshold)
    assert (metagraph == tower.space.everything()) == (threshold == 0)
    assert (metagraph == tower.metagraph(tower.best())) == (threshold == 1)


def test_keeps_all_that_are_alike(classification):
    tower = architecture_of(classification)
    with torch.no_grad():
        tower.parameter.fill_(0.1)
    assert kept(tower, 0.9) == tower.space.everything()


def test_what_is_kept_depends_on_the_place_and_not_on_the_scale(classification):
    """To first order: λ ten times as far from its start keeps the same."""
    tower = architecture_of(classification)
    near = kept(tower, 0.8)
    with torch.no_grad():
        tower.parameter.mul_(10)
    assert kept(tower, 0.8) == near


def test_found_is_kept(problem):
    search = started(Multigraph(threshold=0.5), problem)
    assert search.found() == tuple(kept(t, 0.5) for t in search.towers)
    assert any(len(operations) > 1 for m in search.found() for operations in m.operations)


@pytest.mark.parametrize("option", ["share", "threshold"])
def test_shares_are_checked_with_the_value_shown(option):
    with pytest.raises(DiffmgError, match=f"`0 <= {option} <= 1` must hold, but got {option}=1.5"):
        Multigraph(**{option: 1.5})
