from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation
from diffmg.estimators import MetaGraphRecommender
from diffmg.methods.search.diffmg import DiffMG
from diffmg.tables import problem_from_tables
from diffmg.tables.description import Description, NodeTable, RelationTable
from diffmg.tasks import Problem, Recommendation
from diffmg.tasks.recommendation import RecommendationSpec

RATED, BACK = Relation("user", "rated", "item"), Relation("item", "rev_rated", "user")
PARTS = ("train", "val", "test")
DESCRIPTION = Description(
    {"user": NodeTable(), "item": NodeTable(), "brand": NodeTable()},
    {
        "rated": RelationTable("ratings", ("user", "user"), ("item", "item")),
        "makes": RelationTable("makes", ("brand", "brand"), ("item", "item")),
    },
    RecommendationSpec("rated", "stars"),
)


def ratings(users: int = 20, items: int = 15, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    pairs = rng.choice(users * items, users * items // 3, replace=False)
    return {
        "user": [f"u{i}" for i in pairs // items],
        "item": pairs % items + 500,
        "stars": rng.integers(1, 6, len(pairs)),
    }


def problem_of(description: Description = DESCRIPTION, **columns: Any) -> Problem:
    table = {name: values for name, values in (ratings() | columns).items() if values is not None}
    items = np.unique([i for i in table["item"] if i is not None])
    tables = {"ratings": table, "makes": {"brand": [f"b{i % 4}" for i in items], "item": items}}
    return problem_from_tables(description, tables)


def pairs_of(problem: Problem, part: str) -> list[tuple[Any, Any, float]]:
    """Supervised pairs by id, with their labels."""
    assert isinstance(problem.task, Recommendation)
    labelled = problem.task.parts[part]
    ids = (
        problem.graph.ids_of("user")[labelled.pairs.left.numpy()],
        problem.graph.ids_of("item")[labelled.pairs.right.numpy()],
    )
    return list(zip(ids[0].tolist(), ids[1].tolist(), labelled.labels.tolist(), strict=True))


def edges_of(problem: Problem) -> set[tuple[Any, Any]]:
    source, target = problem.graph.edge_index(RATED)
    return set(
        zip(problem.graph.ids_of("user")[source].tolist(), problem.graph.ids_of("item")[target].tolist(), strict=True)
    )


def rows(table: dict[str, Any]) -> dict[tuple[Any, Any], Any]:
    return {(u, int(i)): s for u, i, s in zip(table["user"], table["item"], table["stars"], strict=True)}


@given(st.integers(0, 2**32), st.sampled_from([2, 3.5]))
def test_ratings_are_split_by_the_protocol(seed, liked):
    problem = problem_of(replace(DESCRIPTION, task=RecommendationSpec("rated", "stars", liked, seed=seed)))
    stars = rows(ratings())
    count = sum(s > liked for s in stars.values())
    observed = edges_of(problem)
    assert len(observed) == count - count // 2
    assert all(stars[pair] > liked for pair in observed)
    parts = {part: pairs_of(problem, part) for part in PARTS}
    everything = [(u, i) for pairs in parts.values() for u, i, _ in pairs]
    assert len(set(everything)) == len(everything)
    assert not observed & set(everything)
    for part, share in zip(PARTS, (0.6, 0.2, 0.2), strict=True):
        positive = [(u, i) for u, i, label in parts[part] if label]
        assert all(stars[pair] > liked for pair in positive)
        assert all(stars.get((u, i), 0) <= liked for u, i, label in parts[part] if not label)
        assert 2 * len(positive) == len(parts[part])
        assert abs(len(positive) - share * (count // 2)) <= 1


def test_what_is_observed_is_seen_and_goes_both_ways():
    problem = problem_of()
    assert problem.task.seen.nnz == len(edges_of(problem)) == problem.graph.adjacency[BACK].nnz
    assert (problem.task.target_types, problem.task.shape) == (("user", "item"), (20, 15))


def test_without_ratings_every_row_is_liked():
    problem = problem_of(replace(DESCRIPTION, task=RecommendationSpec("rated")), stars=None)
    assert len(edges_of(problem)) == 50
    assert sum(problem.task.size(part) for part in PARTS) == 100


def test_rows_without_a_rating_are_left_out():
    stars = ratings()["stars"].astype(float)
    stars[:7] = np.nan
    assert "relation rated: 7 rows without a rating, left out" in problem_of(stars=stars).graph.notes


def test_ratings_that_are_no_numbers():
    with pytest.raises(DiffmgError, match="but got string"):
        problem_of(stars=["good"] * 100)


def test_unknown_rating_column():
    description = replace(DESCRIPTION, task=RecommendationSpec("rated", "star"))
    with pytest.raises(DiffmgError, match=r"did you mean 'stars'\?"):
        problem_of(description)


def test_a_relation_without_edges():
    with pytest.raises(DiffmgError, match="but got none in 'rated'"):
        problem_of(user=[None] * 100)


def test_nothing_that_was_liked():
    with pytest.raises(DiffmgError, match="but got 0 positive"):
        problem_of(stars=[1] * 100)


def test_a_pair_rated_twice_counts_once_with_the_mean_of_its_ratings():
    once = ratings()
    table = {name: [*values, *values] for name, values in once.items()}
    above, below = once["stars"] + 0.5, once["stars"] - 0.5
    table["stars"] = [*above, *below]
    one, twice = problem_of(), problem_of(**table)
    assert edges_of(one) == edges_of(twice)
    assert all(pairs_of(one, part) == pairs_of(twice, part) for part in PARTS)
    assert problem_of(**(table | {"stars": [*above, *above]})).task.counts() != one.task.counts()


def test_a_rating_that_is_missing_does_not_change_the_mean():
    table = {name: [*values, *values] for name, values in ratings().items()}
    table["stars"] = [*ratings()["stars"].astype(float), *[np.nan] * 100]
    assert edges_of(problem_of(**table)) == edges_of(problem_of())


def test_weights_of_what_is_observed_stay():
    relation = replace(DESCRIPTION.relations["rated"], weight="stars")
    problem = problem_of(replace(DESCRIPTION, relations={**DESCRIPTION.relations, "rated": relation}))
    assert set(problem.graph.adjacency[RATED].data) == {4, 5}


SMALL = {
    "user": ["u", "u", "u", "v", "v", "v", "w"],
    "item": [1, 2, 3, 1, 2, 3, 1],
    "stars": [5, 1, 5, 2, 4, 1, 1],
    "part": ["train", "train", None, "val", "val", "test", None],
}


def test_the_split_may_be_a_column():
    problem = problem_of(replace(DESCRIPTION, task=RecommendationSpec("rated", "stars", split="part")), **SMALL)
    assert pairs_of(problem, "train") == [("u", 1, 1.0), ("u", 2, 0.0)]
    assert pairs_of(problem, "val") == [("v", 1, 0.0), ("v", 2, 1.0)]
    assert pairs_of(problem, "test") == [("v", 3, 0.0)]
    assert edges_of(problem) == {("u", 3)}


def test_a_split_without_negative_pairs():
    description = replace(DESCRIPTION, task=RecommendationSpec("rated", split="part"))
    with pytest.raises(DiffmgError, match="but got 2 positive and 0 negative"):
        problem_of(description, **{k: v for k, v in SMALL.items() if k != "stars"}, stars=None)


def test_another_relation_that_tells_the_answer():
    viewed = RelationTable("ratings", ("user", "user"), ("item", "item"))
    leaky = replace(DESCRIPTION, relations={**DESCRIPTION.relations, "viewed": viewed})
    with pytest.raises(DiffmgError, match=r"but got .*viewed"):
        problem_of(leaky)
    exempt = replace(leaky, task=RecommendationSpec("rated", "stars", exempt=("viewed",), k=3))
    assert problem_of(exempt).task.exempt == ("viewed", "rev_viewed")


def test_recommendations_come_out_with_the_ids_of_the_tables():
    problem = problem_of()
    method = DiffMG(depth=1, search_seeds=1, epochs=2)
    model = MetaGraphRecommender(method=method, settings={"dim": 8, "max_epochs": 2})
    items, _ = model.fit(problem).recommend(["u3", "u4"], k=4)
    assert items.shape == (2, 4)
    assert set(items.ravel().tolist()) <= set(range(500, 515))
