from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn import metrics as sk

from diffmg import NodeRegressor
from diffmg.core.errors import DiffmgError
from diffmg.graph.network import HeteroGraph
from diffmg.tables import export_tables, read_problem
from diffmg.tasks import NodeRegression, Problem

ONE = [3.0, 5.0, 10.0, 4.0, 7.0, 6.0, np.nan, 8.0]
TWO = [[v, 1000 * v**2 - 5] for v in ONE]
SPLIT = {"train": [0, 1, 2], "val": [3, 4], "test": [5, 7]}
by_values = pytest.mark.parametrize("values", [ONE, TWO], ids=["one number", "several"])
PLAIN = {
    "mae": sk.mean_absolute_error,
    "rmse": lambda a, b: np.mean([sk.mean_squared_error(x, y) ** 0.5 for x, y in zip(a.T, b.T, strict=True)]),
    "r2": sk.r2_score,
}


def task_of(values=ONE, **changes) -> NodeRegression:
    return NodeRegression.build("house", values, **(SPLIT | changes))


def graph_of(houses: int = 8) -> HeteroGraph:
    edges = {("street", "has", "house"): [[0, 0, 1, 1], [0, 1, 2, 3]]}
    return HeteroGraph.build({"house": houses, "street": 2}, edges)


def outputs_of(task: NodeRegression, seed: int = 0) -> tuple[torch.Tensor]:
    return (torch.randn(8, task.outputs, generator=torch.Generator().manual_seed(seed)),)


def restored(values, outputs) -> np.ndarray:
    """Predictions in the user's units, slowly."""
    known = np.array(values).reshape(8, -1)[SPLIT["train"]]
    return np.array([z * known.std(axis=0) + known.mean(axis=0) for z in outputs[0].double().numpy()])


@by_values
@pytest.mark.parametrize("part", ["train", "val", "test"])
def test_scores_are_those_of_scikit_learn_in_the_users_units(values, part):
    task = task_of(values)
    outputs = outputs_of(task)
    true, predicted = np.array(values).reshape(8, -1)[SPLIT[part]], restored(values, outputs)[SPLIT[part]]
    found = task.scores(outputs, part)
    assert {name: float(score) for name, score in found.items()} == pytest.approx(
        {name: score(true, predicted) for name, score in PLAIN.items()}
    )


def test_of_several_numbers_each_has_its_scores_at_the_end():
    task = task_of(TWO, names=("price", "area"))
    outputs = outputs_of(task)
    found, true, predicted = task.final_scores(outputs, "val"), np.array(TWO)[[3, 4]], restored(TWO, outputs)[[3, 4]]
    for i, name in enumerate(("price", "area")):
        for metric, score in PLAIN.items():
            assert float(found[f"{metric} of {name}"]) == pytest.approx(score(true[:, [i]], predicted[:, [i]]))
    assert set(task_of().final_scores(outputs_of(task_of()), "val")) == {"mae", "rmse", "r2"}


@by_values
@pytest.mark.parametrize("loss", ["mae", "huber", "mse"])
def test_losses_are_of_standardised_numbers(values, loss):
    task = task_of(values, loss=loss)
    outputs, known = outputs_of(task), np.array(values).reshape(8, -1)
    off = outputs[0].double().numpy() - (known - known[:3].mean(axis=0)) / known[:3].std(axis=0)
    each = {
        "mae": lambda e: abs(e),
        "mse": lambda e: e**2,
        "huber": lambda e: e**2 / 2 if abs(e) < 1 else abs(e) - 0.5,
    }[loss]
    wanted = np.mean([each(e) for row in off[SPLIT["val"]] for e in row])
    assert float(task.loss(outputs, "val")) == pytest.approx(wanted, rel=1e-5)


@by_values
@pytest.mark.parametrize("metric", ["mae", "rmse", "r2"])
def test_evaluating_gives_the_loss_and_the_score_that_chooses(values, metric):
    task = task_of(values, metric=metric)
    outputs = outputs_of(task)
    loss, score = task.evaluate(outputs, "val")
    assert torch.equal(loss, task.loss(outputs, "val"))
    assert torch.equal(score, task.scores(outputs, "val")[metric])
    assert task.sign == (1 if metric == "r2" else -1)


def test_a_diverged_model_has_no_score():
    outputs = outputs_of(task_of())
    outputs[0][3] = torch.nan
    assert all(score.isnan() for score in task_of().scores(outputs, "val").values())
    assert not any(score.isnan() for score in task_of().scores(outputs, "train").values())


