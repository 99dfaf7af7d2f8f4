from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import softplus

import diffmg.tasks.interactions as interactions
from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation
from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.datasets.films import Films
from diffmg.graph.network import HeteroGraph
from diffmg.methods.search.diffmg import DiffMG
from diffmg.race.evidence import chance_of
from diffmg.runs.provenance import data_of
from diffmg.tables import export_tables, read_problem
from diffmg.tasks import ItemRanking, Problem
from diffmg.tasks.interactions import Contrast
from diffmg.tasks.ranked_network import rank_along
from diffmg.tasks.ranks import score
from diffmg.training import Training
from diffmg.training.batched import batchable
from resuming import assert_resumable, run

SHAPE = (5, 7)
LIKED = {
    "train": [[0, 1], [0, 2], [1, 3], [2, 0], [2, 6], [3, 5]],
    "val": [[0, 3], [1, 0], [1, 2], [3, 1]],
    "test": [[0, 5], [2, 1], [3, 6], [3, 2]],
}
DISLIKED = {"train": [[0, 0], [2, 5]], "val": [[1, 6]], "test": [[3, 0]]}
SEEN = [[0, 4]]
BUYS = ("user", "buys", "item")
PARTS = ("train", "val", "test")


def task_of(liked=LIKED, **more) -> ItemRanking:
    return ItemRanking.build("user", "item", SHAPE, liked, **{"disliked": DISLIKED, "seen": SEEN, "k": 3} | more)


def network(*more: list[int]) -> HeteroGraph:
    edges = np.array([*LIKED["train"], *SEEN, *more]).T
    return HeteroGraph.build({"user": 5, "item": 7, "city": 1}, {BUYS: edges}, reverse=True)


def outputs(seed: int = 0, dim: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(n, dim, generator=draw) for n in SHAPE)


def pairs(*parts: str, given=LIKED) -> set[tuple[int, int]]:
    return {tuple(row) for part in parts for row in given.get(part, [])}


HIDDEN = {
    "val": pairs("train") | pairs("train", given=DISLIKED) | pairs("seen", given={"seen": SEEN}),
    "test": pairs("train", "val") | pairs("train", "val", given=DISLIKED) | pairs("seen", given={"seen": SEEN}),
}


@pytest.mark.parametrize("part", ["val", "test"])
def test_only_what_was_known_before_a_part_is_left_out_of_its_ranking(part):
    users, items = outputs()
    scores = (users @ items.T).double().numpy()
    recalls, places = [], []
    for user in {u for u, _ in LIKED[part]}:
        wanted = {i for u, i in LIKED[part] if u == user}
        order = sorted((i for i in range(7) if (user, i) not in HIDDEN[part]), key=lambda i: -scores[user, i])
        recalls.append(len(wanted & set(order[:3])) / len(wanted))
        places.append(1 / (1 + min(order.index(i) for i in wanted)))
    found = task_of().scores(outputs(), part)
    assert float(found["recall"]) == pytest.approx(np.mean(recalls))
    assert float(found["mrr"]) == pytest.approx(np.mean(places))
    assert task_of().evaluate(outputs(), part)[1] == found["ndcg"]


def test_sizes():
    task = task_of()
    assert [task.size(part) for part in PARTS] == [6, 4, 4]
    assert task.standard_error(0.5) == pytest.approx((0.25 / 3) ** 0.5)  # by users that vote, not by pairs
    assert task.counts()["val"] == {"liked": 4, "disliked": 1}
    assert task_of(disliked=None).counts()["val"] == {"liked": 4}
    assert "chosen by ndcg of the first 3" in task.describe()


@pytest.mark.parametrize(("objective", "negatives"), [("bpr", 1), ("bpr", 4), ("softmax", 4)])
def test_the_loss_compares_with_items_drawn_for_the_epoch(objective, negatives):
    task = task_of(contrast=Contrast(objective, negatives))
    part, (users, items) = task.parts["train"], outputs()
    epoch, left = torch.tensor([3]), part.pairs.left.long()
    drawn = part.negatives.draw(left.repeat_interleave(negatives), epoch + 1, 9).view(-1, negatives)
    total = 0.0
    for user, item, others in zip(left.tolist(), part.pairs.right.tolist(), drawn.tolist(), strict=True):
        known = pairs("train") | pairs("train", given=DISLIKED) | {(0, 4)}
        assert not {(user, other) for other in others} & known
        behind = torch.stack([users[user] @ items[other] - users[user] @ items[item] for other in others])
        total += float(softplus(behind).mean() if objective == "bpr" else (1 + behind.exp().sum()).log())
    assert task.training_loss(outputs(), epoch, 9).item() == pytest.approx(total / 4, rel=1e-5)


