from __future__ import annotations

from math import log2

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk
from torch import Tensor
from torch.nn.functional import logsigmoid

from diffmg.core.errors import DiffmgError
from diffmg.graph.network import HeteroGraph
from diffmg.runs.provenance import data_of
from diffmg.tables import export_tables, read_problem
from diffmg.tasks import Problem, Recommendation, top_items
from diffmg.tasks.pairs import Pairs

SHAPE = (4, 5)
POSITIVES = {"train": [[0, 1], [2, 3]], "val": [[1, 2], [0, 2]], "test": [[0, 4], [3, 0], [0, 3]]}
NEGATIVES = {"train": [[0, 0], [1, 1], [3, 3]], "val": [[2, 2]], "test": [[2, 0], [1, 0]]}
SEEN = [[0, 0], [3, 4]]
BUYS = ("user", "buys", "item")


def task_of(positives=POSITIVES, negatives=NEGATIVES, **more) -> Recommendation:
    return Recommendation.build("user", "item", SHAPE, positives, negatives, **more)


def graph_of(relation: tuple[str, str, str], source: int, target: int) -> HeteroGraph:
    return HeteroGraph.build({"user": 4, "item": 5, "city": 1}, {relation: [[source], [target]]})


def outputs() -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(0)
    return tuple(torch.randn(n, 3, generator=draw) for n in SHAPE)


def scores_of(pairs: list[list[int]]) -> np.ndarray:
    users, items = outputs()
    return np.array([float(users[u] @ items[i]) for u, i in pairs])


def test_sizes_and_targets():
    task = task_of()
    assert [task.size(part) for part in ("train", "val", "test")] == [5, 3, 5]
    assert (task.target_types, task.outputs) == (("user", "item"), 0)


def test_loss_is_the_papers_with_each_sum_divided_by_its_pairs():
    positive, negative = (torch.from_numpy(scores_of(p["train"])) for p in (POSITIVES, NEGATIVES))
    wanted = -logsigmoid(positive).mean() - logsigmoid(-negative).mean()
    assert task_of().loss(outputs(), "train").item() == pytest.approx(wanted.item(), rel=1e-6)


def test_scores_equal_scikit_learn():
    scores = np.concatenate([scores_of(POSITIVES["test"]), scores_of(NEGATIVES["test"])])
    labels = [1, 1, 1, 0, 0]
    got = task_of().scores(outputs(), "test")
    assert got["auc"].item() == pytest.approx(sk.roc_auc_score(labels, scores))
    assert got["average_precision"].item() == pytest.approx(sk.average_precision_score(labels, scores))


@pytest.mark.parametrize("metric", ["auc", "average_precision"])
@pytest.mark.parametrize("part", ["train", "val", "test"])
def test_evaluating_gives_the_loss_and_the_score_that_chooses(part, metric):
    task = task_of(metric=metric)
    loss, score = task.evaluate(outputs(), part)
    assert torch.equal(loss, task.loss(outputs(), part))
    assert torch.equal(score, task.scores(outputs(), part)[metric])


@pytest.mark.parametrize("metric", ["auc", "average_precision"])
def test_evaluating_gives_the_gradient_of_the_loss_and_none_of_the_score(metric):
    task, (users, items) = task_of(metric=metric), outputs()
    users.requires_grad_()
    loss, score = task.evaluate((users, items), "val")
    assert not score.requires_grad
    (got,) = torch.autograd.grad(loss, users)
    (wanted,) = torch.autograd.grad(task.loss((users, items), "val"), users)
    assert torch.equal(got, wanted)
    assert got.any()


def test_evaluating_scores_the_pairs_once(monkeypatch):
    calls: list[int] = []
    plain = Pairs.scores
    monkeypatch.setattr(Pairs, "scores", lambda self, *z: calls.append(1) or plain(self, *z))
    task_of().evaluate(outputs(), "val")
    assert len(calls) == 1


def test_what_a_part_holds_beside_its_pairs():
    """Signs and shares make the loss of it; the rest says which are positive."""
    part = task_of().parts["train"]
    pairs = list(zip(part.pairs.left.tolist(), part.pairs.right.tolist(), strict=True))
    positive = [list(pair) in POSITIVES["train"] for pair in pairs]
    assert part.labels.tolist() == [float(p) for p in positive]
    assert part.signs.tolist() == [1.0 if p else -1.0 for p in positive]
    assert part.shares.tolist() == pytest.approx([1 / 2 if p else 1 / 3 for p in positive])
    assert part.positive.tolist() == [n for n, p in enumerate(positive) if p]
    assert part.negative.tolist() == [n for n, p in enumerate(positive) if not p]


def test_empty_part_has_no_scores():
    task = task_of({p: POSITIVES[p] for p in ("train", "val")}, {p: NEGATIVES[p] for p in ("train", "val")})
    assert task.scores(outputs(), "test") == task.final_scores(outputs(), "test") == {}