@by_values
def test_the_unit_makes_no_difference_to_what_is_learned(values):
    one, other = task_of(values), task_of(np.array(values) * 1000 + 5)
    outputs = outputs_of(one)
    torch.testing.assert_close(one.scaled, other.scaled, equal_nan=True, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(one.loss(outputs, "train"), other.loss(outputs, "train"))
    np.testing.assert_allclose(other.predictions(outputs), one.predictions(outputs) * 1000 + 5)
    before, after = one.scores(outputs, "val"), other.scores(outputs, "val")
    assert [float(after[m]) for m in ("mae", "rmse")] == pytest.approx(
        [1000 * float(before[m]) for m in ("mae", "rmse")]
    )
    assert float(after["r2"]) == pytest.approx(float(before["r2"]))


def test_the_unit_makes_no_difference_to_the_model():
    """Fitted on numbers in other units, the same network predicts the same in those units."""
    rng = np.random.default_rng(0)
    prices = rng.normal(200, 30, 8)
    settings = {"dim": 4, "max_epochs": 5}
    found = []
    for numbers in (prices, prices * 1000 + 5):
        task = NodeRegression.build("house", numbers, train=[0, 1, 2, 3], val=[4, 5], test=[6, 7])
        found.append(NodeRegressor(method="gcn", settings=settings, device="cpu").fit(graph_of(), task))
    one, other = found
    np.testing.assert_allclose(other.predict(), one.predict() * 1000 + 5, rtol=1e-5)
    assert other.score() == pytest.approx(1000 * one.score(), rel=1e-4)
    assert other.run_.trained[0].best_epoch == one.run_.trained[0].best_epoch


@by_values
def test_answers_are_numbers_with_ids(values):
    task, graph = task_of(values), graph_of()
    outputs = outputs_of(task)
    found = task.answers(outputs, graph, [5, 2])
    assert found["house"].tolist() == [5, 2]
    names = ["prediction"] if values is ONE else ["number0", "number1"]
    assert list(found.columns) == ["house", *names]
    np.testing.assert_allclose(np.stack([found[n] for n in names], axis=1), restored(values, outputs)[[5, 2]])
    assert len(task.answers(outputs, graph)) == 8
    with pytest.raises(DiffmgError, match="option of a regression's answers: 'k'"):
        task.answers(outputs, graph, k=3)


def test_tiny_and_huge_numbers_keep_their_digits_as_text():
    task = task_of([[v * 1e-9, v * 1e9] for v in ONE])
    lines = task.answers(outputs_of(task), graph_of()).to_csv().splitlines()
    texts = np.array([[float(cell) for cell in line.split(",")[1:]] for line in lines[1:]])
    np.testing.assert_allclose(texts, task.predictions(outputs_of(task)), rtol=1e-8)


def test_a_number_called_as_its_type_does_not_hide_the_ids():
    task = task_of(TWO, names=("house", "area"))
    assert list(task.answers(outputs_of(task), graph_of()).columns) == ["house", "house_", "area"]


def test_folds_and_refits_keep_the_scale_so_that_models_can_be_averaged():
    task = task_of(TWO)
    folds = task.folds(5, 0)
    for fold in (*folds.tasks, folds.whole, task.joined(), task.joined(test=True)):
        assert torch.equal(fold.scale.mean, task.scale.mean)
        assert torch.equal(fold.scaled.nan_to_num(), task.scaled.nan_to_num())
    seen = torch.cat([fold.parts["val"] for fold in folds.tasks]).sort().values
    assert seen.tolist() == folds.whole.parts["val"].tolist() == [0, 1, 2, 3, 4]
    assert task.joined(test=True).parts["train"].tolist() == [0, 1, 2, 3, 4, 5, 7]


def test_known_labels_are_those_of_training_and_say_so():
    found = task_of(TWO).known_labels()
    assert torch.equal(found[:3, :2], task_of(TWO).scaled[:3])
    assert found[:, 2].tolist() == [1, 1, 1, 0, 0, 0, 0, 0]
    assert not found[3:].any()
    (outputs,) = task_of(TWO).linear_outputs(found)
    assert torch.equal(outputs, found[:, :2])


@pytest.mark.parametrize(("metric", "of"), [("mae", np.median), ("rmse", np.mean), ("r2", np.mean)])
def test_blind_votes_are_the_best_constant(metric, of):
    task = task_of(TWO, metric=metric)
    found = task.scale.restored(task.blind_votes("test"))
    np.testing.assert_allclose(found, [of(np.array(TWO)[:3], axis=0)] * 2, rtol=1e-6)
    assert of.__name__ in task.blind_words


@pytest.mark.parametrize("metric", ["mae", "rmse", "r2"])
def test_the_standard_error_is_the_spread_of_scores_of_normal_errors(metric):
    """By simulation: many validation parts with errors of one distribution."""
    rng, size = np.random.default_rng(0), 400
    true = rng.normal(0, 2, (size + 3, 1))
    task = NodeRegression.build("a", true, train=[0, 1, 2], val=range(3, size + 3), metric=metric)
    draws = [true[3:] + rng.normal(0, 1, (size, 1)) for _ in range(400)]
    scores = [float(task.score_votes((torch.from_numpy(d) - task.scale.mean) / task.scale.std, "val")) for d in draws]
    assert task.standard_error(float(np.mean(scores))) == pytest.approx(np.std(scores), rel=0.15)
    assert task.standard_error(float("nan")) == 0


@by_values
def test_counts_are_moments_by_part(values):
    found, true = task_of(values).counts(), np.array(values).reshape(8, -1)
    of = [""] if values is ONE else [" of number0", " of number1"]
    for part, index in SPLIT.items():
        wanted = {"nodes": len(index)}
        for i, name in enumerate(of):
            wanted |= {f"mean{name}": true[index, i].mean(), f"std{name}": true[index, i].std()}
        assert found[part] == pytest.approx(wanted)
    assert NodeRegression.build("house", ONE, train=[0, 1], val=[2]).counts()["test"] == {"nodes": 0}


@by_values
def test_comes_back_from_tables(values, tmp_path):
    task = task_of(values, metric="rmse", loss="huber")
    read = read_problem(export_tables(Problem(graph_of(), task), tmp_path / "tables")).task
    assert isinstance(read, NodeRegression)
    assert read.digests({}) == task.digests({})


def test_a_name_that_is_taken_is_changed_in_tables(tmp_path):
    problem = Problem(graph_of(), task_of(TWO, names=("id", "split")))
    read = read_problem(export_tables(problem, tmp_path / "tables")).task
    assert read.names == ("id (predicted)", "split (predicted)")
    np.testing.assert_array_equal(read.values, problem.task.values)


def test_another_order_of_nodes_is_the_same_task():
    order = np.array([3, 1, 7, 0, 2, 6, 5, 4])
    task = task_of(TWO)
    moved = task.permuted({"house": order})
    assert moved.digests({"house": np.argsort(order)}) == task.digests({})
    outputs = outputs_of(task)
    assert float(moved.loss((outputs[0][torch.from_numpy(order)],), "val")) == pytest.approx(
        float(task.loss(outputs, "val"))
    )
    assert task.permuted({"street": np.array([1, 0])}) is task


@pytest.mark.parametrize(
    ("changes", "changed"),
    [
        ({"values": [3.0, 5.0, 11.0, *ONE[3:]]}, {"labels", "scale"}),
        ({"values": [*ONE[:7], 9.0]}, {"labels"}),
        ({"val": [3]}, {"split, val"}),
        ({"metric": "rmse"}, {"metric"}),
        ({"loss": "mse"}, {"loss"}),
        ({"names": ("price",)}, {"numbers"}),
        ({}, set()),
    ],
)
def test_digests_tell_what_changed(changes, changed):
    one, other = task_of().digests({}), task_of(**changes).digests({})
    assert {name for name in one if one[name] != other[name]} == changed


def test_other_test_labels_change_nothing_else():
    other = task_of(TWO).with_other_test_labels()
    assert (other.values != task_of(TWO).values).any(dim=1).nonzero().flatten().tolist() == [5, 6, 7]  # 6 is NaN
    assert torch.equal(other.scale.std, task_of(TWO).scale.std)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"val": [2, 3]}, r"must not overlap, but got 1 'house' nodes in both train and val, such as \[2\]"),
        ({"train": []}, "needs 'house' nodes in train and in val, but got none in train"),
        ({"val": []}, "but got none in val"),
        ({"test": [6]}, r"every 'house' node of test must have a label, but got none for \[6\]"),
        ({"values": [2.0, 2.0, 2.0, *ONE[3:]]}, "the training values of 'number' must vary"),
        ({"values": [*ONE[:7], np.inf]}, "must be finite"),
        ({"metric": "mea"}, "unknown metric 'mea'; did you mean 'mae'"),
        ({"loss": "hubert"}, "unknown loss 'hubert'; did you mean 'huber'"),
        ({"names": ("a", "b")}, "a name of its own, 1 in all, but got"),
        ({"metric": "r2", "val": [3]}, "r2 needs validation values that vary"),
        ({"values": ["a"] * 8}, "numbers must be"),
    ],
)
def test_what_cannot_be_learned_is_refused(changes, message):
    with pytest.raises(DiffmgError, match=message):
        task_of(**changes)


