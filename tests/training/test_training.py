from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import EMPTY, MetaGraph
from diffmg.core.settings import Settings
from diffmg.datasets.academic import Academic
from diffmg.datasets.shop import Shop
from diffmg.tasks.problem import Problem
from diffmg.training import Training
from diffmg.training.training import outputs_of
from replaying import in_blocks
from resuming import assert_resumable, assert_same_state, resumed, run

PLANTED = {"author": Academic.planted, "user": Shop.planted}


def training(problem: Problem, settings: Settings, seed: int = 0) -> Training:
    return Training(problem, PLANTED[problem.task.target_types[0]], settings, seed)


def test_same_seed_same_history(problem, quick):
    one, other = training(problem, quick), training(problem, quick)
    assert run(one) == run(other)
    assert_same_state(one, other)


def test_other_seed_other_history(problem, quick):
    assert run(training(problem, quick)) != run(training(problem, quick, seed=1))


@pytest.mark.parametrize("select", ["score", "loss"])
def test_resumed_at_any_epoch_ends_the_same(problem, quick, select):
    settings = replace(quick, select=select)
    assert_resumable(lambda: training(problem, settings), epochs=quick.max_epochs)


@pytest.mark.parametrize("states", ["last", "attention"])
def test_with_every_switch_on_it_repeats_and_resumes(problem, quick, states):
    """All kinds of dropout draw from one generator; what follows from the problem is not saved."""
    pairs = len(problem.task.target_types) == 2
    settings = replace(
        quick,
        max_epochs=3,
        aggregate="symmetric",
        links="mean",
        states=states,
        residual=True,
        vectors=True,
        counts=True,
        label_inputs=not pairs,
        biases=pairs,
        shared_tables=pairs,
        input_dropout=0.2,
        message_dropout=0.2,
    )
    assert_resumable(lambda: training(problem, settings), epochs=settings.max_epochs)


def test_the_loss_goes_down(problem):
    history = run(training(problem, Settings(dim=16, dropout=0.0, max_epochs=30, patience=None)))
    assert history[-1].train_loss < 0.8 * history[0].train_loss


