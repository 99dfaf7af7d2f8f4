from __future__ import annotations

import pytest
import torch

from benchmarks.reference_search import Picks, SearchReference
from diffmg.core.errors import DiffmgError
from diffmg.core.program import compile_program
from diffmg.core.settings import Settings
from diffmg.methods.search.diffmg import DiffMG, DiffMGSearch
from diffmg.tasks.problem import Problem
from reference_weights import CLOSE, copy_model, gradient, gradients, model_values, value

DEPTH, DIM = 3, 8


def pair_of(problem: Problem, seed: int, **options) -> tuple[DiffMGSearch, SearchReference]:
    """Our search and the reference's with the same weights and the same λ."""
    chosen = DiffMG(depth=DEPTH, **options)
    ours = DiffMGSearch(chosen, problem, DEPTH, DIM, seed)
    theirs = SearchReference(problem, chosen, DIM, seed + 1)
    copy_model(ours.model, theirs.model)
    with torch.no_grad():
        for tower, lam in zip(ours.towers, theirs.lambdas, strict=True):
            lam.copy_(torch.where(lam.isinf(), lam, tower.parameter))
    return ours, theirs


def best_of(search: SearchReference) -> list[Picks]:
    return [tuple(lam.argmax(dim=1).tolist()) for lam in search.lambdas]


