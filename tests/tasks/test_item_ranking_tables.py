from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation
from diffmg.tables import problem_from_tables
from diffmg.tables.description import Description, NodeTable, RelationTable, description_from_dict, description_to_dict
from diffmg.tasks import ItemRanking, Problem
from diffmg.tasks.interactions import Contrast
from diffmg.tasks.item_ranking_spec import RankingSpec
from diffmg.tasks.recommendation import RecommendationSpec

RATED, BACK = Relation("user", "rated", "item"), Relation("item", "rev_rated", "user")
PARTS = ("train", "val", "test")
DESCRIPTION = Description(
    {"user": NodeTable(), "item": NodeTable(), "brand": NodeTable()},
    {
        "rated": RelationTable("ratings", ("user", "user"), ("item", "item")),
        "makes": RelationTable("makes", ("brand", "brand"), ("item", "item")),
    },
    RankingSpec("rated", "stars", 4),
)


def ratings(users: int = 30, items: int = 20, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    pairs = rng.choice(users * items, users * items // 2, replace=False)
    return {
        "user": [f"u{i:02}" for i in pairs // items],
        "item": pairs % items + 500,
        "stars": rng.integers(1, 6, len(pairs)),
        "when": rng.permutation(len(pairs)),
    }


def problem_of(task: RankingSpec | None = None, **columns: Any) -> Problem:
    table = {name: values for name, values in (ratings() | columns).items() if values is not None}
    items = np.unique([i for i in table["item"] if i is not None])
    tables = {"ratings": table, "makes": {"brand": [f"b{i % 4}" for i in items], "item": items}}
    return problem_from_tables(DESCRIPTION if task is None else replace(DESCRIPTION, task=task), tables)


def by_id(problem: Problem, rows: np.ndarray) -> set[tuple[str, int]]:
    users, items = problem.graph.ids_of("user")[rows[:, 0]], problem.graph.ids_of("item")[rows[:, 1]]
    return set(zip(users.tolist(), items.tolist(), strict=True))


def split_of(problem: Problem) -> dict[str, tuple[set, set]]:
    """Per part, liked and disliked pairs by id."""
    return {p: tuple(by_id(problem, r) for r in problem.task.parts[p].rows()) for p in PARTS}


def stars_of(table: dict[str, Any]) -> dict[tuple[str, int], float]:
    return {(u, int(i)): s for u, i, s in zip(table["user"], table["item"], table["stars"], strict=True)}


@given(st.integers(0, 2**31 - 1), st.sampled_from([2, 3.5, 5]))
def test_every_rating_is_in_one_part_and_only_what_was_liked_in_training_is_an_edge(seed, liked):
    problem = problem_of(RankingSpec("rated", "stars", liked, seed=seed))
    stars, split = stars_of(ratings()), split_of(problem)
    found = [pair for sets in split.values() for pairs in sets for pair in pairs]
    assert sorted(found) == sorted(stars)
    assert all(stars[p] >= liked for good, _ in split.values() for p in good)
    assert all(stars[p] < liked for _, bad in split.values() for p in bad)
    for relation in (RATED, BACK):
        index = problem.graph.edge_index(relation)
        ends = index if relation == RATED else index[::-1]
        assert by_id(problem, ends.T) == split["train"][0]


def test_the_order_of_rows_does_not_matter():
    table, order = ratings(), np.random.default_rng(1).permutation(300)
    shuffled = {name: np.asarray(values)[order] for name, values in table.items()}
    assert split_of(problem_of()) == split_of(problem_of(**shuffled))


def test_without_ratings_everything_was_liked():
    problem = problem_of(RankingSpec("rated"), stars=None)
    assert sum(problem.task.size(part) for part in PARTS) == 300
    assert problem.task.counts()["train"].keys() == {"liked"}


def test_the_mean_decides_what_was_liked_where_nothing_else_does_and_a_note_says_so():
    stars = np.repeat([1, 4, 5], [60, 120, 120])
    problem = problem_of(RankingSpec("rated", "stars"), stars=stars)
    assert sum(problem.task.size(part) for part in PARTS) == 240
    assert any("ratings of 3.8 or more, the mean, count as liked" in note for note in problem.graph.notes)


def test_a_pair_that_was_rated_twice_counts_once_with_its_mean():
    once = ratings()
    table = {name: [*values, *values] for name, values in once.items()}
    table["stars"] = [*(once["stars"] + 0.25), *(once["stars"] - 0.25)]
    assert split_of(problem_of(**table)) == split_of(problem_of())


def test_the_last_two_of_each_user_may_be_held_out():
    problem, table = problem_of(RankingSpec("rated", "stars", 4, time="when")), ratings()
    rows = sorted(zip(table["when"], table["user"], table["item"].tolist(), table["stars"], strict=True))
    split, found = split_of(problem), {"val": set(), "test": set()}
    for user in set(table["user"]):
        own = [(u, i) for _, u, i, s in rows if u == user and s >= 4]
        if len(own) >= 3:
            found["val"].add(own[-2])
            found["test"].add(own[-1])
    assert {part: split[part][0] for part in found} == found
    assert any("users have fewer than three" in note for note in problem.graph.notes)


def test_two_dates_may_begin_validation_and_test():
    days = [f"2024-01-{day % 30 + 1:02}" for day in ratings()["when"]]
    spec = RankingSpec("rated", "stars", 4, time="when", dates=("2024-01-21", "2024-01-26"))
    split, table = split_of(problem_of(spec, when=days)), ratings()
    for user, item, stars, day in zip(table["user"], table["item"].tolist(), table["stars"], days, strict=True):
        part = "train" if day < "2024-01-21" else "val" if day < "2024-01-26" else "test"
        assert (user, item) in split[part][0 if stars >= 4 else 1]


def test_the_first_time_counts_and_rows_without_one_are_left_out():
    table = {name: [*values, *list(values)[:1]] for name, values in ratings().items()}
    table["when"] = [*ratings()["when"].astype(float), 1e9]
    once, twice = (problem_of(RankingSpec("rated", "stars", 4, time="when"), **t) for t in (ratings(), table))
    assert split_of(once) == split_of(twice)
    missing = ratings()["when"].astype(float)
    missing[:5] = np.nan
    problem = problem_of(RankingSpec("rated", time="when"), when=missing)
    assert "relation rated: 5 rows without a time, left out" in problem.graph.notes


SMALL = {
    "user": ["u", "u", "u", "v", "v", "v", "w"],
    "item": [1, 2, 3, 1, 2, 3, 1],
    "stars": [5, 1, 5, 2, 4, 4, 4],
    "when": None,
    "part": ["train", "train", None, "val", "val", "test", "train"],
}


def test_the_split_may_be_a_column():
    problem = problem_of(RankingSpec("rated", "stars", 4, "part"), **SMALL)
    assert split_of(problem) == {
        "train": ({("u", 1), ("w", 1)}, {("u", 2)}),
        "val": ({("v", 2)}, {("v", 1)}),
        "test": ({("v", 3)}, set()),
    }
    assert by_id(problem, problem.graph.edge_index(RATED).T) == {("u", 1), ("u", 3), ("w", 1)}
    assert by_id(problem, np.stack(problem.task.seen.nonzero(), axis=1)) == {("u", 3)}


def test_a_split_column_needs_no_ratings():
    problem = problem_of(RankingSpec("rated", split="part"), **(SMALL | {"stars": None}))
    assert [problem.task.size(part) for part in PARTS] == [3, 2, 1]


def test_a_split_column_that_says_two_things_of_a_pair():
    table = {n: None if v is None else [*v, v[0]] for n, v in SMALL.items()} | {"part": [*SMALL["part"], "test"]}
    with pytest.raises(DiffmgError, match="but got 1 rows that repeat one in another"):
        problem_of(RankingSpec("rated", split="part"), **table)


def test_users_and_items_with_a_single_interaction_stay_in_training_and_are_told():
    table = ratings() | {"stars": None, "when": None}
    table["user"], table["item"] = [*table["user"], "once", "u00"], [*table["item"], 500, 999]
    for seed in range(5):
        problem = problem_of(RankingSpec("rated", seed=seed), **table)
        assert ("once", 500) in split_of(problem)["train"][0]
        assert ("u00", 999) in split_of(problem)["train"][0]
        assert "1 users with a single interaction are not judged: it stays in training" in problem.graph.notes
    notes = {n for s in range(40) for n in problem_of(RankingSpec("rated", seed=s), **table).graph.notes}
    assert any("stay in training, since nothing else is known of their items" in note for note in notes)


def test_users_without_training_are_cold_unless_more_is_known_of_them():
    days = np.where(np.asarray(ratings()["user"]) == "u03", 1000, ratings()["when"])
    spec = RankingSpec("rated", time="when", dates=("240", "270"))
    problem = problem_of(spec, when=days)
    cold = problem.graph.ids_of("user")[problem.task.cold.numpy()].tolist()
    assert "u03" in cold
    ages = NodeTable("users", ("user",))
    users = np.unique(ratings()["user"])
    tables = {"ratings": ratings() | {"when": days}, "users": {"user": users, "age": np.arange(len(users))}}
    described = Description({"user": ages, "item": NodeTable()}, {"rated": DESCRIPTION.relations["rated"]}, spec)
    assert problem_from_tables(described, tables).task.cold is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"split": "part", "time": "when"}, "split is None or time is None"),
        ({"dates": ("1", "2")}, "dates need time"),
        ({"time": "when", "dates": ("1",)}, "dates are none or two"),
        ({"k": 0}, "k >= 1"),
        ({"loss": "hinge"}, "must be one of 'bpr', 'softmax'"),
        ({"hard_negatives": 1.5}, "hard_negatives <= 1"),
    ],
)
def test_what_cannot_be_described(given, words):
    with pytest.raises(DiffmgError, match=words):
        RankingSpec("rated", **given)


