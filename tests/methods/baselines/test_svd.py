from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.sparse.linalg import aslinearoperator
from sklearn.linear_model import LogisticRegression

from diffmg.core.errors import DiffmgError
from diffmg.datasets import load_dataset
from diffmg.graph.network import HeteroGraph
from diffmg.methods.baselines._choices import observed_choices
from diffmg.methods.baselines._labels import TrainingLabels
from diffmg.methods.baselines._svd import root_mean_square, side_by_side, truncated_svd
from diffmg.methods.baselines.svd import Svd, blocks_of, decomposed, logistic
from diffmg.tasks import NodeClassification
from diffmg.tasks.problem import Problem
from fitted_checks import (
    assert_a_saved_network_predicts_by_itself,
    assert_only_training_labels_are_read,
    assert_only_training_numbers_are_read,
    groups,
    lacking_a_class,
    numbers,
    outputs,
    score,
)


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape)


def test_the_decomposition_is_that_of_lapack():
    low = draw(30, 4) @ np.diag([9.0, 5.0, 2.0, 1.0]) @ draw(4, 20)
    u, s, v = truncated_svd(sp.csr_matrix(low), 3, np.random.default_rng(0))
    wanted = np.linalg.svd(low)
    np.testing.assert_allclose(s, wanted[1][:3], rtol=1e-8)
    np.testing.assert_allclose(u * s @ v.T, wanted[0][:, :3] * s @ wanted[2][:3], atol=1e-7)
    assert (u.shape, v.shape) == ((30, 3), (20, 3))
    assert len(truncated_svd(low, 100, np.random.default_rng(0))[1]) == 20


def test_matrices_side_by_side_multiply_as_one():
    blocks = [draw(6, 3), draw(6, 4)]
    whole, apart = np.hstack(blocks), side_by_side([aslinearoperator(b) for b in blocks])
    assert apart.shape == (6, 7)
    np.testing.assert_allclose(apart @ draw(7, 2), whole @ draw(7, 2))
    np.testing.assert_allclose(apart @ draw(7), whole @ draw(7))
    np.testing.assert_allclose(apart.H @ draw(6, 2), whole.T @ draw(6, 2))


def test_the_length_of_rows_is_estimated():
    matrix = draw(50, 400)
    found = root_mean_square(aslinearoperator(matrix), np.random.default_rng(0))
    assert found == pytest.approx(np.sqrt(np.square(matrix).sum(axis=1).mean()), rel=0.1)


def dense_blocks(problem: Problem) -> list[np.ndarray]:
    """People, their things, people with common things, own features."""
    likes = next(iter(problem.graph.adjacency.values())).toarray().T
    rows, columns = (np.maximum(likes.sum(axis=a, keepdims=True), 1) ** -0.5 for a in (1, 0))
    a = rows * likes * columns
    return [a, a @ a.T, problem.graph.features["person"].numpy()]


def test_blocks_are_relations_products_of_two_and_features():
    problem = groups()
    found = blocks_of(problem.graph, "person")
    for block, wanted in zip(found, dense_blocks(problem), strict=True):
        np.testing.assert_allclose(block @ np.eye(block.shape[1]), wanted, atol=1e-12)


def test_at_full_rank_it_is_logistic_regression_on_the_blocks():
    """The penalty does not change when the columns are turned, so all singular vectors are as good as the matrix."""
    problem = groups()
    whole = np.hstack([b / np.sqrt(np.square(b).sum(axis=1).mean()) for b in dense_blocks(problem)])
    whole = whole / np.sqrt(np.square(whole).sum(axis=1).mean())
    train = problem.task.parts["train"].numpy()
    model = LogisticRegression(C=1 / 0.3, max_iter=1000, tol=1e-8).fit(whole[train], problem.task.labels[train])
    (logits,) = outputs(Svd(rank=500), problem)
    wanted = model.predict_proba(whole)
    assert np.abs(logits.softmax(dim=1).numpy() - wanted).max() < 0.05  # the scales of the blocks are estimates


def test_classes_weigh_as_the_task_says():
    x, y = draw(80, 3), (np.arange(80) % 8 == 0).astype(np.uint8)
    marks = torch.from_numpy(np.stack([1 - y, y], axis=1))
    labels = TrainingLabels(torch.arange(80), marks, False, torch.tensor([1.0, 7.0]))
    weights, bias = logistic(x, labels, 0.3)
    each = np.where(y, 7.0, 1.0)
    model = LogisticRegression(C=1 / 0.3).fit(x, y, sample_weight=each / each.mean())
    np.testing.assert_allclose(weights[:, 1], model.coef_[0], atol=1e-4)
    assert bias[1] == pytest.approx(model.intercept_[0], abs=1e-4)


@pytest.mark.parametrize(("several", "classes", "least"), [(False, 3, 0.8), (False, 2, 0.8), (True, 2, 0.5)])
def test_labels_are_found_through_common_things(several, classes, least):
    problem = groups(classes=classes, several=several)
    assert score(Svd(), problem) > least
    assert_only_training_labels_are_read(Svd(rank=4), problem)
    assert_a_saved_network_predicts_by_itself(Svd(rank=4), problem)


