from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from diffmg.core.errors import DiffmgError
from diffmg.core.plan import Plan
from diffmg.core.seeds import derive_seed
from diffmg.core.settings import Settings
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._gems_matches import matches
from diffmg.methods.baselines._gems_structure import Structure
from diffmg.methods.baselines.gems import Gems, GemsSearch
from diffmg.runs.model import Model
from diffmg.runs.runner import run as run_plan
from diffmg.tasks import Recommendation
from diffmg.tasks.problem import Problem
from diffmg.testing import problems
from diffmg.training import ModelTraining
from resuming import assert_resumable, run

SMALL = Gems(structures=2, population=4, generations=4, crossover=0.3, stable=0.3, most_slots=5)
SETTINGS = Settings(dim=4, max_epochs=3, patience=None)
SEED = 3


@pytest.fixture(scope="module")
def problem() -> Problem:
    return problems()["recommendation"]


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is trained: the more slots, the better."""

    def fitness(self, member):
        value = float(sum(len(s.slots) for s in member))
        return value, 0.0, 0.0, value

    monkeypatch.setattr(GemsSearch, "_train", fitness)


def started(problem: Problem, options: Gems = SMALL, seed: int = SEED) -> GemsSearch:
    search = options.search(problem, SETTINGS, seed)
    assert isinstance(search, GemsSearch)
    return search


def by_hand(network: torch.nn.Module, problem: Problem, structures: list[Structure]) -> list[np.ndarray]:
    """The network's formulas, written with dense matrices."""
    p = {name: t.detach().double().numpy() for name, t in network.named_parameters()}
    graph, types = problem.graph, problem.task.target_types
    inputs = [graph.features[t].double().numpy() for t in types]
    x = [f @ p[f"projections.{n}.weight"] + p[f"projections.{n}.bias"] for n, f in enumerate(inputs)]
    sides: list[list[np.ndarray]] = [[], []]
    for v, structure in enumerate(structures):
        matched = matches(graph, structure, 1000).toarray()
        for n, m in enumerate((matched, matched.T)):
            mean = np.stack([x[1 - n][row > 0].mean(axis=0) if row.any() else 0 * x[1 - n][0] for row in m])
            own = x[n] @ p[f"views.{v}.own.weight"] + p[f"views.{v}.own.bias"]
            h = np.tanh(own + mean @ p[f"views.{v}.other"])
            sides[n].append(np.tanh(h @ p[f"views.{v}.sides.{n}.weight"] + p[f"views.{v}.sides.{n}.bias"]))
    found = []
    for n, views in enumerate(sides):
        query = np.tanh(np.concatenate(views, axis=1) @ p[f"queries.{n}.weight"] + p[f"queries.{n}.bias"])
        weights = np.exp([(view * query).sum(axis=1) for view in views])
        found.append(sum(w[:, None] * view for w, view in zip(weights / weights.sum(axis=0), views, strict=True)))
    return found


