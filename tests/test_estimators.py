from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score, roc_auc_score

from diffmg import (
    DiffMG,
    Given,
    HeteroGraph,
    MetaGraph,
    MetaGraphClassifier,
    MetaGraphRecommender,
    NodeClassification,
    Problem,
    Recommendation,
    Settings,
    load_dataset,
)
from diffmg.core.errors import DiffmgError
from diffmg.core.metagraph import EMPTY, IDENTITY, Link
from diffmg.core.run import read_run
from diffmg.core.schema import Relation
from run_files import RACE, TINY, content, diffmg, fit

AUTHORS, PAPERS, VENUES = 40, 60, 6
WRITTEN_BY = Relation("paper", "written_by", "author")
PUBLISHES = Relation("venue", "publishes", "paper")
PATH = MetaGraph.of("author", {Link(1, 0): PUBLISHES, Link(2, 0): EMPTY, Link(2, 1): WRITTEN_BY})
QUICK = {"dim": 8, "max_epochs": 5, "patience": None}
USERS, ITEMS = 12, 9
BOUGHT_BY = Relation("item", "bought_by", "user")
BUYS = Relation("user", "buys", "item")
TOWERS = (MetaGraph("user", ((BOUGHT_BY, IDENTITY),)), MetaGraph("item", ((BUYS, IDENTITY),)))


def author(number: int) -> str:
    """Ids whose order is not that of the nodes."""
    return f"author {97 * number % AUTHORS}"


def library(venues: int = VENUES) -> HeteroGraph:
    """Venues have no features: each has a learned vector."""
    rng = np.random.default_rng(0)
    writes = np.stack([np.arange(PAPERS), rng.integers(0, AUTHORS, PAPERS)])
    publishes = np.stack([rng.integers(0, venues, PAPERS), np.arange(PAPERS)])
    return HeteroGraph.build(
        {"author": AUTHORS, "paper": PAPERS, "venue": venues},
        {WRITTEN_BY: writes, PUBLISHES: publishes},
        {"author": rng.standard_normal((AUTHORS, 3)), "paper": rng.standard_normal((PAPERS, 4))},
        ids={"author": [author(i) for i in range(AUTHORS)]},
        reverse=True,
    )


def fields(*, several: bool = False, test: bool = True) -> NodeClassification:
    """Authors have one of three fields, or several."""
    one = np.arange(AUTHORS) % 3
    labels = np.stack([one == 0, one != 1, one == 2], axis=1).astype(int) if several else one
    last = range(30, AUTHORS) if test else ()
    names = ["art", "biology", "chemistry"]
    return NodeClassification.build("author", labels, train=range(20), val=range(20, 30), test=last, classes=names)


def shop() -> tuple[HeteroGraph, Recommendation]:
    """User u has item u % 9 and has chosen u + 1, u + 2 and u + 3 (modulo 9) since."""
    users = np.arange(USERS)
    seen = np.stack([users, users % ITEMS], axis=1)
    graph = HeteroGraph.build(
        {"user": USERS, "item": ITEMS},
        {BOUGHT_BY: seen.T[::-1], BUYS: seen.T},
        ids={"user": [f"u{i}" for i in users], "item": [f"i{i}" for i in range(ITEMS)]},
    )
    pairs = {n: np.stack([users, (users + n) % ITEMS], axis=1) for n in range(1, 7)}
    parts = ("train", "val", "test")
    positives, negatives = ({p: pairs[n] for n, p in enumerate(parts, first)} for first in (1, 4))
    return graph, Recommendation.build("user", "item", (USERS, ITEMS), positives, negatives, seen=seen, k=3)


def classifier(**given: Any) -> MetaGraphClassifier:
    return MetaGraphClassifier(**{"method": Given((PATH,)), "settings": QUICK, "device": "cpu"} | given)


def recommender(**given: Any) -> MetaGraphRecommender:
    return MetaGraphRecommender(**{"method": Given(TOWERS), "settings": QUICK, "device": "cpu"} | given)


@pytest.fixture(scope="module")
def fitted() -> MetaGraphClassifier:
    return classifier().fit(library(), fields())


@pytest.fixture(scope="module")
def advising() -> MetaGraphRecommender:
    return recommender().fit(*shop())