def test_what_is_drawn_changes_with_the_epoch_and_repeats_with_the_seed():
    task = load_dataset("films:160").task
    draw = torch.Generator().manual_seed(0)
    z = tuple(torch.randn(n, 4, generator=draw) for n in task.shape)
    found = [task.training_loss(z, torch.tensor([e]), s).item() for e, s in ((0, 0), (0, 0), (1, 0), (0, 1))]
    assert found[0] == found[1]
    assert len({*found}) == 3
    assert task.loss(z, "train") == task.loss(z, "train")


def test_one_negative_of_a_softmax_is_bpr():
    one, other = (task_of(contrast=Contrast(o)) for o in ("bpr", "softmax"))
    assert one.loss(outputs(), "val").item() == pytest.approx(other.loss(outputs(), "val").item(), rel=1e-6)


def test_the_gradient_is_that_of_plain_indexing():
    task = task_of(contrast=Contrast("softmax", 5))
    part, z = task.parts["train"], [t.requires_grad_() for t in outputs()]
    left, right = part.pairs.left.long(), part.pairs.right.long()
    drawn = part.negatives.draw(left.repeat_interleave(5), torch.tensor([1]), 2)
    others = (z[0][left.repeat_interleave(5)] * z[1][drawn]).sum(dim=1).view(-1, 5)
    ahead = others - (z[0][left] * z[1][right]).sum(dim=1, keepdim=True)
    plain = torch.cat([torch.zeros(len(left), 1), ahead], dim=1).logsumexp(dim=1).sum() / 4
    wanted = torch.autograd.grad(plain, z)
    found = torch.autograd.grad(task.training_loss(tuple(z), torch.tensor([0]), 2), z)
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(found, wanted, strict=True))


def test_a_user_who_knows_every_item_is_left_out_of_the_loss():
    everything = {"train": [[0, i] for i in range(7)] + [[1, 0]], "val": [[1, 1]]}
    task = task_of(everything, disliked=None, seen=None)
    z = [t.requires_grad_() for t in outputs()]
    task.loss(tuple(z), "train").backward()
    assert not z[0].grad[0].any()
    assert z[0].grad[1].any()


@given(st.integers(0, 99), st.integers(1, 9), st.booleans(), st.lists(st.integers(0, 4), unique=True))
def test_recommended_items_are_the_best_of_all_that_are_not_known(seed, k, exclude, users):
    task, (left, right) = task_of(), outputs(seed)
    items, scores = task.recommend((left, right), np.array(users, np.int64), k, exclude_seen=exclude)
    low = pairs(*PARTS, given=DISLIKED)
    known = (pairs(*PARTS) | {(0, 4)} | low) if exclude else low
    for row, user in enumerate(users):
        by_score = left[user] @ right.T if user != 4 else task.popular
        allowed = [i for i in range(7) if (user, i) not in known]
        best = sorted(allowed, key=lambda i: -float(by_score[i]))[:k]
        shown = items[row][scores[row] > -np.inf]
        assert [float(by_score[i]) for i in shown] == pytest.approx([float(by_score[i]) for i in best], rel=1e-5)
        assert set(shown.tolist()) <= set(allowed)


def test_users_of_whom_nothing_is_known_get_what_is_popular():
    task = task_of(liked={**LIKED, "train": [*LIKED["train"], [1, 2 + 3]]})
    chosen = np.zeros(7)
    for _, item in [*LIKED["train"], [1, 5], *SEEN]:
        chosen[item] += 1
    assert task.popular.tolist() == pytest.approx(np.log1p(chosen).tolist())
    items, _ = task.recommend(outputs(), np.array([4]), 1)
    assert items[0, 0] == chosen.argmax() == 5
    known = task_of(informed=np.array([False] * 4 + [True]))
    assert known.cold is None
    z = outputs()
    assert known.recommend(z, np.array([4]), 1)[0][0, 0] == int((z[0][4] @ z[1].T).argmax())


def test_answers_have_the_ids_in_the_order_that_was_asked():
    graph = HeteroGraph.build(
        {"user": 5, "item": 7}, {BUYS: np.array(LIKED["train"]).T}, ids={"user": list("abcde"), "item": range(70, 77)}
    )
    found = task_of(seen=None).answers(outputs(), graph, ["d", "a"], k=2)
    assert found["user"].tolist() == ["d", "d", "a", "a"]
    assert found["rank"].tolist() == [1, 2, 1, 2]
    assert all(i - 70 in range(7) for i in found["item"].tolist())


