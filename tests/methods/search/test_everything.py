from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import IDENTITY, MetaGraph
from diffmg.core.settings import Settings
from diffmg.core.space import SearchSpace
from diffmg.methods.search.everything import Everything
from diffmg.methods.search.random import RandomMetaGraph
from diffmg.nn import Model
from diffmg.nn.derived import types_of
from diffmg.tasks.problem import Problem
from diffmg.training import Training
from small_networks import small_classification


def test_takes_every_candidate_of_every_link_at_once(problem, quick):
    search = Everything(depth=3).search(problem, quick, 0)
    assert search.done
    for target, metagraph in zip(problem.task.target_types, search.found(), strict=True):
        assert metagraph.operations == SearchSpace.dag(problem.graph.schema, target, 3).candidates


def encoded(problem: Problem, metagraph: MetaGraph, scale: str) -> torch.Tensor:
    """In double precision, after LayerNorm: the sum on each link, or the sum times 1/2, or the average."""
    graph = problem.graph.to(dtype=torch.float64)
    settings = Settings(dim=6, dropout=0.0)
    model = Model(graph, [graph.schema.node_types], 0, settings, 0, learned_norm=False).double()
    counts = torch.tensor([len(o) for o in metagraph.operations for _ in o], dtype=torch.float64)
    weights = {"sum": torch.ones_like(counts), "half": torch.full_like(counts, 0.5), "mean": 1 / counts}[scale]
    return model(graph, [metagraph], [weights])[0]


def test_with_one_link_the_sum_is_the_average_after_the_norm(quick):
    problem = small_classification()
    (metagraph,) = Everything(depth=1).search(problem, quick, 0).found()
    assert len(metagraph.choices) > 1
    difference = encoded(problem, metagraph, "sum") - encoded(problem, metagraph, "mean")
    assert difference.abs().max() < 2e-3, "what is left is the epsilon of the norm"


@pytest.mark.parametrize("scale", ["half", "mean"])
def test_with_several_links_it_is_not(quick, scale):
    """Links have different numbers of candidates, and long ways take more links: as the module says."""
    problem = small_classification()
    (metagraph,) = Everything(depth=2).search(problem, quick, 0).found()
    assert len({len(operations) for operations in metagraph.operations}) > 1
    difference = encoded(problem, metagraph, "sum") - encoded(problem, metagraph, scale)
    assert difference.abs().max() > 0.02


def test_identity_last_widens_the_space(classification, quick):
    plain, wider = (Everything(2, identity_last=x).search(classification, quick, 0).found()[0] for x in (False, True))
    assert IDENTITY in wider[2, 1]
    assert IDENTITY not in plain[2, 1]


def test_types_are_checked():
    with pytest.raises(DiffmgError, match="identity_last"):
        Everything(identity_last=1)


@pytest.mark.parametrize("links", ["sum", "mean"])
def test_training_sums_or_averages_the_operations_of_a_link(problem, quick, links):
    found = Everything(depth=2).search(problem, quick, 0).found()
    model = Training(problem, found, replace(quick, links=links), 0).model.eval()
    plain = Model(problem.graph, types_of(found), problem.task.outputs, quick, 0).eval()
    shares = [torch.tensor([1 / len(o) if links == "mean" else 1.0 for o in m.operations for _ in o]) for m in found]
    for got, wanted in zip(model(problem.graph), plain(problem.graph, found, shares), strict=True):
        torch.testing.assert_close(got, wanted)
    assert set(model.state_dict()) == {name for name, _ in model.named_parameters()}


def test_with_one_operation_a_link_there_is_nothing_to_average(problem, quick):
    found = RandomMetaGraph(depth=3).search(problem, quick, 0).found()
    models = [Training(problem, found, replace(quick, links=links), 0).model.eval() for links in ("sum", "mean")]
    outputs = [model(problem.graph) for model in models]
    assert all(torch.equal(a, b) for a, b in zip(*outputs, strict=True))
