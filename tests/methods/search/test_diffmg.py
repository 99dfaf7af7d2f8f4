from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import MetaGraph
from diffmg.core.program import compile_program
from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.datasets.academic import PUBLISHES, WRITTEN_BY
from diffmg.methods.search.diffmg import DiffMG, DiffMGSearch
from diffmg.tasks.problem import Problem
from resuming import assert_resumable, run
from searches import architecture_of, search_of


def in_double(problem: Problem) -> DiffMGSearch:
    """A search whose network, weights and architecture are in double precision."""
    search = search_of(Problem(problem.graph.to(dtype=torch.float64), problem.task))
    search.model.double()
    for tower in search.towers:
        tower.parameter = tower.parameter.detach().double().requires_grad_()
    return search


def first_picks(search: DiffMGSearch) -> list[Tensor]:
    """What the search takes in its first epoch."""
    start = torch.zeros(1, dtype=torch.int64)
    return [e.pick(t.best(), start) for t, e in zip(search.towers, search.exploration, strict=True)]


def weighted(search: DiffMGSearch, chosen: list[MetaGraph], picks: list[Tensor]) -> tuple[Tensor, ...]:
    weights = [t.weights(p) for t, p in zip(search.towers, picks, strict=True)]
    return search.model(search.problem.graph, chosen, weights)


def metagraphs_of(search: DiffMGSearch, picks: list[Tensor]) -> list[MetaGraph]:
    return [t.metagraph(p) for t, p in zip(search.towers, picks, strict=True)]


def zero_where_none(module: torch.nn.Module) -> dict[str, Tensor]:
    """Gradients by name."""
    return {n: torch.zeros_like(p) if p.grad is None else p.grad for n, p in module.named_parameters()}


def give_zeros(module: torch.nn.Module) -> None:
    """A gradient of zero for every parameter without one: it decays all the same."""
    for p in module.parameters():
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad


def relabelled(problem: Problem, part: str) -> Problem:
    """The same problem with other labels in one part."""
    task, index = problem.task, problem.task.parts[part]
    labels = task.labels.clone()
    labels[index] = (labels[index] + 1) % task.outputs
    return Problem(problem.graph, replace(task, labels=labels))


class Mixture:
    """The validation loss as a function of one link of the first tower; its other links carry their first candidate."""

    def __init__(self, search: DiffMGSearch, link: int) -> None:
        self.search, self.link = search, link
        self.space = search.towers[0].space
        self.count = len(self.space.candidates[link])

    def loss(self, weights: Tensor) -> Tensor:
        """With all candidates on every link; `weights` are those of the one link's candidates."""
        rows = [_first(len(c)) for c in self.space.candidates]
        rows[self.link] = weights
        return self._loss(self.space.everything(), torch.cat(rows))

    def sampled_loss(self, weight: Tensor) -> Tensor:
        """With the first candidate on every link, as the search computes it; `weight` is that of the one link."""
        weights = [_first(1) for _ in self.space.candidates]
        weights[self.link] = weight
        return self._loss(self.space.metagraph((0,) * len(weights)), torch.cat(weights))

    def _loss(self, metagraph: MetaGraph, weights: Tensor) -> Tensor:
        others = [t.metagraph(t.best()) for t in self.search.towers[1:]]
        ones = [torch.ones(len(m.choices), dtype=torch.float64) for m in others]
        outputs = self.search.model(self.search.problem.graph, [metagraph, *others], [weights, *ones])
        return self.search.problem.task.loss(outputs, "val")


def _first(count: int) -> Tensor:
    return torch.tensor([0.5] + [0.0] * (count - 1), dtype=torch.float64)


def softened(alpha: Tensor, temperature: float) -> Tensor:
    """Eq. (10): the arg-max as a limit."""
    return alpha * (alpha / temperature).softmax(dim=0)


@pytest.mark.parametrize("link", range(3))
def test_proposition_1_by_finite_differences(problem, link):
    mixture = Mixture(in_double(problem), link)
    alpha = 0.8 - 0.1 * torch.arange(mixture.count, dtype=torch.float64)
    star = alpha[:1].clone().requires_grad_()
    (wanted,) = torch.autograd.grad(mixture.sampled_loss(star), star)
    assert abs(wanted.item()) > 1e-5
    step = 1e-6
    for m in range(len(alpha)):
        ahead, behind = alpha.clone(), alpha.clone()
        ahead[m] += step
        behind[m] -= step
        with torch.no_grad():
            rise = mixture.loss(softened(ahead, 1e-3)) - mixture.loss(softened(behind, 1e-3))
        assert rise.item() / (2 * step) == pytest.approx(wanted.item() if m == 0 else 0.0, rel=1e-4, abs=1e-8)