@pytest.mark.parametrize("part", ["val", "test"])
def test_a_held_out_interaction_must_not_be_an_edge(part):
    Problem(network(), task_of())
    with pytest.raises(DiffmgError, match="must not be an edge"):
        Problem(network(LIKED[part][0]), task_of())
    Problem(network(LIKED[part][0]), task_of(exempt=("buys", "rev_buys")))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"metric": "auc"}, "unknown metric"),
        ({"k": 0}, "k >= 1"),
        ({"liked": {"train": [[0, 1]]}}, "val needs interactions"),
        ({"liked": {**LIKED, "test": [[0, 1]]}}, "but got 1 more than once"),
        ({"seen": [[0, 3]]}, "but got 1 more than once"),
        ({"liked": {**LIKED, "test": [[0, 9]]}}, "0 <= item < 7"),
    ],
)
def test_what_cannot_be_a_ranking(given, words):
    with pytest.raises(DiffmgError, match=words):
        task_of(**given)


def test_votes_are_rankings_of_as_many_users_as_fit(monkeypatch):
    whole = load_dataset("films:300").task
    z = tuple(torch.randn(n, 4, generator=torch.Generator().manual_seed(1)) for n in whole.shape)
    assert len(whole.votes(z, "val")) == len(whole.parts["val"].voters.users)
    assert whole.score_votes(whole.votes(z, "val"), "val") == whole.evaluate(z, "val")[1]
    monkeypatch.setattr(interactions, "VOTES", 10 * whole.shape[1])
    some = load_dataset("films:300").task
    votes = some.votes(z, "val")
    assert votes.shape == (10, some.shape[1])
    assert set(some.parts["val"].voters.users.tolist()) < set(whole.parts["val"].wanted.users.tolist())


def test_an_epoch_is_judged_by_some_users_where_there_are_many(monkeypatch):
    whole = load_dataset("films:300").task
    z = tuple(torch.randn(n, 4, generator=torch.Generator().manual_seed(1)) for n in whole.shape)
    assert whole.follow(z) == whole.evaluate(z, "val")
    monkeypatch.setattr(interactions, "WATCHED", 10)
    some = load_dataset("films:300").task
    watched = some.parts["val"].watched
    assert len(watched.users) == 10
    loss, found = some.follow(z)
    assert (loss, found) == (some.loss(z, "val"), score("ndcg", watched, some.ranks(z, watched), some.k))
    assert some.evaluate(z, "val") == whole.evaluate(z, "val")


def test_an_ensemble_votes_with_the_weighted_sum_of_its_members():
    task, several, weights = task_of(), [outputs(s, dim=s + 2) for s in range(3)], (0.5, 0.2, 0.3)
    blended = task.votes(task.blend(several, weights), "val")
    wanted = sum(w * task.votes(z, "val") for w, z in zip(weights, several, strict=True))
    assert torch.allclose(blended, wanted, atol=1e-5)
    votes = task.votes(several[0], "val") + 100 * torch.arange(3.0).unsqueeze(1)
    scaled = votes * task.vote_scale(votes)
    assert float((scaled - scaled.mean(dim=1, keepdim=True)).square().mean()) == pytest.approx(1)


def test_chance_is_a_random_ranking():
    task = load_dataset("films:1000").task
    popular = (torch.ones(task.shape[0], 1), task.popular.unsqueeze(1))
    good = float(task.scores(popular, "test")["ndcg"])
    chance, above = chance_of(task, task.votes(popular, "test"), good)
    assert chance < good / 1.5
    assert above
    hidden = task.known(("train", "val"))
    free = float(np.mean([task.shape[1] - hidden[u].nnz for u in task.parts["test"].wanted.users.tolist()]))
    ideal = [sum(1 / np.log2(n + 2) for n in range(min(20, c))) for c in task.parts["test"].wanted.count.tolist()]
    gain = np.mean([c / i for c, i in zip(task.parts["test"].wanted.count.tolist(), ideal, strict=True)])
    expected = gain * sum(1 / np.log2(n + 2) for n in range(20)) / free
    assert chance == pytest.approx(expected, rel=0.1)


def test_final_scores_say_what_popularity_has_and_how_many_items_are_shown():
    task = task_of()
    ones = (torch.ones(5, 1), task.popular.unsqueeze(1))
    found = task.final_scores(outputs(), "test")
    assert found["popularity_ndcg"] == task.scores(ones, "test")["ndcg"]
    shown = task.top(outputs(), np.arange(5), 3, task.known(("train", "val")))[0]
    assert float(found["coverage"]) == pytest.approx(len(set(shown.ravel().tolist())) / 7)


@pytest.mark.parametrize("test", [False, True])
def test_joined_parts_are_trained_on_and_never_drawn(test):
    parts = ("train", "val", "test") if test else ("train", "val")
    joined = task_of().joined(test=test)
    liked, disliked = joined.parts["train"].rows()
    assert {tuple(r) for r in liked.tolist()} == pairs(*parts)
    assert {tuple(r) for r in disliked.tolist()} == pairs(*parts, given=DISLIKED)
    users = torch.arange(4).repeat_interleave(200)
    drawn = joined.parts["train"].negatives.draw(users, torch.tensor([0]), 0)
    known = pairs(*parts) | pairs(*parts, given=DISLIKED) | {(0, 4)}
    assert not known & set(zip(users.tolist(), drawn.tolist(), strict=True))
    assert joined.size("test") == task_of().size("test")