@pytest.mark.parametrize("kind", [MetaGraphClassifier, MetaGraphRecommender])
def test_an_estimator_can_be_cloned(kind: type[MetaGraphClassifier | MetaGraphRecommender]) -> None:
    given = {"method": DiffMG(depth=2), "settings": QUICK, "repeats": 2, "seed": 7, "device": "cpu"}
    given |= {"budget": "60s", "single": True, "refit": "val", "options": None, "engine": {"columns": 4}, "batch": 2}
    given |= {"beside": ["gcn"], "cluster": "ray", "verbose": True, "callbacks": [print]}
    estimator = kind(**given)
    assert estimator.get_params() == given
    assert clone(estimator).get_params() == given
    assert kind().set_params(**given).get_params() == given


def test_a_clone_is_not_fitted_and_learns_the_same(fitted: MetaGraphClassifier) -> None:
    copy = clone(fitted)
    assert not hasattr(copy, "model_")
    assert np.array_equal(copy.fit(library(), fields()).predict_proba(), fitted.predict_proba())


def test_fit_returns_self_and_leaves_the_parameters_alone() -> None:
    estimator = classifier()
    before = estimator.get_params()
    assert estimator.fit(library(), fields()) is estimator
    assert estimator.get_params() == before


def test_a_search_finds_what_is_then_trained() -> None:
    estimator = classifier(method=DiffMG(search_seeds=2, depth=2, epochs=2)).fit(library(), fields())
    assert estimator.metagraphs_[0].depth == 2
    assert len(estimator.run_.candidates) == 2
    assert estimator.validation_score_ == max(c.val_score for c in estimator.run_.candidates)


def test_classes_and_probabilities_have_a_row_per_node(fitted: MetaGraphClassifier) -> None:
    probabilities = fitted.predict_proba()
    assert probabilities.shape == (AUTHORS, 3)
    assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-6)
    assert fitted.classes_.tolist() == ["art", "biology", "chemistry"]
    assert np.array_equal(fitted.predict(), fitted.classes_[probabilities.argmax(axis=1)])


def test_nodes_are_asked_for_by_their_ids_and_answered_in_that_order(fitted: MetaGraphClassifier) -> None:
    nodes = [31, 2, 17, 2]
    ids = [author(n) for n in nodes]
    assert np.array_equal(fitted.predict(ids), fitted.predict()[nodes])
    assert np.array_equal(fitted.predict_proba(ids), fitted.predict_proba()[nodes])


def test_one_id_and_no_ids_have_one_row_and_none(fitted: MetaGraphClassifier) -> None:
    assert fitted.predict(author(3)).tolist() == [fitted.predict()[3]]
    assert fitted.predict_proba([]).shape == (0, 3)


@pytest.mark.parametrize("ids", [["nobody"], [author(1), "nobody"], [3]], ids=str)
def test_an_unknown_id_is_named(ids: list[Any], fitted: MetaGraphClassifier) -> None:
    message = rf"must be one of the 'author' nodes of the network, but got \['?{ids[-1]}'?\] \(1 unknown\); ids look"
    with pytest.raises(DiffmgError, match=message):
        fitted.predict(ids)


def test_the_score_is_the_metric_on_the_test_part(fitted: MetaGraphClassifier) -> None:
    true = fitted.classes_[np.arange(30, AUTHORS) % 3]
    assert fitted.score() == pytest.approx(f1_score(true, fitted.predict()[30:], average="macro"), abs=1e-6)
    assert fitted.score() == fitted.run_.trained[0].test["macro_f1"]


def test_a_score_without_test_labels_is_named() -> None:
    with pytest.raises(DiffmgError, match=r"a score needs test labels, but got 0 of them"):
        classifier().fit(library(), fields(test=False)).score()


def test_several_labels_a_node_are_columns_of_zeros_and_ones() -> None:
    estimator = classifier().fit(library(), fields(several=True))
    predicted, probabilities = estimator.predict(), estimator.predict_proba()
    assert predicted.shape == probabilities.shape == (AUTHORS, 3)
    assert set(np.unique(predicted)) <= {0, 1}
    assert np.array_equal(predicted, probabilities > 0.5)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert 0 <= estimator.score() <= 1


def test_a_saved_classifier_predicts_the_same(fitted: MetaGraphClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "run")
    again = MetaGraphClassifier.load(tmp_path / "run", library(), fields())
    assert np.array_equal(again.predict_proba(), fitted.predict_proba())
    assert again.score() == fitted.score()
    assert again.metagraphs_ == fitted.metagraphs_
    assert again.classes_.tolist() == fitted.classes_.tolist()