def test_gradient_of_lambda_is_that_of_the_sampled_alpha_by_the_chain_rule(problem):
    search = in_double(problem)
    picks = [(t.counts - 1) // 2 for t in search.towers]
    metagraphs = [t.metagraph(p) for t, p in zip(search.towers, picks, strict=True)]
    leaves = [t.weights(p).detach().requires_grad_() for t, p in zip(search.towers, picks, strict=True)]
    task, graph = search.problem.task, search.problem.graph
    by_alpha = torch.autograd.grad(task.loss(search.model(graph, metagraphs, leaves), "val"), leaves)
    task.loss(weighted(search, metagraphs, picks), "val").backward()
    for tower, pick, g in zip(search.towers, picks, by_alpha, strict=True):
        alpha = tower.alpha().detach()
        chosen = torch.nn.functional.one_hot(pick, alpha.shape[1])
        star = (alpha * chosen).sum(dim=1, keepdim=True)
        torch.testing.assert_close(tower.parameter.grad, g[:, None] * star * (chosen - alpha))


def test_an_iteration_by_hand(problem):
    """Algorithm 1: one sample; the weights on the training loss; then the architecture on the validation loss."""
    search, hand = search_of(problem), search_of(problem)
    options, graph, task = search.options, problem.graph, problem.task
    picks = first_picks(hand)
    metagraphs = metagraphs_of(hand, picks)
    alphas = [t.alpha().detach()[torch.arange(len(p)), p] for t, p in zip(hand.towers, picks, strict=True)]
    weights = torch.optim.Adam(hand.model.parameters(), lr=options.lr, weight_decay=options.weight_decay)
    train_loss = task.loss(hand.model(graph, metagraphs, alphas), "train")
    train_loss.backward()
    give_zeros(hand.model)
    weights.step()
    architecture = torch.optim.Adam([t.parameter for t in hand.towers], lr=options.arch_lr)
    outputs = weighted(hand, metagraphs, picks)
    val_loss = task.loss(outputs, "val")
    val_loss.backward()
    architecture.step()
    (record,) = search.advance()
    score = task.scores(outputs, "val")[task.metric]
    wanted = [1.0, train_loss.item(), val_loss.item(), score.item()]
    assert [record.epoch, record.train_loss, record.val_loss, record.val_score] == pytest.approx(wanted)
    torch.testing.assert_close(list(search.model.parameters()), list(hand.model.parameters()))
    torch.testing.assert_close([t.parameter for t in search.towers], [t.parameter for t in hand.towers])


def test_the_architectures_update_computes_no_gradient_for_the_weights(problem):
    """What is left on the weights is the training loss's gradient alone."""
    search, hand = search_of(problem), search_of(problem)
    picks = first_picks(hand)
    metagraphs = metagraphs_of(hand, picks)
    alphas = [t.weights(p).detach() for t, p in zip(hand.towers, picks, strict=True)]
    problem.task.loss(hand.model(problem.graph, metagraphs, alphas), "train").backward()
    search.advance()
    torch.testing.assert_close(zero_where_none(search.model), zero_where_none(hand.model))
    assert all(p.requires_grad for p in search.model.parameters())


def test_weights_learn_from_train_and_the_architecture_from_validation(classification):
    plain, other = search_of(classification), search_of(relabelled(classification, "val"))
    plain.advance(), other.advance()
    assert all(torch.equal(a, b) for a, b in zip(plain.model.parameters(), other.model.parameters(), strict=True))
    assert not torch.equal(plain.towers[0].parameter, other.towers[0].parameter)


def test_single_level_learns_weights_from_both(classification):
    plain = search_of(classification, single_level=True)
    other = search_of(relabelled(classification, "val"), single_level=True)
    plain.advance(), other.advance()
    assert not torch.equal(plain.model.head.weight, other.model.head.weight)


def test_single_level_loss_is_that_of_the_union(classification):
    """Every labelled node of train and validation counts once, in both updates."""
    search, hand = search_of(classification, single_level=True), search_of(classification, single_level=True)
    task = classification.task
    union = torch.cat([task.parts["train"], task.parts["val"]])
    picks = first_picks(hand)
    outputs = weighted(hand, metagraphs_of(hand, picks), picks)
    replace(task, parts={**task.parts, "train": union}).loss(outputs, "train").backward()
    give_zeros(hand.model)
    hand.optimizer.step()
    hand.arch_optimizer.step()
    search.advance()
    torch.testing.assert_close(list(search.model.parameters()), list(hand.model.parameters()))
    torch.testing.assert_close(search.towers[0].parameter, hand.towers[0].parameter)


def test_the_moments_of_what_a_sample_left_alone_fade(classification):
    """An update with a gradient of zero is not one without: the moments of earlier samples do not stand still."""
    search = search_of(classification, epochs=6, epsilon=1.0, decay=1.0)
    tower, encoder, decay = search.towers[0], search.model.towers[0], search.options.weight_decay
    pushed: set[str] = set()
    left_alone: set[str] = set()
    for done in range(6):
        picks = search.exploration[0].pick(tower.best(), torch.tensor([done]))
        inputs = set(compile_program(tower.metagraph(picks)).inputs)
        weights = {t: p.weight for t, p in zip(encoder.node_types, encoder.projections, strict=True)}
        faded = {t: 0.9 * search.optimizer.state[w]["exp_avg"] + 0.1 * decay * w.detach() for t, w in weights.items()}
        search.advance()
        for node_type in weights.keys() - inputs:
            torch.testing.assert_close(search.optimizer.state[weights[node_type]]["exp_avg"], faded[node_type])
        left_alone |= pushed - inputs
        pushed |= inputs
    assert left_alone
    assert {state["step"].item() for state in search.optimizer.state.values()} == {6}


@pytest.mark.parametrize("options", [{"coin": "tower", "single_level": True}, {"all_alpha": True}], ids=str)
def test_resumed_at_any_epoch_ends_the_same(problem, options):
    assert_resumable(lambda: search_of(problem, epochs=4, **options), epochs=4)


def test_other_seed_other_history(problem):
    assert run(search_of(problem, epochs=2)) != run(search_of(problem, seed=1, epochs=2))


def adam_without_gradient(p: Tensor, options: DiffMG, steps: int) -> Tensor:
    """A parameter after so many steps of Adam with nothing but weight decay, from Adam's definition."""
    m = v = torch.zeros_like(p)
    for t in range(1, steps + 1):
        g = options.weight_decay * p
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        p = p - options.lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    return p


def parameters_reached(search: DiffMGSearch) -> set[str]:
    """Names of the parameters that the arg-max reads."""
    names = {name for name, _ in search.model.named_parameters() if ".projections." not in name}
    for number, (tower, metagraph) in enumerate(zip(search.model.towers, search.found(), strict=True)):
        places = (tower.node_types.index(t) for t in compile_program(metagraph).inputs)
        names |= {f"towers.{number}.projections.{place}.{part}" for place in places for part in ("weight", "bias")}
    return names


@pytest.mark.parametrize("single_level", [False, True])
def test_what_no_sample_reached_went_down_by_weight_decay_alone(problem, single_level):
    search = search_of(problem, epsilon=0.0, single_level=single_level)
    start = {name: p.detach().double().clone() for name, p in search.model.named_parameters()}
    reached: set[str] = set()
    for steps in range(1, 4):
        reached |= parameters_reached(search)
        search.advance()
        unreached = start.keys() - reached
        assert len(unreached) >= 2
        for name, p in search.model.named_parameters():
            alone = adam_without_gradient(start[name], search.options, steps)
            if name in unreached:
                torch.testing.assert_close(p.double(), alone, rtol=1e-5, atol=1e-7)
            else:
                assert not torch.allclose(p.double(), alone, rtol=1e-3, atol=1e-5)


def test_every_parameter_is_updated_in_every_epoch(problem):
    """Whatever the sample: here each epoch has another one."""
    search = search_of(problem, epochs=5, epsilon=1.0, decay=1.0)
    for _ in range(5):
        before = [p.detach().clone() for p in search.model.parameters()]
        search.advance()
        for p, old in zip(search.model.parameters(), before, strict=True):
            assert (p != old).float().mean() > 0.95


def test_found_is_the_best_of_every_link(classification):
    search = search_of(classification)
    tower = search.towers[0]
    with torch.no_grad():
        tower.parameter[0, 3] = tower.parameter[1, 1] = 1.0
        tower.parameter[2] = 5.0  # of the masked columns, too
        tower.parameter[2, 1] = 6.0
    assert search.found()[0] == tower.space.metagraph((3, 1, 1))


def test_alpha_is_a_softmax_over_the_candidates_of_each_link(classification):
    tower = architecture_of(classification)
    for row, parameters, count in zip(tower.alpha(), tower.parameter, tower.counts, strict=True):
        torch.testing.assert_close(row[:count], parameters[:count].softmax(dim=0))
        assert (row[count:] == 0).all()


def test_lambda_starts_small():
    tower = architecture_of(load_dataset("academic:120"), depth=4)
    assert tower.parameter.std().item() == pytest.approx(1e-3, rel=0.25)
    assert tower.parameter.mean().item() == pytest.approx(0, abs=3e-4)


@pytest.mark.parametrize(
    ("wrong", "rule"), [({"epsilon": 1.5}, "0 <= epsilon <= 1"), ({"decay": -0.1}, "0 <= decay <= 1")]
)
def test_rules_are_checked_with_the_value_shown(wrong, rule):
    ((name, value),) = wrong.items()
    with pytest.raises(DiffmgError, match=rf"`{rule}` must hold, but got .*{name}={value!r}"):
        DiffMG(**wrong)


def test_finds_the_planted_path():
    """At random one in twelve meta graphs of this space has it."""
    problem, settings = load_dataset("academic:1500"), Settings()
    found = []
    for seed in range(3):
        search = DiffMG(depth=3).search(problem, settings, seed)
        run(search)
        found.append((PUBLISHES, WRITTEN_BY) in search.found()[0].paths())
    assert sum(found) >= 2


def test_an_unknown_coin_lists_the_known():
    with pytest.raises(DiffmgError, match="'link', 'tower'"):
        DiffMG(coin="both")