@pytest.mark.parametrize("pair", [(0, 1), (1, 1), (1, 2), (3, 0), (2, 0)])
def test_a_supervised_pair_must_not_be_an_edge(pair):
    """A positive or a negative of any part."""
    with pytest.raises(
        DiffmgError,
        match=rf"but got 1 pairs in 'user -buys-> item', such as "
        rf"\({pair[0]}, {pair[1]}\); remove them in both directions, or name the relation in `exempt`",
    ):
        task_of().check(graph_of(BUYS, *pair))


def test_nor_may_it_be_an_edge_in_the_other_direction():
    with pytest.raises(DiffmgError, match=r"in 'item -bought_by-> user', such as \(0, 1\)"):
        task_of().check(graph_of(("item", "bought_by", "user"), 1, 0))


def test_nor_within_one_type():
    """Whether such a task is refused at once or its leak is found: the edge 1 -> 0 tells the pair (0, 1)."""
    with pytest.raises(DiffmgError, match="user"):
        Recommendation.build(
            "user", "user", (4, 4), {"train": [[0, 1]], "val": [[0, 2]]}, {"train": [[1, 2]], "val": [[2, 3]]}
        ).check(graph_of(("user", "follows", "user"), 1, 0))


def test_an_edge_of_weight_zero_leaks_too():
    graph = HeteroGraph.build({"user": 4, "item": 5}, {BUYS: [[0], [1]]}, weights={BUYS: [0.0]})
    with pytest.raises(DiffmgError, match="its answer leaks"):
        task_of().check(graph)


def test_exempt_relations_may_link_a_supervised_pair():
    task_of(exempt=("buys",)).check(graph_of(BUYS, 0, 1))


def test_exempt_is_by_name():
    with pytest.raises(DiffmgError, match="its answer leaks"):
        task_of(exempt=("views",)).check(graph_of(BUYS, 0, 1))


@pytest.mark.parametrize(
    ("relation", "source", "target"), [(BUYS, 3, 1), (("user", "x", "user"), 0, 1), (("user", "x", "city"), 0, 0)]
)
def test_other_edges_are_welcome(relation, source, target):
    task_of().check(graph_of(relation, source, target))


def test_network_of_another_size():
    graph = HeteroGraph.build({"user": 4, "item": 6}, {BUYS: [[0], [5]]})
    with pytest.raises(DiffmgError, match="the task is for 5 'item' nodes, but got 6"):
        task_of().check(graph)


def test_network_without_the_type():
    graph = HeteroGraph.build({"user": 4, "items": 5}, {("user", "buys", "items"): [[0], [4]]})
    with pytest.raises(DiffmgError, match="did you mean 'items'"):
        task_of().check(graph)


@pytest.mark.parametrize(
    ("positives", "negatives", "message"),
    [
        ({"train": [[4, 0]]}, {}, r"pairs of train must have `0 <= user < 4` .* but got \[4, 0\] to \[4, 0\]"),
        ({"val": [[0, 5]]}, {}, "pairs of val must have .*`0 <= item < 5`"),
        ({}, {"test": [[-1, 0]]}, "pairs of test must have `0 <= user < 4`"),
        ({"train": [0, 1]}, {}, r"pairs of train must be rows \(user, item\) .* but got int64 of shape \(2,\)"),
        ({"train": [[0, 1, 2]]}, {}, r"pairs of train must be rows \(user, item\) .* but got int64 of shape \(1, 3\)"),
        ({"train": [[0.0, 1.0]]}, {}, "pairs of train must be rows .* of whole numbers, but got float64"),
        ({"train": []}, {}, "train needs positive and negative pairs, but got 0 positive and 3 negative"),
        ({}, {"val": []}, "val needs positive and negative pairs, but got 2 positive and 0 negative"),
        ({"val": [[0, 1]]}, {}, "must not overlap and a pair has one label, but got 1 pairs more than once"),
        ({"val": [[1, 1]]}, {}, "must not overlap and a pair has one label, but got 1 pairs more than once"),
    ],
)
def test_bad_pairs(positives, negatives, message):
    with pytest.raises(DiffmgError, match=message):
        task_of(POSITIVES | positives, NEGATIVES | negatives)


def test_bad_options():
    with pytest.raises(DiffmgError, match="unknown metric 'auk'; did you mean 'auc'"):
        task_of(metric="auk")
    with pytest.raises(DiffmgError, match="`k >= 1` must hold, but got k=0"):
        task_of(k=0)


def test_known_items_are_the_seen_ones_and_earlier_positives():
    task = task_of(seen=SEEN)
    assert set(zip(*task.known().nonzero(), strict=True)) == {(0, 0), (3, 4), (0, 1), (2, 3), (1, 2), (0, 2)}
    assert set(zip(*task.known(()).nonzero(), strict=True)) == {(0, 0), (3, 4)}


