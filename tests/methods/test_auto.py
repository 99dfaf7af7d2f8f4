from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch

from diffmg.core import METHODS, DiffmgError, Schema, SearchSpace, Settings, compile_program
from diffmg.datasets import load_dataset
from diffmg.methods._plain_rivals import LINEAR, alternating
from diffmg.methods.auto import RIVALS, Auto, rival_space
from diffmg.runs.runner import run
from diffmg.runs.sources import make_plan
from diffmg.tasks import NodeClassification


def drawn(problem, method=None, settings=None, count=200):
    space = (method or Auto()).space(problem, settings or Settings())
    return [space.draw(random.Random(seed)) for seed in range(count)]


def methods_of(problem, method):
    """Of the candidates that are tried first, and of many drawn at random."""
    return {c.method.name for c in (*method.space(problem, Settings()).seeds(), *drawn(problem, method))}


def test_every_rival_is_registered_and_serves_its_number_of_targets():
    for towers, names in RIVALS.items():
        assert all(towers in METHODS.get(name).towers for name in names)


def test_candidates_are_meta_graphs_and_rivals(problem):
    methods = methods_of(problem, Auto())
    assert "given" in methods
    assert {"diffmg", "multigraph", "hgt"} <= methods
    allowed = {"given", "diffmg", "multigraph", *RIVALS[len(problem.task.target_types)]}
    assert methods <= allowed


def test_what_can_be_switched_off(problem):
    assert methods_of(problem, Auto(rivals=False)) == {"given", "diffmg", "multigraph"}
    assert methods_of(problem, Auto(rivals=False, searches_too=False)) == {"given"}


def test_depth_and_operations_are_kept(problem):
    several = [m for c in drawn(problem, Auto(depth=3, operations=2, rivals=False, searches_too=False))
               for m in c.metagraphs]  # fmt: skip
    assert {m.depth for m in several} == {1, 2, 3}
    assert {len(operations) for m in several for operations in m.operations} == {1, 2}


def test_what_the_user_set_is_not_varied(problem):
    found = [c for c in drawn(problem, settings=Settings(dim=16, lr=0.004, tanh=True)) if c.metagraphs]
    assert {(c.settings.dim, c.settings.lr, c.settings.tanh) for c in found} == {(16, 0.004, True)}
    assert len({c.settings.dropout for c in found}) > 3


def uneven(problem):
    """The same nodes, half of the first class against all others."""
    task = problem.task
    rare = (task.labels == 0) & (torch.arange(len(task.labels)) % 2 == 0)
    parts = {part: index.numpy() for part, index in task.parts.items()}
    return replace(problem, task=NodeClassification.build(task.target, rare.long().numpy(), **parts))


def test_where_classes_are_uneven_a_race_tries_to_even_them_out(classification):
    rare = uneven(classification)
    assert {c.settings.balance for c in drawn(classification)} == {0.0}
    for method in (Auto(rivals=False, searches_too=False), METHODS.get("gcn")(), METHODS.get("svd")()):
        assert {c.settings.balance for c in drawn(rare, method)} == {0.0, 0.5, 1.0}
    assert {c.settings.balance for c in drawn(rare, METHODS.get("label_propagation")())} == {0.0}
    assert {c.settings.balance for c in drawn(rare, settings=Settings(balance=0.3))} == {0.3}


def test_every_candidate_can_be_checked_by_its_method(problem):
    for candidate in drawn(problem):
        candidate.method.check(problem, candidate.settings)


def test_the_same_candidate_has_the_same_genes_and_another_has_others(problem):
    space = Auto().space(problem, Settings())
    one, same, other = (space.draw(random.Random(seed)) for seed in (1, 1, 2))
    assert space.genes(one) == space.genes(same) != space.genes(other)


def test_the_first_candidates_are_all_operations_averaged_and_the_rivals_as_they_are(problem):
    first, *rest = Auto().space(problem, Settings()).seeds()
    assert first.method.name == "given"
    spaces = [SearchSpace.dag(problem.graph.schema, t, 2) for t in problem.task.target_types]
    every = tuple(space.everything() for space in spaces)
    assert [c.settings.links for c in (first, *rest) if c.metagraphs == every] == ["mean"]
    assert {c.method.name for c in rest} >= {"given", "hgt", "diffmg"}