def test_a_loaded_classifier_can_be_fitted_again(fitted: MetaGraphClassifier, tmp_path: Path) -> None:
    fitted.save(str(tmp_path / "run"))
    again = clone(MetaGraphClassifier.load(tmp_path / "run", library(), fields()))
    assert np.array_equal(again.fit(library(), fields()).predict_proba(), fitted.predict_proba())


def test_a_saved_estimator_is_a_run_folder_with_a_report(fitted: MetaGraphClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "run")
    assert replace(read_run(tmp_path / "run"), files={}) == fitted.run_
    assert "own network" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def raced() -> MetaGraphClassifier:
    """As `RACE` says."""
    return MetaGraphClassifier(budget=4, settings={"max_epochs": 3, "dim": 8}).fit(load_dataset("academic:120"))


def test_a_saved_race_is_the_folder_that_the_command_writes(raced: MetaGraphClassifier, tmp_path: Path) -> None:
    raced.save(tmp_path / "saved")
    wanted = fit(tmp_path / "fitted", "academic:120", *RACE)
    assert content(tmp_path / "saved") == content(wanted)
    assert {p.name for p in (tmp_path / "saved").iterdir()} == {p.name for p in wanted.iterdir()}
    single = tmp_path / "saved" / "single.safetensors"
    assert diffmg("predict", single).out == diffmg("predict", wanted / single.name).out


def test_a_saved_search_is_the_folder_that_the_command_writes(tmp_path: Path) -> None:
    method = DiffMG(search_seeds=2, epochs=4)
    estimator = MetaGraphClassifier(method=method, settings={"max_epochs": 4, "dim": 8}, repeats=2)
    estimator.fit(load_dataset("academic:120")).save(tmp_path / "saved")
    assert content(tmp_path / "saved") == content(fit(tmp_path / "fitted", "academic:120", *TINY))


def test_a_loaded_race_has_its_single_model_and_its_evidence(raced: MetaGraphClassifier, tmp_path: Path) -> None:
    raced.save(tmp_path / "run")
    again = MetaGraphClassifier.load(tmp_path / "run", load_dataset("academic:120"))
    for estimator in (raced, again):
        assert estimator.single_ is not None
        assert estimator.single_.metagraphs == estimator.metagraphs_
        assert estimator.single_.scores("test") == pytest.approx(estimator.run_.single.test, abs=1e-6)
        assert len(estimator.tried_) == estimator.run_.evidence.candidates
    assert again.tried_ == raced.tried_
    one, other = (e.single_.answers([3, 1])["class"].tolist() for e in (raced, again))
    assert len(one) == 2
    assert one == other
    again.save(tmp_path / "again")
    assert content(tmp_path / "again") == content(tmp_path / "run")


@pytest.mark.parametrize("name", ["single.safetensors", "tried.jsonl"])
def test_a_changed_file_of_a_race_is_refused_and_a_missing_one_is_not(
    name: str, raced: MetaGraphClassifier, tmp_path: Path
) -> None:
    raced.save(tmp_path / "run")
    file = tmp_path / "run" / name
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(DiffmgError, match=rf"as the run wrote it .* but got '.*{name}' with .* changed or damaged"):
        MetaGraphClassifier.load(tmp_path / "run")
    file.unlink()
    again = MetaGraphClassifier.load(tmp_path / "run")
    assert (again.single_ is None, again.tried_ == ()) == (name.startswith("single"), name.startswith("tried"))


def test_without_a_race_there_is_one_model(fitted: MetaGraphClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "run")
    again = MetaGraphClassifier.load(tmp_path / "run", library(), fields())
    for estimator in (fitted, again):
        assert (estimator.single_, estimator.tried_) == (None, ())
        assert [record.epoch for _, record in estimator.history_] == [1, 2, 3, 4, 5]


def test_a_folder_that_exists_is_not_written_over(fitted: MetaGraphClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "run")
    with pytest.raises(DiffmgError, match=r"a run needs a new or empty folder"):
        fitted.save(tmp_path / "run")