@given(st.permutations(range(5)), st.permutations(range(7)))
def test_a_ranking_does_not_depend_on_the_order_of_the_nodes(users, items):
    orders = {"user": np.array(users), "item": np.array(items)}
    task, moved, z = task_of(), task_of().permuted(orders), outputs()
    placed = (z[0][orders["user"]], z[1][orders["item"]])
    for part in ("val", "test"):
        found, wanted = moved.final_scores(placed, part), task.final_scores(z, part)
        assert {n: float(v) for n, v in found.items()} == pytest.approx({n: float(v) for n, v in wanted.items()})
    assert moved.digests({t: np.argsort(order) for t, order in orders.items()}) == task.digests({})
    assert torch.equal(moved.cold, task.cold[orders["user"]])


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({}, []),
        ({"liked": {**LIKED, "val": [[1, 0]]}}, ["split, val"]),
        ({"disliked": {}}, ["disliked, test", "disliked, train", "disliked, val"]),
        ({"k": 4}, ["metric"]),
        ({"contrast": Contrast(hard=0.5)}, ["loss"]),
        ({"exempt": ("viewed",)}, ["exempt"]),
        ({"seen": None}, ["seen"]),
    ],
)
def test_digests_say_what_differs(changes, parts):
    one, other = task_of().digests({}), task_of(**changes).digests({})
    assert sorted(name for name in one if one[name] != other[name]) == parts


def test_an_export_reads_back(tmp_path):
    problem = Problem(network(), task_of(contrast=Contrast("softmax", 3, 0.25), metric="recall"))
    again = read_problem(export_tables(problem, tmp_path / "out"))
    assert isinstance(again.task, ItemRanking)
    assert data_of(again) == data_of(problem)
    assert again.task.contrast == problem.task.contrast
    assert again.task.metric == "recall"


def test_other_test_labels_are_other_items_of_the_same_users():
    task = load_dataset("films:160").task
    other = task.with_other_test_labels()
    one, changed = ({tuple(r) for r in t.parts["test"].rows()[0].tolist()} for t in (task, other))
    assert not one & changed
    assert {u for u, _ in changed} == {u for u, _ in one}


def test_a_relation_of_a_network_is_split_and_what_is_held_out_is_removed():
    rng = np.random.default_rng(0)
    edges = np.unique(rng.integers(0, [[40], [30]], (2, 500)), axis=1)
    graph = HeteroGraph.build({"user": 40, "item": 30}, {BUYS: edges}, reverse=True)
    problem = rank_along(graph, "buys", seed=3)
    everything = {tuple(r) for part in PARTS for r in problem.task.parts[part].rows()[0].tolist()}
    assert everything == {tuple(r) for r in edges.T.tolist()}
    train = {tuple(r) for r in problem.task.parts["train"].rows()[0].tolist()}
    for relation in (Relation(*BUYS), Relation("item", "rev_buys", "user")):
        index = problem.graph.edge_index(relation)
        ends = index if relation.source == "user" else index[::-1]
        assert {tuple(r) for r in ends.T.tolist()} == train
    with pytest.raises(DiffmgError, match="'boughd', which names 0"):
        rank_along(graph, "boughd")


def test_weights_of_edges_stay():
    edges = np.array([[0, 0, 0, 1, 1, 1, 2, 2], [0, 1, 2, 0, 1, 2, 0, 1]])
    graph = HeteroGraph.build({"user": 3, "item": 3}, {BUYS: edges}, weights={BUYS: np.arange(2.0, 10.0)})
    problem = rank_along(graph, Relation(*BUYS), shares=(0.5, 0.5, 0.0))
    old, new = (g.adjacency[Relation(*BUYS)].toarray() for g in (graph, problem.graph))
    assert (new[new > 0] == old[new > 0]).all()
    assert 0 < (new > 0).sum() < 8


def test_trainings_of_a_ranking_are_not_batched():
    assert not batchable(load_dataset("films:160"), Settings())


def test_a_training_and_a_search_that_were_stopped_draw_what_they_would_have_drawn():
    problem = load_dataset("films:160")
    settings = Settings(dim=4, max_epochs=4, patience=None)
    assert_resumable(lambda: Training(problem, Films.planted, settings, 0), epochs=4)
    assert_resumable(lambda: DiffMG(depth=2, epochs=4).search(problem, settings, 0), epochs=4)
    losses = [record.train_loss for record in run(Training(problem, Films.planted, replace(settings, lr=1e-12), 0))]
    assert len(set(losses)) == 4, "other items every epoch, though nothing is learned"
