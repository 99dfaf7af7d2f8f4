"""A person with a file of ratings: fit, score and recommend, by what each user liked."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path

import numpy as np
import pytest

from diffmg import MetaGraphRecommender, Model, read_run
from diffmg.core.errors import DiffmgError
from diffmg.tasks import ItemRanking
from run_files import diffmg

DESCRIPTION = """
[nodes.user]

[nodes.item]
file = "items.csv"
features = []

[nodes.brand]

[relations.rated]
file = "ratings.csv"
source = ["user", "user"]
target = ["item", "item"]

[relations.made_by]
file = "items.csv"
source = ["item", "item"]
target = ["brand", "brand"]

[task]
relation = "rated"
rating = "stars"
liked = 4
"""


def write(path: Path, head: list[str], rows: list[tuple]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])


def rated() -> list[tuple[str, str, int]]:
    """Users of four tastes rate items of theirs well, and popular ones more often."""
    draw, rows = random.Random(0), []
    for user in range(150):
        weights = [(3 if item % 4 == user % 4 else 1) / (1 + item) ** 0.5 for item in range(80)]
        for item in sorted(set(draw.choices(range(80), weights, k=25))):
            stars = draw.choice([4, 5] if item % 4 == user % 4 or draw.random() < 0.2 else [1, 2, 3])
            rows.append((f"u{user:03}", f"i{item}", stars))
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("ratings")
    write(place / "ratings.csv", ["user", "item", "stars"], rated())
    write(place / "items.csv", ["item", "brand"], [(f"i{item}", f"brand {item % 8}") for item in range(80)])
    (place / "ratings.toml").write_text(DESCRIPTION, encoding="utf-8")
    words = ["--budget", "6", "-smax_epochs=60", "-sdim=16", "--device", "cpu"]
    answer = diffmg("fit", place / "ratings.toml", "--out", place / "run", *words)
    assert answer.code == 0, answer.err
    return place


def answers(folder: Path, *words: str) -> list[dict[str, str]]:
    answer = diffmg("recommend", folder / "run", *words)
    assert answer.code == 0, answer.err
    return list(csv.DictReader(io.StringIO(answer.out)))


def test_it_is_judged_by_its_first_items_and_better_than_popularity(folder: Path) -> None:
    run = read_run(folder / "run")
    assert (run.metric, run.data.task) == ("ndcg", "ranking")
    scores = run.scores("test")
    assert scores["ndcg"] > 1.3 * scores["popularity_ndcg"] > 0
    assert run.evidence is not None
    assert run.evidence.above_chance
    assert run.evidence.chance < scores["popularity_ndcg"]
    shown = diffmg("score", folder / "run").out
    assert all(f"{value:.4f}" in shown for value in scores.values())


def test_nothing_that_was_rated_is_recommended(folder: Path) -> None:
    known = {(user, item) for user, item, _ in rated()}
    found = answers(folder, "-k", "12")
    assert len(found) == 150 * 12
    assert not known & {(row["user"], row["item"]) for row in found}
    assert [row["rank"] for row in found[:12]] == [str(n) for n in range(1, 13)]


def test_what_was_disliked_never_comes_back(folder: Path) -> None:
    stars = {(user, item): s for user, item, s in rated()}
    found = {(row["user"], row["item"]) for row in answers(folder, "-k", "80", "--no-exclude-seen")}
    assert {pair for pair, s in stars.items() if s >= 4} <= found
    assert not {pair for pair, s in stars.items() if s < 4} & found


def test_the_best_items_are_those_of_brute_force_in_the_order_of_the_ids(folder: Path) -> None:
    model, users = Model.load(folder / "run"), ["u077", "u003", "u149"]
    left, right = (z.double().numpy() for z in model.outputs)
    graph = model.problem.graph
    known = {(user, item) for user, item, _ in rated()}
    found = answers(folder, "-k", "5", *(word for user in users for word in ("--id", user)))
    assert [row["user"] for row in found] == [user for user in users for _ in range(5)]
    for number, user in enumerate(users):
        scores = left[graph.index_of("user", [user])[0]] @ right.T
        ids = graph.ids_of("item")
        allowed = [i for i in range(len(ids)) if (user, ids[i]) not in known]
        best = sorted(allowed, key=lambda i: -scores[i])[:5]
        own = [row["item"] for row in found[5 * number : 5 * number + 5]]
        assert [scores[list(ids).index(i)] for i in own] == pytest.approx(scores[best], rel=1e-4)


def test_the_tables_are_described_as_a_ranking(folder: Path) -> None:
    told = diffmg("describe", folder / "ratings.toml").out
    assert "rank the targets of rated, liked by stars of 4 or more" in " ".join(told.split())


def test_the_pairs_of_the_paper_can_be_asked_for(folder: Path) -> None:
    text = DESCRIPTION.replace('relation = "rated"', 'kind = "recommendation"\nrelation = "rated"')
    (folder / "pairs.toml").write_text(text, encoding="utf-8")
    words = ["--method", "matrix_factorisation", "-smax_epochs=2", "--device", "cpu"]
    assert diffmg("fit", folder / "pairs.toml", "--out", folder / "pairs", *words).code == 0
    assert read_run(folder / "pairs").metric == "auc"


def test_python_ranks_the_targets_of_a_relation_by_its_name(folder: Path) -> None:
    graph = Model.load(folder / "run").problem.graph
    model = MetaGraphRecommender(method="lightgcn", settings={"max_epochs": 3, "dim": 8}, device="cpu")
    model.fit(graph, "rated")
    task = model.model_.problem.task
    assert isinstance(task, ItemRanking)
    assert task.target_types == ("user", "item")
    items, scores = model.recommend(["u003"], k=4)
    assert items.shape == scores.shape == (1, 4)
    assert model.predict([("u003", str(items[0, 0]))])[0] == pytest.approx(scores[0, 0], rel=1e-4)
    assert np.all(np.diff(scores) <= 0)
    with pytest.raises(DiffmgError, match="probabilities need a loss that defines them"):
        model.predict_proba([("u003", "i1")])
    with pytest.raises(DiffmgError, match="a problem has its task"):
        model.fit(model.model_.problem, "rated")