def middle_of(search: SearchReference) -> list[Picks]:
    return [tuple(len(c) // 2 for c in space.candidates) for space in search.spaces]


def backward(problem: Problem, ours: DiffMGSearch, theirs: SearchReference, picks: list[Picks], part: str) -> None:
    """The gradients of the loss on a part for one sample, in both."""
    chosen = [torch.tensor(p) for p in picks]
    metagraphs = [space.metagraph(p) for space, p in zip(theirs.spaces, picks, strict=True)]
    weights = [tower.weights(p) for tower, p in zip(ours.towers, chosen, strict=True)]
    problem.task.loss(ours.model(problem.graph, metagraphs, weights), part).backward()
    targets = theirs.targets
    targets.loss(targets.predicted(theirs.outputs(picks, theirs.alphas(picks)), part), part).backward()


@pytest.mark.parametrize("part", ["train", "val"])
@pytest.mark.parametrize("sample", [best_of, middle_of])
@pytest.mark.parametrize("seed", range(3))
def test_gradients_of_a_sample_are_ours(problem, seed, sample, part):
    """Of every weight and of λ, messages multiplied by their α."""
    ours, theirs = pair_of(problem, seed)
    backward(problem, ours, theirs, sample(theirs), part)
    torch.testing.assert_close(model_values(ours.model, theirs.model, gradient), gradients(ours.model), **CLOSE)
    for tower, lam in zip(ours.towers, theirs.lambdas, strict=True):
        torch.testing.assert_close(gradient(lam), gradient(tower.parameter), **CLOSE)
        assert gradient(lam).abs().max() > 1e-4


@pytest.mark.parametrize("seed", range(3))
def test_a_complete_epoch_is_ours(problem, seed):
    """Without exploration both take the arg-max, so the sample is the same. What it does not reach decays in both."""
    ours, theirs = pair_of(problem, seed, epsilon=0.0, epochs=1)
    before = [lam.detach().clone() for lam in theirs.lambdas]
    reached = reached_names(theirs, best_of(theirs))
    theirs.epoch()
    ours.advance()
    got = model_values(ours.model, theirs.model, value)
    wanted = {name: p.detach() for name, p in ours.model.named_parameters()}
    assert reached < set(wanted)
    torch.testing.assert_close(got, wanted, rtol=1e-3, atol=1e-5)
    for tower, lam, old in zip(ours.towers, theirs.lambdas, before, strict=True):
        used = ~lam.isinf()
        torch.testing.assert_close(lam[used], tower.parameter[used], rtol=1e-3, atol=1e-6)
        assert (lam[used] - old[used]).abs().max().item() == pytest.approx(ours.options.arch_lr, rel=1e-2)


def reached_names(search: SearchReference, picks: list[Picks]) -> set[str]:
    """Parameters that a sample reads, by our names."""
    names = {name for name, _ in search.model.named_parameters() if ".projections." not in name}
    for number, (space, pick) in enumerate(zip(search.spaces, picks, strict=True)):
        types = space.schema.node_types
        places = (types.index(t) for t in compile_program(space.metagraph(pick)).inputs)
        names |= {f"towers.{number}.projections.{place}.{part}" for place in places for part in ("weight", "bias")}
    return names


@torch.no_grad()
def losses_and_score(search: DiffMGSearch, picks: list[Picks]) -> tuple[float, float, float]:
    """What our model makes of a sample: losses on train and validation, and the validation score."""
    task, graph = search.problem.task, search.problem.graph
    chosen = [torch.tensor(p) for p in picks]
    metagraphs = [t.metagraph(p) for t, p in zip(search.towers, chosen, strict=True)]
    outputs = search.model(graph, metagraphs, [t.weights(p) for t, p in zip(search.towers, chosen, strict=True)])
    losses = (float(task.loss(outputs, part)) for part in ("train", "val"))
    return *losses, float(task.scores(outputs, "val")[task.metric])


def test_the_numbers_of_an_epoch_are_ours(problem):
    """The training loss before the update of the weights, loss and score on validation after it."""
    ours, theirs = pair_of(problem, 0, epsilon=0.0)
    picks = best_of(theirs)
    seen = theirs.epoch()
    train_loss = losses_and_score(ours, picks)[0]
    ours.model.load_state_dict(model_values(ours.model, theirs.model, value))
    _, val_loss, val_score = losses_and_score(ours, picks)
    assert seen == pytest.approx({"train_loss": train_loss, "val_loss": val_loss, "val_score": val_score}, rel=1e-5)


def test_every_weight_is_updated_in_every_epoch(problem):
    """Also those the sample does not reach: by weight decay, as in the authors' program."""
    search = SearchReference(problem, DiffMG(depth=DEPTH, epsilon=0.0), DIM, 0)
    before = [p.detach().clone() for p in search.model.parameters()]
    search.epoch()
    assert all(not torch.equal(p, old) for p, old in zip(search.model.parameters(), before, strict=True))


def test_lambda_starts_small_with_a_number_for_each_candidate(problem):
    search = SearchReference(problem, DiffMG(), DIM, 0)
    for space, lam in zip(search.spaces, search.lambdas, strict=True):
        for row, candidates in zip(lam, space.candidates, strict=True):
            assert row[: len(candidates)].isfinite().all()
            assert row[len(candidates) :].isinf().all()
        assert lam[~lam.isinf()].std().item() == pytest.approx(1e-3, rel=0.3)


def samples(problem: Problem, count: int, **options) -> tuple[list[Picks], Picks]:
    """Samples of the first tower, and its arg-max."""
    search = SearchReference(problem, DiffMG(depth=DEPTH, **options), DIM, 0)
    return [search._sample(search.spaces[0], search.lambdas[0]) for _ in range(count)], best_of(search)[0]


@pytest.mark.parametrize("seed", range(3))
def test_from_one_seed_both_start_with_the_same_architecture(problem, seed):
    """So a benchmark times the same kind of samples."""
    ours, theirs = DiffMG().search(problem, Settings(), seed), SearchReference(problem, DiffMG(), DIM, seed)
    assert tuple(s.metagraph(p) for s, p in zip(theirs.spaces, best_of(theirs), strict=True)) == ours.found()


def test_without_exploration_the_sample_is_the_best(classification):
    drawn, best = samples(classification, 20, epsilon=0.0)
    assert set(drawn) == {best}


@pytest.mark.parametrize("coin", ["link", "tower"])
def test_full_exploration_takes_every_candidate(classification, coin):
    drawn, best = samples(classification, 400, epsilon=1.0, coin=coin)
    space = SearchReference(classification, DiffMG(depth=DEPTH), DIM, 0).spaces[0]
    assert [set(picks) for picks in zip(*drawn, strict=True)] == [set(range(len(c))) for c in space.candidates]
    assert len(best) == len(space.candidates)


def test_the_coin_is_tossed_for_each_link_or_for_the_tower(classification):
    shares = {}
    for coin in ("link", "tower"):
        drawn, best = samples(classification, 1000, epsilon=0.3, coin=coin)
        shares[coin] = sum(picks == best for picks in drawn) / len(drawn)
    assert shares["tower"] == pytest.approx(0.7, abs=0.05)
    assert shares["link"] == pytest.approx(0.7 ** len(best), abs=0.08)


def test_exploration_decays(classification):
    search = SearchReference(classification, DiffMG(epsilon=0.8, decay=0.5), DIM, 0)
    search.epoch()
    search.epoch()
    assert search.epsilon == pytest.approx(0.2)


def test_one_level_is_refused():
    with pytest.raises(DiffmgError, match="but got single_level=True"):
        SearchReference(None, DiffMG(single_level=True), DIM, 0)
