from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from diffmg.core.schema import Relation
from diffmg.runs.provenance import data_of
from experiments.networks import NETWORKS

ALL = {name: make(0) for name, make in NETWORKS.items()}


def labels(problem, part: str) -> np.ndarray:
    return problem.task.labels[problem.task.parts[part]].numpy()


def mean_of(problem, relation: Relation, values: np.ndarray) -> np.ndarray:
    """The mean over a node's neighbours, looked up one by one; zero without any."""
    means = np.zeros((problem.graph.num_nodes[relation.target], values.shape[1]))
    source, target = problem.graph.edge_index(relation)
    for node in np.unique(target):
        means[node] = values[source[target == node]].mean(axis=0)
    return means


def learned(problem, inputs: np.ndarray) -> float:
    """Test accuracy, minus that of the most frequent class, of a logistic regression."""
    train, test = (problem.task.parts[part].numpy() for part in ("train", "test"))
    model = LogisticRegression(max_iter=500, C=0.1).fit(inputs[train], labels(problem, "train"))
    usual = np.bincount(labels(problem, "train")).argmax()
    return (model.predict(inputs[test]) == labels(problem, "test")).mean() - (labels(problem, "test") == usual).mean()


def own(problem) -> np.ndarray:
    return problem.graph.features[problem.task.target].numpy()


@pytest.mark.parametrize("name", NETWORKS)
def test_sizes_are_those_of_small_real_data(name):
    graph, task = ALL[name].graph, ALL[name].task
    assert sum(graph.num_nodes.values()) <= 3000
    assert len(graph.num_nodes) >= 4
    assert 4 <= len(graph.schema.relations) <= 8
    assert 300 <= task.size("train") <= 600
    assert 200 <= task.size("val") <= 300
    assert sum(map(task.size, ("train", "val", "test"))) == graph.num_nodes[task.target]


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_depend_on_the_seed_alone(name):
    assert data_of(NETWORKS[name](0)).hash == data_of(ALL[name]).hash != data_of(NETWORKS[name](1)).hash


@pytest.mark.parametrize("name", NETWORKS)
def test_numbers_of_neighbours_are_spread(name):
    for adjacency in ALL[name].graph.adjacency.values():
        degrees = np.diff(adjacency.tocsr().indptr)
        assert degrees.max() > 3 * degrees.mean()


def test_features_tell_the_class_in_one_network_only():
    gains = {name: learned(problem, own(problem)) for name, problem in ALL.items()}
    assert gains.pop("features_only") > 0.4
    assert max(gains.values()) < 0.1


def test_cited_papers_share_topics_and_nothing_else_does():
    problem, same = ALL["homophily"], {}
    topic = problem.task.labels.numpy()
    for relation in problem.graph.schema.relations:
        there = problem.graph.adjacency[relation]
        if relation.target == "paper":
            both = (there @ there.T if relation.source != "paper" else there).tocoo()
            apart = both.row != both.col
            same[relation.name] = (topic[both.row] == topic[both.col])[apart].mean()
    assert same.pop("cited_by") > 0.7
    assert same.pop("cites") > 0.7
    assert len(same) == 3
    assert max(same.values()) < 0.35
    assert "keyword" not in problem.graph.features


def test_features_of_one_relation_tell_the_class():
    problem = ALL["one_relation"]
    gains = {
        r.name: learned(problem, mean_of(problem, r, problem.graph.features[r.source].numpy()))
        for r in problem.graph.schema.relations
        if r.target == "customer"
    }
    assert gains.pop("sells_to") > 0.15
    assert len(gains) == 4
    assert max(gains.values()) < 0.05
    shares = np.bincount(problem.task.labels) / len(problem.task.labels)
    assert shares.max() / shares.min() >= 5


def test_two_relations_lead_to_what_tells_the_class():
    problem = ALL["two_hops"]
    drugs = problem.graph.features["drug"].numpy()
    near = mean_of(problem, Relation("drug", "part_of", "treatment"), drugs)
    helps = Relation("treatment", "helps", "patient")
    assert learned(problem, mean_of(problem, helps, near)) > 0.3
    assert learned(problem, mean_of(problem, helps, problem.graph.features["treatment"].numpy())) < 0.1


def test_the_number_of_alarms_tells_the_class_and_other_numbers_do_not():
    problem, gains = ALL["numbers"], {}
    for relation, adjacency in problem.graph.adjacency.items():
        if relation.target == "machine":
            gains[relation.name] = learned(problem, np.log1p(np.diff(adjacency.tocsr().indptr))[:, None])
    assert gains.pop("raised_by") > 0.3
    assert len(gains) == 3
    assert max(gains.values()) < 0.05


def test_of_nothing_no_neighbour_tells_the_class():
    problem = ALL["nothing"]
    for relation in problem.graph.schema.relations:
        if relation.target == "post":
            found = mean_of(problem, relation, problem.graph.features[relation.source].numpy())
            assert learned(problem, found) < 0.05
