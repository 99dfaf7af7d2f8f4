from __future__ import annotations

import numpy as np
import torch

from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.datasets.films import HOLDS, WATCHED_BY, WATCHES, Films
from diffmg.tasks import ItemRanking
from diffmg.training import Training
from resuming import run

PARTS = ("train", "val", "test")


def test_four_types_and_seven_relations():
    problem = load_dataset("films:160")
    assert len(problem.graph.schema.node_types) == 4
    assert len(problem.graph.schema.relations) == 7
    assert set(problem.graph.features) == {"genre"}


def test_only_training_interactions_are_edges():
    problem = load_dataset("films:300")
    assert isinstance(problem.task, ItemRanking)
    rows = {part: {tuple(r) for r in problem.task.parts[part].rows()[0].tolist()} for part in PARTS}
    assert {tuple(r) for r in problem.graph.edge_index(WATCHES).T.tolist()} == rows["train"]
    assert {tuple(r) for r in problem.graph.edge_index(WATCHED_BY)[::-1].T.tolist()} == rows["train"]
    shares = np.array([len(rows[part]) for part in PARTS]) / sum(map(len, rows.values()))
    assert np.allclose(shares, [0.8, 0.1, 0.1], atol=0.03)


def test_planted_paths_are_of_the_network():
    viewer, film = Films.planted
    assert (HOLDS, WATCHED_BY) in viewer.paths()
    assert (HOLDS,) in film.paths()


def test_the_planted_meta_graphs_rank_better_than_popularity():
    problem = load_dataset("films:400")
    settings = Settings(dim=16, max_epochs=60, weight_decay=1e-5, dropout=0.0)
    job = Training(problem, Films.planted, settings, 0)
    run(job)
    popular = problem.task.scores((torch.ones(problem.task.shape[0], 1), problem.task.popular.unsqueeze(1)), "val")[
        "ndcg"
    ]
    assert job.best_score > 1.3 * float(popular)


def test_another_seed_is_another_archive():
    one, same, other = (load_dataset("films:160", seed=seed).task.digests({}) for seed in (0, 0, 1))
    assert one == same != other
