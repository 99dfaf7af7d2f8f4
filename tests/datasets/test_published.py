"""What the authors published, on the data it was published for."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from diffmg.core.space import SearchSpace
from diffmg.datasets import load_dataset
from diffmg.tasks.problem import Problem
from diffmg.training import Training
from real_data import needs_data, published, train_settings
from resuming import run

NAMES = ("dblp", "acm", "imdb", "amazon", "yelp", "douban")


@pytest.fixture(scope="module", params=NAMES)
def named(request: pytest.FixtureRequest) -> tuple[str, Problem]:
    return request.param, load_dataset(request.param)


@needs_data
def test_meta_graphs_lie_in_the_space_their_program_searched(named: tuple[str, Problem]) -> None:
    name, problem = named
    for metagraph in problem.arranged(published(name).metagraphs):
        space = SearchSpace.dag(problem.graph.schema, metagraph.target, depth=4, identity_last=True)
        assert space.contains(metagraph)


@needs_data
def test_two_epochs_with_the_authors_settings_give_finite_numbers(named: tuple[str, Problem]) -> None:
    name, problem = named
    settings = replace(train_settings(name), max_epochs=2)
    training = Training(problem, problem.arranged(published(name).metagraphs), settings, seed=0)
    for epoch in run(training):
        assert math.isfinite(epoch.train_loss)
        assert math.isfinite(epoch.val_loss)
        assert 0 <= epoch.val_score <= 1
    assert training.epoch == 2