def test_an_epoch_is_one_adam_step_on_the_training_loss(classification, quick):
    settings = replace(quick, dropout=0.0)
    job, plain = training(classification, settings), training(classification, settings).model
    adam = torch.optim.Adam(plain.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
    loss = classification.task.loss(plain(classification.graph), "train")
    loss.backward()
    adam.step()
    (record,) = job.advance()
    assert record.train_loss == pytest.approx(loss.item())
    for got, wanted in zip(job.model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(got, wanted)


def test_the_record_is_of_the_model_after_the_step(problem, quick):
    job = training(problem, quick)
    (record,) = job.advance()
    outputs, task = outputs_of(job.model, problem), problem.task
    assert record.val_loss == task.loss(outputs, "val").item()
    assert record.val_score == task.scores(outputs, "val")[task.metric].item()


@pytest.mark.parametrize("select", ["score", "loss"])
def test_the_best_epoch_is_the_first_of_the_best(problem, select):
    job = training(problem, Settings(dim=8, max_epochs=12, lr=0.05, patience=None, select=select))
    history = run(job)
    values = [problem.task.sign * r.val_score if select == "score" else -r.val_loss for r in history]
    assert job.best_epoch == values.index(max(values)) + 1
    assert job.best_score == history[job.best_epoch - 1].val_score


@pytest.mark.parametrize("select", ["score", "loss"])
def test_the_best_epochs_parameters_are_restored(problem, select):
    job = training(problem, Settings(dim=8, max_epochs=8, lr=0.1, patience=None, select=select))
    history = run(job)
    with torch.no_grad():
        for parameter in job.model.parameters():
            parameter.zero_()
    outputs = job.best_model()(problem.graph, job.metagraphs)
    assert problem.task.loss(outputs, "val").item() == history[job.best_epoch - 1].val_loss


def test_an_epoch_that_diverged_is_not_the_best(problem, quick):
    job = training(problem, quick)
    run(job, 2)
    with torch.no_grad():
        job.model.towers[0].shared.weight.fill_(torch.nan)
    run(job)
    assert job.best_epoch <= 2


def test_a_job_that_never_had_a_number_says_so(problem, quick):
    job = training(problem, replace(quick, patience=2, select="loss"))
    with torch.no_grad():
        job.model.towers[0].shared.weight.fill_(torch.nan)
    assert len(run(job)) == 2
    assert (job.best_epoch, job.best) == (0, {})
    with pytest.raises(DiffmgError, match="none in 2"):
        job.best_model()


def test_patience_stops_a_job_that_gets_no_better(problem):
    """With a learning rate of zero the first epoch stays the best."""
    job = training(problem, Settings(dim=8, max_epochs=50, lr=1e-30, patience=3))
    assert len(run(job)) == 4
    assert job.best_epoch == 1


@pytest.mark.parametrize(("patience", "select"), [(1, "score"), (3, "loss"), (None, "score")])
def test_how_many_epochs_go_by_between_two_looks_makes_no_difference(problem, patience, select, monkeypatch):
    """As on a GPU, which runs epochs after patience has run out before the host knows."""
    settings = Settings(dim=8, lr=0.05, max_epochs=14, patience=patience, select=select)
    for seed in range(3):
        one, other = training(problem, settings, seed), training(problem, settings, seed)
        in_blocks(other.steps, 5, monkeypatch)
        assert run(one) == run(other)
        assert one.numbers() == other.numbers()
        assert (one.epoch, one.done) == (other.epoch, other.done)
        assert one.best.keys() == dict(one.model.named_parameters()).keys()
        assert all(torch.equal(p, other.best[name]) for name, p in one.best.items())


def test_epochs_after_patience_ran_out_would_have_been_better(problem):
    """The test above can fail: some of its jobs improve again after patience has run out."""
    later = 0
    for seed in range(3):
        settings = Settings(dim=8, lr=0.05, max_epochs=14, patience=1)
        stopped, free = training(problem, settings, seed), training(problem, replace(settings, patience=None), seed)
        end, history = len(run(stopped)), run(free)
        rest = history[end : -(-end // 5) * 5]
        later += any(record.val_score > stopped.best_value for record in rest)
    assert later


def test_a_block_ends_with_the_last_epoch(problem, quick, monkeypatch):
    job = training(problem, quick)
    in_blocks(job.steps, 3, monkeypatch)
    assert [[r.epoch for r in job.advance()] for _ in range(2)] == [[1, 2, 3], [4, 5]]
    assert job.done


def test_resumed_within_what_would_have_been_a_block(problem, quick, monkeypatch):
    straight, stopped = training(problem, quick), training(problem, quick)
    history = run(straight)
    run(stopped, 2)
    again = resumed(stopped, lambda: training(problem, quick))
    in_blocks(again.steps, 20, monkeypatch)
    assert again.advance() == history[2:]
    assert_same_state(again, straight)


def test_no_patience_trains_to_the_end(problem):
    job = training(problem, Settings(dim=8, max_epochs=7, lr=1e-30, patience=None))
    assert len(run(job)) == 7


def test_dropout_does_not_touch_the_evaluation(problem, quick):
    job = training(problem, quick)
    first, second = (outputs_of(job.model, problem) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_the_ambient_generator_makes_no_difference(problem, quick):
    torch.manual_seed(1)
    first = run(training(problem, quick))
    torch.manual_seed(2)
    assert run(training(problem, quick)) == first


def test_a_job_without_an_epoch_has_no_best_model(problem, quick):
    with pytest.raises(DiffmgError, match="none in 0"):
        training(problem, quick).best_model()


def test_looking_at_the_best_model_changes_nothing(problem, quick):
    disturbed = training(problem, quick)
    history = []
    while not disturbed.done:
        history.extend(disturbed.advance())
        disturbed.best_model()
    assert history == run(training(problem, quick))


def test_order_of_the_meta_graphs_does_not_matter(recommendation, quick):
    flipped = Training(recommendation, Shop.planted[::-1], quick, 0)
    assert run(flipped) == run(training(recommendation, quick))


def test_meta_graphs_must_be_for_the_target_types(recommendation, quick):
    with pytest.raises(DiffmgError, match="one meta graph for each of"):
        Training(recommendation, Shop.planted[:1], quick, 0)


def test_meta_graphs_that_carry_nothing_are_refused(problem, quick):
    nothing = [MetaGraph(t, ((EMPTY,),)) for t in problem.task.target_types]
    with pytest.raises(DiffmgError, match="must reach the target"):
        Training(problem, nothing, quick, 0)


@pytest.mark.parametrize("layer_norm", [True, False])
@pytest.mark.parametrize("tanh", [True, False])
def test_settings_reach_the_encoder(classification, quick, layer_norm, tanh):
    settings = replace(quick, layer_norm=layer_norm, tanh=tanh, dropout=0.25)
    (encoder,) = training(classification, settings).model.encoders
    assert encoder.settings == settings
    assert isinstance(encoder.norm, nn.LayerNorm) == bool(list(encoder.norm.parameters())) == layer_norm