def test_options_of_the_loss_reach_the_task():
    spec = RankingSpec("rated", "stars", 4, loss="softmax", hard_negatives=0.5, metric="mrr", k=7)
    task = problem_of(spec).task
    assert task.contrast == Contrast("softmax", 32, 0.5)
    assert (task.metric, task.k) == ("mrr", 7)
    assert problem_of().task.contrast == Contrast("bpr", 1)


def test_a_task_that_names_a_relation_is_a_ranking_unless_it_says_otherwise():
    plain = description_to_dict(DESCRIPTION)
    assert "kind" not in plain["task"]
    assert description_from_dict(plain) == DESCRIPTION
    for more in ({"metric": "auc"}, {"kind": "recommendation"}):
        read = description_from_dict(plain | {"task": {"relation": "rated", **more}})
        assert isinstance(read.task, RecommendationSpec)
        assert description_from_dict(description_to_dict(read)) == read


def test_another_relation_that_tells_the_answer():
    viewed = RelationTable("ratings", ("user", "user"), ("item", "item"))
    leaky = replace(DESCRIPTION, relations={**DESCRIPTION.relations, "viewed": viewed})
    tables = {"ratings": ratings(), "makes": {"brand": ["b"], "item": [500]}}
    with pytest.raises(DiffmgError, match=r"but got .*viewed"):
        problem_from_tables(leaky, tables)
    exempt = problem_from_tables(replace(leaky, task=RankingSpec("rated", "stars", 4, exempt=("viewed",))), tables)
    assert isinstance(exempt.task, ItemRanking)
    assert exempt.task.exempt == ("viewed", "rev_viewed")


@pytest.mark.parametrize(
    "task", [RankingSpec("rated", "stars", 4), RankingSpec("rated", time="when", dates=("1", "2"))]
)
def test_lines_say_what_is_ranked(task):
    (line,) = task.lines()
    assert line.startswith("task: rank the targets of rated")
    assert ("when" in line) == (task.time is not None)