def test_a_class_without_training_nodes_is_never_predicted():
    problem = lacking_a_class(groups())
    assert set(outputs(Svd(), problem)[0].argmax(dim=1).tolist()) == {0, 2}


def test_a_label_that_all_training_nodes_have_is_predicted_for_all():
    given = groups(several=True)
    labels = given.task.labels.clone()
    labels[:, 1] = 1
    parts = {part: index.numpy() for part, index in given.task.parts.items()}
    problem = Problem(given.graph, NodeClassification.build("person", labels.numpy(), **parts))
    (logits,) = outputs(Svd(), problem)
    assert (logits[:, 1] > 5).all()
    assert logits[:, 0].std() > 0.1


def test_a_type_with_nothing_around_it_gets_the_shares_of_the_classes():
    graph = HeteroGraph.build({"a": 4, "b": 1, "c": 1}, {("b", "r", "c"): np.array([[0], [0]])})
    problem = Problem(graph, NodeClassification.build("a", [0, 0, 1, 1], train=[0, 1, 2], val=[3]))
    (logits,) = outputs(Svd(), problem)
    assert torch.equal(logits.argmax(dim=1), torch.zeros(4, dtype=torch.int64))
    assert logits.isfinite().all()


@pytest.mark.parametrize("options", [{"rank": 0}, {"l2": 0.0}])
def test_bad_options(options):
    with pytest.raises(DiffmgError, match=next(iter(options))):
        Svd(**options)


def test_numbers_are_those_of_ridge_regression_by_its_normal_equations():
    problem, method = numbers(groups()), Svd(rank=500, l2=0.7)
    x, _ = decomposed(problem.graph, "person", 500, 0)
    train, task = problem.task.parts["train"].numpy(), problem.task
    known, y = x[train], task.scaled[train].double().numpy()
    centre = known - known.mean(axis=0)
    weights = np.linalg.solve(centre.T @ centre + 0.7 * np.eye(x.shape[1]), centre.T @ (y - y.mean(axis=0)))
    wanted = (x - known.mean(axis=0)) @ weights + y.mean(axis=0)
    np.testing.assert_allclose(outputs(method, problem)[0], wanted, atol=1e-4)


@pytest.mark.parametrize("columns", [1, 2])
def test_numbers_are_learned_from_training_alone(columns):
    problem = numbers(groups(), columns)
    assert_only_training_numbers_are_read(Svd(rank=10), problem)
    assert_a_saved_network_predicts_by_itself(Svd(rank=10), problem)
    assert float(problem.task.scores(outputs(Svd(rank=10), problem), "val")["r2"]) > 0.5


def test_choices_are_decomposed_normalised_and_shrunk():
    problem = load_dataset("films:160")
    choices = observed_choices(problem).toarray()
    rows, columns = (np.maximum(choices.sum(axis=a, keepdims=True), 1) ** -0.5 for a in (1, 0))
    u, s, vt = np.linalg.svd(rows * choices * columns, full_matrices=False)
    wanted = (u * s**3 / (s**2 + 0.7)) @ vt * np.sqrt(choices.sum(axis=0))
    users, items = outputs(Svd(rank=500, l2=0.7), problem)
    np.testing.assert_allclose((users @ items.T).numpy(), wanted, atol=1e-4)


def test_of_a_ranking_it_is_better_than_popularity():
    problem = load_dataset("films:400")
    found = problem.task.final_scores(outputs(Svd(), problem), "test")
    assert found["ndcg"] > 1.5 * found["popularity_ndcg"]


@pytest.mark.parametrize(("nodes", "relations", "cheap"), [(30, 8, True), (30, 10, False), (3000, 4, False)])
def test_many_products_of_two_relations_are_not_cheap(nodes, relations, cheap):
    """Twice as many relations with their reverses: 272 blocks, 420, and 72 of 3000 columns."""
    edges = {("n", f"r{i}", "n"): np.array([[i, 1], [2, i + 3]]) for i in range(relations)}
    graph = HeteroGraph.build({"n": nodes}, edges, reverse=True)
    task = NodeClassification.build("n", [0, 1] * (nodes // 2), train=[0, 1, 2, 3], val=[4, 5])
    method = Svd(rank=512)
    assert method.is_cheap(Problem(graph, task)) is cheap
    sizes = [block.shape[1] for block in blocks_of(graph, "n")]
    assert cheap is (len(sizes) <= 300 and sum(sizes) * 512 <= 2**26)


def test_ranks_that_are_tried_fit_the_columns():
    """72 blocks of 3000 columns: rank 256 is within the limit, 512 is not."""
    graph = HeteroGraph.build(
        {"n": 3000}, {("n", f"r{i}", "n"): np.array([[i], [i + 3]]) for i in range(4)}, reverse=True
    )
    problem = Problem(graph, NodeClassification.build("n", [0, 1] * 1500, train=[0, 1], val=[4, 5]))
    assert Svd().tunable_on(problem) == {**Svd.tunable, "rank": (64, 128, 256)}