def test_one_of_the_first_candidates_hears_known_labels(classification, recommendation):
    """Where nothing but labels tells neighbours apart, no other one learns anything."""

    def told(problem, settings):
        seeds = Auto(rivals=False, searches_too=False).space(problem, settings).seeds()
        return [c for c in seeds if c.settings.label_inputs]

    (heard,) = told(classification, Settings())
    assert heard.metagraphs == (SearchSpace.dag(classification.graph.schema, "author", 2).everything(),)
    assert heard.settings.states == "concat"
    assert told(recommendation, Settings()) == []


def test_where_all_items_are_ranked_learned_vectors_begin_wide(recommendation):
    films = load_dataset("films:120")
    first = {c.method.name: c.settings for c in reversed(Auto().space(films, Settings()).seeds())}
    for name in ("given", "matrix_factorisation", "lightgcn"):
        assert (first[name].dim, first[name].lr) == (128, 0.02)
    drawn_rivals = [c for c in drawn(films) if c.method.name == "lightgcn"]
    assert {c.settings.dim for c in drawn_rivals} == {32, 64, 128}
    assert {c.settings.dim for c in Auto().space(films, Settings(dim=16)).seeds()} == {16}
    assert {c.settings.dim for c in Auto().space(recommendation, Settings()).seeds()[:3]} == {64}


def test_lightgcn_as_meta_graphs_is_tried_first(recommendation):
    first = Auto(rivals=False, searches_too=False).space(recommendation, Settings(lr=0.002)).seeds()[0]
    assert first.metagraphs == alternating(recommendation.graph.schema, *recommendation.task.target_types, 2)
    assert first.settings.changed(LINEAR) == first.settings != Settings(lr=0.002)
    assert first.settings.lr == 0.002


def test_users_and_items_with_features_have_learned_vectors_too_where_lightgcn_is_tried(recommendation):
    """Features in their place made all users with the same features the same."""
    assert set(recommendation.graph.features) & set(recommendation.task.target_types)
    seeds = Auto(rivals=False, searches_too=False).space(recommendation, Settings()).seeds()
    linear = [c for c in seeds if c.settings.activation == "none"]
    assert len(linear) > 3
    assert all(c.settings.vectors for c in linear)
    films = Auto(rivals=False, searches_too=False).space(load_dataset("films:120"), Settings()).seeds()
    assert not any(c.settings.vectors for c in films), "there, neither end has features"


def test_without_a_relation_between_the_ends_there_is_no_lightgcn(recommendation):
    user, item = recommendation.task.target_types
    relations = [r for r in recommendation.graph.schema.relations if {r.source, r.target} != {user, item}]
    schema = Schema(recommendation.graph.schema.node_types, tuple(relations))
    assert alternating(schema, user, item, 2) is None


def test_changed_candidates_can_be_trained(problem):
    space = Auto(rivals=False, searches_too=False).space(problem, Settings())
    changed = [space.mutate(c, random.Random(seed)) for c in space.seeds() for seed in range(100)]
    assert all(compile_program(m).steps for c in changed for m in c.metagraphs)
    assert len({c.metagraphs for c in changed}) > 50
    assert len({c.settings for c in changed}) > 50


@pytest.mark.parametrize("name", ["no_such_method", "popularity"])
def test_a_rival_that_is_not_there_or_does_not_serve_is_left_out(name, classification):
    assert rival_space(name, classification, Settings()) == {}


def test_only_chance_proposes_in_the_baseline_of_the_proposers():
    assert Auto(random=True).proposers == ("chance",)
    assert set(Auto().proposers) > {"chance"}


def test_it_is_not_searched_without_a_race(classification, quick):
    with pytest.raises(DiffmgError, match="`auto` needs a budget, but got none"):
        Auto().search(classification, quick, 0)


def test_its_default_budget_is_in_one_place(problem, monkeypatch):
    from diffmg.core.budget import Budget

    assert make_plan(problem.source).budget == Budget(seconds=120)
    monkeypatch.setattr("diffmg.runs.sources.DEFAULT_BUDGET", Budget(trainings=2))
    assert make_plan(problem.source).budget == Budget(trainings=2)
    assert make_plan(problem.source, "gcn").budget is None


def test_it_is_raced_and_the_single_model_has_a_meta_graph(problem):
    """Even where the first candidates are rivals."""
    plan = make_plan(problem.source, Auto(depth=2), settings={"dim": 8, "max_epochs": 3}, budget=8, device="cpu")
    done, model = run(plan, problem)
    assert [m.target for m in done.metagraphs] == list(problem.task.target_types)
    assert model.scores("test") == dict(done.scores("test"))
    assert done.evidence is not None
    assert done.evidence.candidates > 1