def test_a_saved_recommender_recommends_the_same(advising: MetaGraphRecommender, tmp_path: Path) -> None:
    advising.save(tmp_path / "run")
    again = MetaGraphRecommender.load(tmp_path / "run", *shop())
    for one, other in zip(again.recommend(k=4), advising.recommend(k=4), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("use", ["predict", "predict_proba", "score", "save"])
def test_a_classifier_must_be_fitted_first(use: str, tmp_path: Path) -> None:
    given = [tmp_path / "run"] if use == "save" else []
    with pytest.raises(NotFittedError, match=r"MetaGraphClassifier must be fitted first;"):
        getattr(MetaGraphClassifier(), use)(*given)


@pytest.mark.parametrize("use", ["recommend", "predict", "predict_proba", "score"])
def test_a_recommender_must_be_fitted_first(use: str) -> None:
    given = [[["u1", "i1"]]] if use.startswith("predict") else []
    with pytest.raises(NotFittedError, match=r"MetaGraphRecommender must be fitted first"):
        getattr(MetaGraphRecommender(), use)(*given)


def test_a_task_of_the_other_kind_is_named(
    fitted: MetaGraphClassifier, advising: MetaGraphRecommender, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "fields")
    advising.save(tmp_path / "shop")
    with pytest.raises(DiffmgError, match="use MetaGraphRecommender"):
        classifier().fit(*shop())
    with pytest.raises(DiffmgError, match="use MetaGraphClassifier"):
        recommender().fit(library(), fields())
    with pytest.raises(DiffmgError, match="use MetaGraphClassifier"):
        MetaGraphRecommender.load(tmp_path / "fields", library(), fields())
    with pytest.raises(DiffmgError, match="use MetaGraphRecommender"):
        MetaGraphClassifier.load(tmp_path / "shop")


def test_a_problem_or_a_network_and_a_task_must_be_given(fitted: MetaGraphClassifier) -> None:
    problem = Problem(library(), fields())
    assert np.array_equal(classifier().fit(problem).predict_proba(), fitted.predict_proba())
    with pytest.raises(DiffmgError, match="a problem has its task"):
        classifier().fit(problem, fields())
    with pytest.raises(DiffmgError, match="a problem, or a network and a task"):
        classifier().fit(library())
    with pytest.raises(DiffmgError, match=r"but got dict and list; .*from_tables"):
        classifier().fit({"author": ["ann"]}, ["art"])  # type: ignore[arg-type]


def test_other_data_are_refused(fitted: MetaGraphClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "run")
    with pytest.raises(DiffmgError, match="nodes of venue: was '6 nodes', is '7 nodes'"):
        MetaGraphClassifier.load(tmp_path / "run", library(venues=VENUES + 1), fields())


def test_a_model_fitted_in_python_on_a_data_set_opens_it_by_itself(tmp_path: Path) -> None:
    estimator = MetaGraphClassifier(method="features", settings=QUICK).fit(load_dataset("academic:120"))
    estimator.save(tmp_path / "run")
    assert np.array_equal(MetaGraphClassifier.load(tmp_path / "run").predict_proba(), estimator.predict_proba())


def test_settings_may_be_complete_or_changes() -> None:
    settings = Settings(dim=8, max_epochs=5, patience=None)
    one, other = (classifier(settings=s).fit(library(), fields()) for s in (settings, QUICK))
    assert one.run_.plan.settings == other.run_.plan.settings == settings


def test_predictions_are_a_data_frame(fitted: MetaGraphClassifier, advising: MetaGraphRecommender) -> None:
    frame = fitted.predictions([author(3), author(1)])
    assert list(frame.columns) == ["author", "class", "p(art)", "p(biology)", "p(chemistry)"]
    assert frame["class"].tolist() == fitted.predict([author(3), author(1)]).tolist()
    items = advising.predictions(["u3"], k=2)
    assert items["item"].tolist() == advising.recommend(["u3"], k=2)[0][0].tolist()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"settings": {"dimm": 8}}, "unknown option of the settings: 'dimm'; did you mean 'dim'"),
        ({"method": "difmg"}, "unknown method 'difmg'; did you mean 'diffmg'"),
        ({"device": "gpu"}, "unknown device 'gpu'"),
        ({"method": Given((MetaGraph.features_only("venue"),))}, "one meta graph for each of"),
    ],
    ids=str,
)
def test_a_bad_parameter_is_named_by_fit(given: dict[str, Any], message: str) -> None:
    estimator = classifier(**given)
    with pytest.raises(DiffmgError, match=message):
        estimator.fit(library(), fields())


