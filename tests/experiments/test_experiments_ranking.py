from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diffmg.core.errors import DiffmgError
from diffmg.datasets import load_dataset
from diffmg.tasks import ItemRanking
from experiments.ranking import ranking_of
from experiments.runner import done_cells
from experiments.spec import read_table

PARTS = ("train", "val", "test")
TABLE = """
title = "small"
kind = "ranking"
data = ["shop:160"]
seeds = 1
pipelines = 2
[settings]
dim = 8
max_epochs = 3
[methods.popularity]
[methods.ease]
budget = 2
"""


def liked_in(problem: Any) -> set[tuple[int, int]]:
    task = problem.task
    found = set(zip(*(x.tolist() for x in task.seen.nonzero()), strict=True))
    for labelled in task.parts.values():
        rows = np.stack([labelled.pairs.left.numpy(), labelled.pairs.right.numpy()], axis=1)
        found |= {tuple(r) for r in rows[labelled.labels.numpy() > 0].tolist()}
    return found


def test_what_was_liked_is_split_anew_and_only_training_stays_in_the_network():
    shop = load_dataset("shop:160")
    problem = ranking_of(shop, 1)
    assert isinstance(problem.task, ItemRanking)
    rows = {part: {tuple(r) for r in problem.task.parts[part].rows()[0].tolist()} for part in PARTS}
    assert set.union(*rows.values()) == liked_in(shop)
    assert sum(map(len, rows.values())) == len(liked_in(shop))
    for name in ("buys", "bought_by"):
        relation = next(r for r in problem.graph.schema.relations if r.name == name)
        index = problem.graph.edge_index(relation)
        ends = index if relation.source == "user" else index[::-1]
        assert {tuple(r) for r in ends.T.tolist()} == rows["train"]
    others = [r for r in shop.graph.schema.relations if r.name not in ("buys", "bought_by")]
    assert all((problem.graph.adjacency[r] != shop.graph.adjacency[r]).nnz == 0 for r in others)
    assert ranking_of(shop, 1).task.digests({}) == problem.task.digests({}) != ranking_of(shop, 2).task.digests({})


def test_labels_are_no_ranking():
    with pytest.raises(DiffmgError, match="but got classification"):
        ranking_of(load_dataset("academic:120"))


def test_the_table_shows_recall_ndcg_and_coverage(tmp_path: Path, experiment: Callable[..., Any]) -> None:
    (tmp_path / "small.toml").write_text(TABLE, encoding="utf-8")
    given = ("--plan", tmp_path / "small.toml", "--out", tmp_path / "out", "--device", "cpu")
    answer = experiment("reproduce", "ranking", *given)
    assert answer.code == 0, answer.err
    cells = done_cells(read_table(tmp_path / "small.toml"), tmp_path / "out")
    assert set(cells) == {("popularity", "shop:160"), ("ease", "shop:160")}
    assert "| method | runs | recall@20 | ndcg@20 | coverage of the first 20 |" in answer.out
    scores = [run.scores("test") for run in cells["ease", "shop:160"].runs]
    assert len(scores) == 2
    assert f"{100 * np.mean([s['recall'] for s in scores]):.2f}" in answer.out
    again = experiment("reproduce", "ranking", *given)
    assert again.out == answer.out