def test_an_item_seen_many_times_is_known():
    """256 overflows to 0 in eight bits."""
    assert task_of(seen=[[3, 4]] * 256).known()[3, 4]


@given(st.integers(0, 99), st.integers(1, 7), st.sampled_from([0.0, 0.3, 0.9]))
def test_top_equals_a_plain_sort(seed, k, share):
    rng = np.random.default_rng(seed)
    towers = tuple(torch.from_numpy(rng.standard_normal((n, 3))) for n in SHAPE)
    exclude = sp.csr_matrix(rng.random(SHAPE) < share)
    users = rng.permutation(SHAPE[0])[:3]
    items, values = task_of().top(towers, users, k, exclude)
    for user, got, scores in zip(users, items, values, strict=True):
        full = (towers[0][user] @ towers[1].T).numpy()
        allowed = sorted((i for i in range(SHAPE[1]) if not exclude[user, i]), key=lambda i: -full[i])
        known = min(k, len(allowed))
        assert got[:known].tolist() == allowed[:known]
        np.testing.assert_allclose(scores[:known], full[allowed[:known]])
        assert (scores[known:] == -np.inf).all()


def test_top_without_exclusion():
    items, _ = task_of().top(outputs(), np.array([1]), 5, None)
    assert sorted(items[0].tolist()) == [0, 1, 2, 3, 4]


def test_top_does_not_depend_on_the_chunks(monkeypatch):
    users = np.array([3, 1, 0, 2, 1])
    whole = task_of().top(outputs(), users, 3, task_of().known())
    monkeypatch.setattr(top_items, "HOST_CELLS", 10)
    monkeypatch.setattr(top_items, "LEAST_USERS", 2)
    parts = task_of().top(outputs(), users, 3, task_of().known())
    np.testing.assert_array_equal(whole[0], parts[0])
    np.testing.assert_allclose(whole[1], parts[1], rtol=1e-6)


def test_top_for_nobody():
    items, values = task_of().top(outputs(), np.empty(0, np.int64), 3, None)
    assert items.shape == values.shape == (0, 3)


def test_top_leaves_the_towers_as_they_are():
    towers = outputs()
    task_of().top(towers, np.arange(4), 3, task_of().known())
    assert all(torch.equal(a, b) for a, b in zip(towers, outputs(), strict=True))


def brute_force_ranking(part: str, earlier: list[str], k: int) -> tuple[float, float]:
    """Recall and ndcg at k over the users with a positive in the part."""
    users, items = outputs()
    known = {tuple(p) for p in SEEN} | {tuple(p) for e in earlier for p in POSITIVES[e]}
    recall, ndcg = [], []
    for user in sorted({u for u, _ in POSITIVES[part]}):
        wanted = {i for u, i in POSITIVES[part] if u == user}
        others = [i for i in range(SHAPE[1]) if (user, i) not in known]
        best = sorted(others, key=lambda i: -float(users[user] @ items[i]))[:k]
        recall.append(len(wanted.intersection(best)) / len(wanted))
        gain = sum(1 / log2(place + 2) for place, item in enumerate(best) if item in wanted)
        ndcg.append(gain / sum(1 / log2(place + 2) for place in range(min(k, len(wanted)))))
    return float(np.mean(recall)), float(np.mean(ndcg))


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize(("part", "earlier"), [("train", []), ("val", ["train"]), ("test", ["train", "val"])])
def test_final_scores_equal_brute_force(part, earlier, k):
    got = task_of(seen=SEEN, k=k).final_scores(outputs(), part)
    recall, ndcg = brute_force_ranking(part, earlier, k)
    assert got[f"recall@{k}"].item() == pytest.approx(recall)
    assert got[f"ndcg@{k}"].item() == pytest.approx(ndcg)


def test_final_scores_hold_the_scores():
    task = task_of(k=2)
    final = task.final_scores(outputs(), "test")
    assert set(final) == {"auc", "average_precision", "recall@2", "ndcg@2"}
    assert {name: final[name] for name in ("auc", "average_precision")} == task.scores(outputs(), "test")


def test_a_list_longer_than_the_items_holds_all():
    assert task_of(k=50).final_scores(outputs(), "test")["recall@50"] == 1


def test_a_part_of_negatives_alone_has_no_ranking():
    """There is nothing to rank; that must not crash a finished run."""
    task = task_of({p: POSITIVES[p] for p in ("train", "val")})
    assert "recall@20" not in task.final_scores(outputs(), "test")


def differing(one: Recommendation, other: Recommendation, order: dict[str, np.ndarray] | None = None) -> set[str]:
    before, now = one.digests({}), other.digests(order or {})
    assert before.keys() == now.keys()
    return {name for name in before if before[name] != now[name]}


