from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from diffmg.core import DiffmgError, MethodSpec
from diffmg.core.codec import from_plain, to_plain
from diffmg.methods.ensemble import Ensemble, Member
from diffmg.nn.fitted import Fitted
from diffmg.training.training import outputs_of

KINDS = ("gcn", "mlp")


def members(quick, **changes):
    weights = (0.25, 0.75)
    several = zip(KINDS, weights, strict=True)
    return tuple(Member(MethodSpec(name), quick, seed, w, **changes) for seed, (name, w) in enumerate(several))


def test_its_votes_are_the_weighted_sum_of_its_members(problem, quick):
    ensemble = Ensemble(members(quick))
    network = ensemble.network(problem, quick, 0)
    task, votes = problem.task, []
    for part, member in zip(network.members, ensemble.members, strict=True):
        alone = member.method.make().network(problem, quick, member.seed)
        alone.load_state_dict(part.state_dict())
        votes.append(member.weight * task.votes(outputs_of(alone, problem), "val"))
    mean = task.votes(outputs_of(network, problem), "val")
    assert torch.allclose(mean, sum(votes), atol=1e-5)


def test_vectors_as_long_as_there_are_items_are_not_set_side_by_side(recommendation, quick):
    specs = (
        MethodSpec("item_knn"),
        MethodSpec("lightgcn"),
        MethodSpec("item_knn", {"neighbours": 3}),
        MethodSpec("ease"),
    )
    weights = (0.5, 1.0, 0.25, -2.0)
    several = tuple(Member(spec, quick, 0, w) for spec, w in zip(specs, weights, strict=True))
    network, task = Ensemble(several).network(recommendation, quick, 0), recommendation.task
    for member in network.members:
        if isinstance(member, Fitted):
            member.fit(recommendation, 0)
    wanted = task.blend([outputs_of(member, recommendation) for member in network.members], weights)
    found = outputs_of(network, recommendation)
    assert torch.allclose(found[0] @ found[1].T, wanted[0] @ wanted[1].T, atol=1e-4)
    assert found[0].shape[1] == quick.dim + recommendation.graph.num_nodes[task.target_types[1]]


def test_its_state_is_that_of_its_members(classification, quick):
    one, other = (Ensemble(members(quick)).network(classification, quick, 0) for _ in range(2))
    with torch.no_grad():
        for parameter in one.parameters():
            parameter.add_(0.1)
    other.load_state_dict(one.state_dict())
    assert torch.equal(outputs_of(one, classification)[0], outputs_of(other, classification)[0])


def test_a_member_hears_the_labels_it_was_trained_on(classification, quick):
    """Label propagation's own problem is the fold, or all labels, or those of the task's own split."""
    seen = {}
    for name, changes in {"own": {}, "fold": {"fold": 2}, "val": {"joined": "val"}, "all": {"joined": "all"}}.items():
        member = Member(MethodSpec("rgcn"), replace(quick), 0, 1.0, **changes)
        heard = []
        method = Ensemble((member,), folds=3, fold_seed=5)
        with pytest.MonkeyPatch.context() as patch:
            from diffmg.methods.baselines.rgcn import RGCN

            made = RGCN.network

            def listening(self, problem, *given, made=made, heard=heard):
                heard.append(problem.task.parts["train"].tolist())
                return made(self, problem, *given)

            patch.setattr(RGCN, "network", listening)
            method.network(classification, quick, 0)
        seen[name] = sorted(heard[0])
    task = classification.task
    parts = {part: task.parts[part].tolist() for part in ("train", "val", "test")}
    assert seen["own"] == sorted(parts["train"])
    assert seen["fold"] == sorted(task.folds(3, 5).tasks[1].parts["train"].tolist())
    assert seen["val"] == sorted(parts["train"] + parts["val"])
    assert seen["all"] == sorted(parts["train"] + parts["val"] + parts["test"])


def test_it_goes_through_json(quick):
    ensemble = Ensemble(members(quick, fold=1), folds=2, fold_seed=7)
    assert from_plain(MethodSpec, to_plain(ensemble.spec()), "it").make() == ensemble


def test_it_is_not_fitted_by_hand(classification, quick):
    with pytest.raises(DiffmgError, match="needs one or more members, but got none; fit with `auto`"):
        Ensemble().check(classification, quick)
    assert Ensemble(members(quick)).search(classification, quick, 0).done