def test_recommended_items_are_new_to_the_user_and_best_first(advising: MetaGraphRecommender) -> None:
    items, scores = advising.recommend(k=4)
    assert items.shape == scores.shape == (USERS, 4)
    assert (np.diff(scores, axis=1) <= 0).all()
    for user, row in enumerate(items):
        known = {f"i{(user + n) % ITEMS}" for n in (0, 1, 2)}
        assert not known & set(row)
        assert len(set(row)) == 4


def test_seen_items_may_be_asked_for(advising: MetaGraphRecommender) -> None:
    items, scores = advising.recommend(["u3"], k=ITEMS, exclude_seen=False)
    assert sorted(items[0]) == [f"i{i}" for i in range(ITEMS)]
    assert np.isfinite(scores).all()


def test_more_items_than_there_are_leaves_the_rest_without_a_score(advising: MetaGraphRecommender) -> None:
    items, scores = advising.recommend(["u3"], k=ITEMS + 5)
    assert set(items[0][np.isfinite(scores[0])]) == {f"i{(3 + n) % ITEMS}" for n in range(3, ITEMS)}
    assert np.isfinite(scores[0]).sum() == ITEMS - 3


def test_users_are_asked_for_by_their_ids_and_answered_in_that_order(advising: MetaGraphRecommender) -> None:
    everyone, _ = advising.recommend(k=2)
    some, _ = advising.recommend(["u7", "u0", "u7"], k=2)
    assert np.array_equal(some, everyone[[7, 0, 7]])


def test_no_users_have_no_recommendations(advising: MetaGraphRecommender) -> None:
    items, scores = advising.recommend([], k=2)
    assert items.shape == scores.shape == (0, 2)


def test_an_unknown_user_or_item_is_named(advising: MetaGraphRecommender) -> None:
    with pytest.raises(DiffmgError, match=r"but got \['u99'\]"):
        advising.recommend(["u99"])
    with pytest.raises(DiffmgError, match=r"but got \['i99'\]"):
        advising.predict([["u1", "i99"]])


def test_fewer_than_one_item_is_named(advising: MetaGraphRecommender) -> None:
    with pytest.raises(DiffmgError, match=r"`k >= 1` must hold, but got k=0"):
        advising.recommend(k=0)


def test_pairs_are_scored_as_they_are_recommended(advising: MetaGraphRecommender) -> None:
    items, scores = advising.recommend(["u5"], k=3)
    assert np.allclose(advising.predict([["u5", item] for item in items[0]]), scores[0], atol=1e-5)


def test_probabilities_of_pairs_are_the_sigmoid_of_their_scores(advising: MetaGraphRecommender) -> None:
    pairs = [["u1", "i2"], ["u4", "i8"]]
    assert np.allclose(advising.predict_proba(pairs), 1 / (1 + np.exp(-advising.predict(pairs).astype(float))))


def test_probabilities_of_extreme_scores_are_zero_and_one(
    advising: MetaGraphRecommender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(advising, "predict", lambda _: np.array([-200, 0, 200], np.float32))
    assert advising.predict_proba([]).tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("pairs", [["u1", "i1"], [["u1", "i1", "i2"]], []], ids=str)
def test_what_are_no_pairs_is_named(pairs: Any, advising: MetaGraphRecommender) -> None:
    with pytest.raises(DiffmgError, match=r"pairs must be rows \(user id, item id\), but"):
        advising.predict(pairs)


def test_the_score_of_a_recommender_is_the_auc_of_the_test_pairs(advising: MetaGraphRecommender) -> None:
    users = np.arange(USERS)
    pairs = [[f"u{u}", f"i{(u + n) % ITEMS}"] for n in (3, 6) for u in users]
    expected = roc_auc_score(np.repeat([1, 0], USERS), advising.predict(pairs))
    assert advising.score() == pytest.approx(expected, abs=1e-6)


def test_numbered_users_and_items_are_recommended_by_number() -> None:
    graph, task = shop()
    numbered = HeteroGraph.build(graph.num_nodes, {r: graph.edge_index(r) for r in graph.schema.relations})
    items, _ = recommender().fit(numbered, task).recommend([4], k=2)
    assert items.dtype.kind == "i"