def test_the_network_by_hand(problem, untrained):
    search = started(problem)
    run(search)
    found = search.found()
    assert len(set(found)) == 2
    network = SMALL.network(problem, SETTINGS, 0, found).eval()
    for z, wanted in zip(network(problem.graph), by_hand(network, problem, [*map(Structure.of, found)]), strict=True):
        np.testing.assert_allclose(z.detach().numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_finds_the_best_of_all_that_were_trained(problem):
    """Each of them trained alone."""
    search = started(problem)
    records = run(search)
    alone = {}
    for member in search.results:
        start = derive_seed(SEED, "train")
        network = SMALL.network(problem, SETTINGS, start, [s.metagraph() for s in member])
        training = ModelTraining(problem, network, SETTINGS, start)
        run(training)
        alone[member] = training.best_value
    assert len(alone) > 1
    assert {member: trial[0] for member, trial in search.results.items()} == alone
    assert search.found() == tuple(s.metagraph() for s in max(alone, key=alone.get))
    assert records[-1].val_score == max(alone.values())


def test_starts_with_the_shortest_meta_path(problem, untrained):
    search = started(problem)
    assert set(search.population) == {(SMALL.start(problem),) * 2}
    assert [e.relation.name for e in SMALL.start(problem).edges] == ["written_by"]
    assert search.found() == tuple(s.metagraph() for s in search.population[0])
    search.advance()
    assert len(search.results) == 1


def test_every_member_has_matches(problem, untrained):
    search = started(problem, replace(SMALL, generations=25))
    run(search)
    assert all(len(member) == 2 for member in search.results)
    for structure in {s for member in search.results for s in member}:
        assert len(structure.slots) <= 5
        assert matches(problem.graph, structure, 200).nnz > 0
    assert not all(search.accepted.values()), "some were rejected"


def test_climbs(problem, untrained):
    search = started(problem, replace(SMALL, generations=30, population=10))
    scores = [record.val_score for record in run(search)]
    assert scores == sorted(scores)
    assert scores[0] == 4 < 9 <= scores[-1] <= 10


def test_the_worst_members_are_replaced(problem, untrained):
    """Without mutation and crossing, the next generation are the best and copies of them."""
    search = started(problem, replace(SMALL, generations=6, population=10))
    run(search)
    ranked = sorted(search.population, key=lambda m: -search.results[m][0])
    search.options = replace(SMALL, stable=1.0, crossover=0.0, population=10)
    following = search._next_generation(random.Random(0))
    assert following[:6] == ranked[:6]
    assert set(following[6:]) <= set(ranked[:6])
    assert len(following) == 10


def test_members_whose_training_failed_are_not_copied(problem, untrained):
    search = started(problem, replace(SMALL, stable=1.0, crossover=0.0, eliminated=0.5))
    search.advance()
    good = search.population[0]
    bad = tuple(sorted((good[0], Structure.along([good[0].edges[0].relation, _knows(problem)]))))
    search.population = [good, bad, bad, bad]
    search.results[bad] = (-math.inf, *[math.nan] * 3)
    assert search._next_generation(random.Random(0)) == [good, bad, good, good]


def _knows(problem: Problem):
    return next(r for r in problem.graph.schema.relations if r.name == "knows")


def test_crossing_exchanges_structures(problem, untrained):
    search = started(problem, replace(SMALL, crossover=1.0))
    one, other = SMALL.start(problem), Structure.along([SMALL.start(problem).edges[0].relation, _knows(problem)])
    before, crossed = [[one, one], [other, other], [one, one]], set()
    for seed in range(10):
        pools = [list(pool) for pool in before]
        search._cross(pools, random.Random(seed))
        assert sorted(s for pool in pools for s in pool) == sorted([one] * 4 + [other] * 2)
        crossed.add(pools != before)
    assert True in crossed


def test_resumed_at_any_generation_ends_the_same(problem):
    assert_resumable(lambda: started(problem), epochs=4)


def test_a_saved_model_is_rebuilt_from_its_structures(problem, tmp_path):
    done, model = run_plan(Plan(method=SMALL.spec(), settings=SETTINGS, device="cpu"), problem)
    model.save(tmp_path / "model.safetensors")
    again = Model.load(tmp_path / "model.safetensors", problem)
    assert again.metagraphs == done.metagraphs
    assert len(again.metagraphs) == 2
    assert all(torch.equal(a, b) for a, b in zip(again.outputs, model.outputs, strict=True))


def test_a_network_without_a_meta_path_to_users_is_refused():
    graph = HeteroGraph.build({"user": 3, "item": 3}, {("user", "buys", "item"): [[0, 1], [1, 2]]})
    positives, negatives = {"train": [[0, 0]], "val": [[1, 0]]}, {"train": [[1, 1]], "val": [[2, 2]]}
    task = Recommendation.build("user", "item", (3, 3), positives, negatives)
    with pytest.raises(DiffmgError, match="needs a meta path from 'item' to 'user', but got only"):
        Gems().check(Problem(graph, task), SETTINGS)