def test_fits_a_network_with_as_many_nodes_as_rows():
    task_of().check(graph_of())
    with pytest.raises(DiffmgError, match="'house' node, 9 in all, but got 8"):
        task_of().check(graph_of(9))


def test_columns_of_any_kind_are_split_by_id():
    ids = list("hgfedcba")
    one = NodeRegression.from_column("house", ONE, seed=3, ids=ids)
    other = NodeRegression.from_column("house", ONE[::-1], seed=3, ids=ids[::-1])
    for part, index in one.parts.items():
        assert {ids[i] for i in index} == {ids[::-1][i] for i in other.parts[part]}
    assert 6 not in torch.cat([*one.parts.values()])
    told = NodeRegression.from_column("house", ONE, [2 * v for v in ONE], split=["train", "train", "val"] + [None] * 5)
    assert (told.outputs, told.size("train"), told.size("test")) == (2, 2, 0)
    with pytest.raises(DiffmgError, match="needs one or more columns"):
        NodeRegression.from_column("house")


def test_a_mean_over_numbers_of_other_scales_is_noted():
    assert task_of().doubts() == ()
    assert "number1 decides" in task_of(TWO).doubts()[0]
    assert task_of(TWO, metric="r2").doubts() == ()


def test_it_tells_what_it_is():
    assert repr(task_of()) == (
        "NodeRegression(regression of house; train 3, val 2, test 2; chosen by mae; number: 6 ± 2.94392028878)"
    )