@pytest.mark.parametrize(
    ("other", "parts"),
    [
        (task_of(), set()),
        (task_of({p: rows[::-1] for p, rows in POSITIVES.items()}), set()),
        (task_of(seen=SEEN), {"seen"}),
        (task_of(POSITIVES | {"test": [[0, 4]]}), {"split, test"}),
        (task_of(POSITIVES | {"val": NEGATIVES["val"]}, NEGATIVES | {"val": POSITIVES["val"]}), {"split, val"}),
        (task_of(metric="average_precision"), {"metric"}),
        (task_of(k=3), {"metric"}),
        (task_of(exempt=("views",)), {"exempt"}),
    ],
    ids=["same", "order of pairs", "seen", "pairs", "labels", "metric", "k", "exempt"],
)
def test_digests_say_what_differs(other, parts):
    assert differing(task_of(), other) == parts


def test_a_permuted_task_is_the_same_on_permuted_nodes():
    task, (users, items) = task_of(seen=SEEN, k=2), outputs()
    order = {"user": np.array([2, 0, 3, 1]), "item": np.array([4, 1, 0, 3, 2])}
    there = task.permuted(order)
    towers = users[torch.from_numpy(order["user"])], items[torch.from_numpy(order["item"])]
    for part in POSITIVES:
        mine, theirs = task.final_scores((users, items), part), there.final_scores(towers, part)
        assert {n: float(s) for n, s in theirs.items()} == pytest.approx({n: float(s) for n, s in mine.items()})
        assert float(there.loss(towers, part)) == pytest.approx(float(task.loss((users, items), part)))
    assert differing(task, there, {t: np.argsort(o) for t, o in order.items()}) == set()
    assert {"seen", "split, train"} <= differing(task, there)
    assert differing(task, task.permuted({"city": np.array([0])})) == set()


def graph_with_ids() -> HeteroGraph:
    ids = {"user": ["ann", "bob", "cid", "dan"], "item": [50, 40, 30, 20, 10]}
    return HeteroGraph.build({"user": 4, "item": 5}, {BUYS: np.array(SEEN).T}, ids=ids)


def test_answers_are_the_best_items_of_each_user_by_id():
    task, graph = task_of(seen=SEEN), graph_with_ids()
    answers = task.answers(outputs(), graph, ["dan", "ann"], k=2)
    items, scores = task.top(outputs(), np.array([3, 0]), 2, task.known())
    assert list(answers.columns) == ["user", "rank", "item", "score"]
    assert answers["user"].tolist() == ["dan", "dan", "ann", "ann"]
    assert answers["rank"].tolist() == [1, 2, 1, 2]
    assert answers["item"].tolist() == graph.ids["item"][items.ravel()].tolist()
    assert answers["score"].tolist() == scores.ravel().tolist()


def test_answers_leave_out_what_was_seen_unless_told_otherwise():
    task, graph = task_of(seen=SEEN), graph_with_ids()
    known = {(u, i) for u, i in zip(*task.known().nonzero(), strict=True)}
    named = {(graph.ids["user"][u], graph.ids["item"][i]) for u, i in known}
    answers = task.answers(outputs(), graph, k=5)
    assert not named & set(zip(answers["user"], answers["item"], strict=True))
    assert len(answers) == 4 * 5 - len(known)
    assert len(task.answers(outputs(), graph, k=5, exclude_seen=False)) == 20
    with pytest.raises(DiffmgError, match="k=0"):
        task.answers(outputs(), graph, k=0)


def test_counts_of_each_label_by_part():
    assert task_of().counts() == {
        "train": {"negative": 3, "positive": 2},
        "val": {"negative": 1, "positive": 2},
        "test": {"negative": 2, "positive": 3},
    }


def test_what_is_exported_is_read_again(tmp_path):
    task = Recommendation.build("user", "item", SHAPE, POSITIVES, NEGATIVES | {"train": [[1, 1]]}, seen=SEEN, k=3)
    problem = Problem(graph_with_ids(), task)
    assert data_of(read_problem(export_tables(problem, tmp_path / "it"))) == data_of(problem)


def test_other_test_labels_change_the_test_part_alone():
    assert differing(task_of(), task_of().with_other_test_labels()) == {"split, test"}


def test_the_text_of_a_task_is_short():
    assert len(repr(task_of()).splitlines()) <= 15
    assert all(part in repr(task_of()) for part in ("user and item", "train 5", "auc", "4 users, 5 items"))


def test_moves_as_a_whole():
    moved = task_of(seen=SEEN).to("cpu")
    assert moved.final_scores(outputs(), "test") == task_of(seen=SEEN).final_scores(outputs(), "test")
