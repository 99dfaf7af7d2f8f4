from __future__ import annotations

import numpy as np
import pytest

from diffmg.core.metagraph import MetaGraph
from diffmg.core.schema import Relation
from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.datasets.academic import PUBLISHES, WRITTEN_BY, Academic, make_academic
from diffmg.training import Training
from resuming import run


def test_five_types_and_twelve_relations(classification):
    assert len(classification.graph.schema.node_types) == 5
    assert len(classification.graph.schema.relations) == 12


def test_every_relation_has_its_reverse(classification):
    graph = classification.graph
    for relation in graph.schema.relations:
        back = [r for r in graph.schema.relations if (r.source, r.target) == (relation.target, relation.source)]
        assert any((graph.adjacency[relation] != graph.adjacency[r].T).nnz == 0 for r in back)


def test_fields_are_balanced(classification):
    assert np.ptp(np.bincount(classification.task.labels)) <= 1


def test_every_author_is_in_one_part(classification):
    parts = np.concatenate([classification.task.parts[p] for p in ("train", "val", "test")])
    assert sorted(parts) == list(range(classification.graph.num_nodes["author"]))


def test_planted_path_is_of_the_network():
    assert (PUBLISHES, WRITTEN_BY) in Academic.planted[0].paths()


def score_of(metagraph: MetaGraph) -> float:
    job = Training(load_dataset("academic:1000"), [metagraph], Settings(dim=16, max_epochs=40), 0)
    run(job)
    return job.best_score


def test_the_planted_path_tells_the_field_and_the_authors_features_do_not():
    assert score_of(Academic.planted[0]) > 0.6
    assert score_of(MetaGraph.features_only("author")) < 0.4


def test_distractors_do_not_tell_the_field(classification):
    """None of them touches a venue, the only type with telling features."""
    planted = {PUBLISHES, WRITTEN_BY, Relation("author", "writes", "paper"), Relation("paper", "published_in", "venue")}
    distractors = set(classification.graph.schema.relations) - planted
    assert len(distractors) == 8
    assert all("venue" not in (r.source, r.target) for r in distractors)


def test_a_large_network_has_its_counts():
    graph = load_dataset("academic:2e5").graph
    assert sum(graph.num_nodes.values()) == 200_000
    assert graph.num_nodes["author"] == 60_000
    assert graph.adjacency[PUBLISHES].nnz == graph.num_nodes["paper"]
    assert graph.adjacency[Relation("institution", "employs", "author")].nnz == 60_000


def test_a_harder_variant_adds_distractors_and_wrong_training_labels():
    plain, harder = make_academic(400, 3), make_academic(400, 3, distractors=2, label_noise=0.2)
    assert len(harder.graph.schema.relations) == len(plain.graph.schema.relations) + 8
    for relation in plain.graph.schema.relations:
        assert (plain.graph.adjacency[relation] != harder.graph.adjacency[relation]).nnz == 0
    wrong = (plain.task.labels != harder.task.labels).numpy()
    train = plain.task.parts["train"].numpy()
    assert wrong[train].mean() == pytest.approx(0.2, abs=0.02)
    assert wrong.sum() == wrong[train].sum(), "others stay right"
    assert all(np.array_equal(plain.task.parts[p], harder.task.parts[p]) for p in ("train", "val", "test"))
