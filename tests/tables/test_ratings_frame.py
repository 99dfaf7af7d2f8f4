from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest

from diffmg.core.errors import DiffmgError
from diffmg.estimators import MetaGraphRecommender
from diffmg.graph.fingerprint import graph_digests
from diffmg.tables import read_problem
from diffmg.tasks.item_ranking import ItemRanking
from diffmg.tasks.problem import Problem

TOML = """
[nodes.userId]
[nodes.movieId]
[relations.rated]
file = "ratings.csv"
source = ["userId", "userId"]
target = ["movieId", "movieId"]
[task]
relation = "rated"
rating = "rating"
liked = 4
"""


def rows(users: int = 30, items: int = 12) -> dict[str, list[Any]]:
    rng = np.random.default_rng(0)
    found = [(u, i) for u in range(users) for i in rng.permutation(items)[:8]]
    return {
        "userId": [f"u{u}" for u, _ in found],
        "movieId": [int(i) for _, i in found],
        "rating": [5 if i % 3 == u % 3 else 2 + (i % 3) for u, i in found],
        "timestamp": [*range(len(found))],
    }


def test_the_same_as_a_description_of_the_same_file(tmp_path: Path):
    given = rows()
    csv.write_csv(pa.table(given), tmp_path / "ratings.csv")
    (tmp_path / "ratings.toml").write_text(TOML)
    problem, wanted = Problem.from_ratings(given, liked=4), read_problem(tmp_path / "ratings.toml")
    assert isinstance(problem.task, ItemRanking)
    assert graph_digests(problem.graph) == graph_digests(wanted.graph)
    assert problem.task.digests({}) == wanted.task.digests({})


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_ratings_in_recommendations_out(library: str):
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    problem = Problem.from_ratings(frames.DataFrame(rows()), time="timestamp")
    model = MetaGraphRecommender(method="svd", device="cpu").fit(problem)
    answer = model.predictions(["u3", "u4"], k=2)
    assert answer["userId"].tolist() == ["u3", "u3", "u4", "u4"]
    assert set(answer["movieId"].tolist()) <= set(range(12))


def test_without_ratings_every_row_was_liked():
    given = rows()
    problem = Problem.from_ratings({"who": given["userId"], "what": given["movieId"]}, user="who", item="what")
    assert {r.name for r in problem.graph.schema.relations} == {"chose", "rev_chose"}
    assert sum(problem.task.size(part) for part in ("train", "val", "test")) == len(given["userId"])


def test_columns_of_users_and_items_are_features():
    users = {"id": [f"u{i}" for i in range(31)], "age": [20 + i for i in range(31)]}
    problem = Problem.from_ratings(rows(), users=users, items={"id": [*range(12)], "year": [*range(12)]})
    assert {t: x.shape for t, x in problem.graph.features.items()} == {"userId": (31, 1), "movieId": (12, 1)}


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"user": "usr"}, "unknown column of the ratings: 'usr'"),
        ({}, {"time": "when"}, "unknown column of the ratings: 'when'"),
        ({}, {"user": "movieId"}, "users and items must be in two columns, but got 'movieId' for both"),
        ({"bookId": rows()["movieId"]}, {}, "with a usual name, but got ['movieId', 'bookId']; name it: item=..."),
        ({}, {"metrik": "mrr"}, "metrik"),
        ({"rating": ["good"] * 240}, {}, "must be numbers"),
        ({}, {"users": {"id": ["u0"]}}, "edges must lead to known nodes"),
    ],
)
def test_ratings_that_do_not_fit(change, options, message):
    with pytest.raises(DiffmgError, match=re.escape(message)):
        Problem.from_ratings(rows() | change, **options)


def test_columns_without_usual_names():
    with pytest.raises(DiffmgError, match=re.escape("but got ['a', 'b']; name it: user=...")):
        Problem.from_ratings({"a": [1], "b": [2]})
