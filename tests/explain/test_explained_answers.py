"""Explanations of single answers: they sum up, name the user's ids, and say what they leave out."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from diffmg import DiffmgError, HeteroGraph, Model, Problem, make_plan, run
from diffmg.core.codec import from_plain, to_plain
from diffmg.core.importance import Explanation
from diffmg.core.method import MethodSpec
from diffmg.core.settings import Settings
from diffmg.explain import answers, explanations
from diffmg.explain import total as total_module
from diffmg.methods.ensemble import Ensemble, Member
from diffmg.methods.given import Given
from diffmg.methods.search.everything import Everything
from diffmg.tasks import NodeRegression
from small_networks import METAGRAPHS, small_classification, small_recommendation

TINY = Settings(dim=4, max_epochs=3)
SEVERAL, TWO = METAGRAPHS["several operations a link"], METAGRAPHS["two towers"]


def fitted(problem: Problem, metagraphs: tuple, **changes: object) -> Model:
    plan = make_plan(problem.source, Given(metagraphs), settings=replace(TINY, **changes), device="cpu")
    return run(plan, problem)[1]


def shares(explanation: Explanation) -> float:
    return sum(c.share for c in explanation.contributions)


@pytest.mark.parametrize("states", ["last", "mean", "concat", "attention"])
def test_shares_sum_to_one_and_the_answer_is_the_models(states: str) -> None:
    problem = small_classification()
    model = fitted(problem, SEVERAL, states=states, label_inputs=True, residual=True)
    predicted = model.answers()["class"].tolist()
    found = model.explain(np.arange(7), k_sources=20)
    assert [e.id for e in found] == list(range(7))
    for number, each in enumerate(found):
        assert each.answer.startswith(f"{predicted[number]} (p = ")
        assert shares(each) == pytest.approx(1, abs=1e-4)
        assert ("frozen" in each.note) == (states in ("concat", "attention"))
        for c in each.contributions:
            if not c.label:
                assert sum(s.share for s in c.sources) == pytest.approx(c.share, abs=1e-4)


def test_effects_are_the_first_order_of_taking_a_little_away() -> None:
    """Against a finite difference: all of the state made a little smaller."""
    model = fitted(small_classification(), SEVERAL, layer_norm=False)
    (each,) = model.explain([3])
    network = model.network
    with torch.no_grad():
        states, first = network.target_states(model.problem.graph)[0]
        z = network.encoders[0].readout.before_norm(states, first, None)[3:4].double()
        network = network.double()
        best = int(network.finished(0, z)[0].argmax())

        def margin(factor: float) -> float:
            logits = network.finished(0, factor * z)[0]
            return float(logits[best] - (logits.sum() - logits[best]) / (len(logits) - 1))

        slope = (margin(1 + 1e-4) - margin(1 - 1e-4)) / 2e-4
    assert sum(c.effect for c in each.contributions) == pytest.approx(slope, abs=1e-3)


def test_a_pair_has_an_explanation_of_each_end() -> None:
    model = fitted(small_recommendation(), TWO, biases=True)
    score = float(model.outputs[0][2] @ model.outputs[1][1])
    user, item = model.explain([(2, 1)])
    assert (user.target, user.id, item.target, item.id) == ("a", 2, "c", 1)
    assert user.answer == f"score {score:.4g} with c 1"
    assert item.answer == f"score {score:.4g} with a 2"
    assert shares(user) == pytest.approx(1, abs=1e-4)
    assert model.explain((2, 1)) == [user, item]


def test_numbers_are_explained_in_the_users_units() -> None:
    numbers = NodeRegression.build("b", [1.0, 5.0, 9.0, 2.0, 3.0, 4.0, 6.0], train=[0, 1, 2], val=[3, 4, 5], test=[6])
    model = fitted(Problem(small_classification().graph, numbers), SEVERAL)
    (each,) = model.explain([6])
    assert float(each.answer) == pytest.approx(float(model.answers([6])["prediction"][0]), rel=1e-4)


def ensemble(problem: Problem, *members: tuple[str, float]) -> tuple[Ensemble, torch.nn.Module]:
    found = [
        Member(MethodSpec(name), TINY, seed, weight, SEVERAL if name == "given" else ())
        for seed, (name, weight) in enumerate(members)
    ]
    method = Ensemble(tuple(found))
    return method, method.network(problem, TINY, 0)


def test_an_ensemble_averages_its_members_by_their_votes() -> None:
    problem = small_classification()
    method, network = ensemble(problem, ("given", 0.75), ("given", 0.25))
    (both,) = explanations(method, network, problem, [(3,)], 5)
    alone = [explanations(Given(SEVERAL), part, problem, [(3,)], 5)[0] for part in network.members]
    for c in both.contributions:
        each = [next(d.share for d in one.contributions if d.path == c.path) for one in alone]
        assert c.share == pytest.approx(0.75 * each[0] + 0.25 * each[1], abs=1e-5)
    assert "an ensemble of 2 models" in both.note


def test_members_without_a_meta_graph_are_named_with_their_share() -> None:
    problem = small_classification()
    (each,) = explanations(*ensemble(problem, ("given", 0.6), ("gcn", 0.4)), problem, [(3,)], 5)
    assert "40% of the votes are of models without a meta graph (gcn)" in each.note
    assert shares(each) == pytest.approx(1, abs=1e-4)


def test_a_method_without_a_meta_graph_refuses() -> None:
    problem = small_classification()
    model = run(make_plan(problem.source, "gcn", settings=TINY, device="cpu"), problem)[1]
    with pytest.raises(DiffmgError, match="needs a model with a meta graph, but got one of gcn; fit with"):
        model.explain([0])


def test_too_many_paths_are_summed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted(small_classification(), SEVERAL)
    (whole,) = model.explain([3], k_sources=0)
    monkeypatch.setattr(answers, "PATHS", 3)
    (short,) = model.explain([3], k_sources=0)
    assert "too many meta paths" in short.note
    monkeypatch.setattr(answers, "PATHS", 2000)
    monkeypatch.setattr(total_module, "SHOWN", 2)
    (few,) = model.explain([3], k_sources=0)
    assert sum(not c.label for c in few.contributions) == 2
    for merged in (short, few):
        others = next(c for c in merged.contributions if c.label)
        assert others.label == "other paths"
        told = {c.path for c in merged.contributions if not c.label}
        hidden = [c for c in whole.contributions if c.path not in told]
        assert others.share == pytest.approx(sum(c.share for c in hidden), abs=1e-4)
        assert others.effect == pytest.approx(sum(c.effect for c in hidden), abs=1e-4)


def test_ids_are_the_users_and_odd_ones_are_escaped() -> None:
    """Ids of sources and of the node; control characters never reach a terminal."""
    odd = np.array(["<b>\x1b[31m", "[red]", "ü", "x", "y", "z", "w"])
    small = small_classification()
    graph = replace(small.graph, ids={"b": odd})
    assert isinstance(graph, HeteroGraph)
    model = fitted(Problem(graph, small.task), SEVERAL)
    found = model.explain(odd[:2], k_sources=7)
    assert [e.id for e in found] == odd[:2].tolist()
    assert {s.id for e in found for c in e.contributions for s in c.sources if s.node_type == "b"} <= set(odd.tolist())
    assert "\x1b" not in str(found[0])
    assert "b <b>\\x1b[31m: " in str(found[0])


def test_explanations_go_through_json() -> None:
    for problem, metagraphs, ids in ((small_classification(), SEVERAL, [2]), (small_recommendation(), TWO, [(0, 0)])):
        for each in fitted(problem, metagraphs, states="mean").explain(ids):
            plain = json.loads(json.dumps(to_plain(each)))
            assert from_plain(Explanation, plain, "an explanation") == each


@pytest.mark.parametrize(
    ("ids", "words"),
    [([99, 0], "id must be one of the 'a' nodes"), ([(0, 1, 2)], "rows (user, item)"), (["ab"], "rows (user, item)")],
)
def test_ids_that_are_not_there(ids: list, words: str) -> None:
    model = fitted(small_recommendation(), TWO)
    with pytest.raises(DiffmgError) as error:
        model.explain(ids)
    assert words in str(error.value)


def test_a_deep_meta_graph_of_everything_is_explained(classification: Problem) -> None:
    """More paths than are told apart, in seconds."""
    plan = make_plan(classification.source, Everything(depth=6), settings=replace(TINY, links="mean"), device="cpu")
    model = run(plan, classification)[1]
    (each,) = model.explain([0])
    assert shares(each) == pytest.approx(1, abs=1e-4)
    assert any(c.label == "other paths" for c in each.contributions)
