from __future__ import annotations

from itertools import pairwise

import pytest

from diffmg.core import IDENTITY, compile_program
from diffmg.datasets import load_dataset
from diffmg.datasets.academic import PUBLISHES, WRITTEN_BY
from diffmg.methods._promising import metagraph_of, promising_paths


def test_the_planted_path_comes_first():
    assert promising_paths(load_dataset("academic:1500"), 3)[0] == (PUBLISHES, WRITTEN_BY)


def test_every_path_leads_to_the_target_and_is_as_short_as_asked(classification):
    paths = promising_paths(classification, 2)
    assert {len(path) for path in paths} == {1, 2}
    assert all(path[-1].target == "author" for path in paths)
    assert all(a.target == b.source for path in paths for a, b in pairwise(path))
    assert len(set(paths)) == len(paths)


def test_test_labels_play_no_part(classification):
    other = classification.task.with_other_test_labels()
    changed = type(classification)(classification.graph, other)
    assert promising_paths(changed, 3) == promising_paths(classification, 3)


def test_pairs_have_none(recommendation):
    assert promising_paths(recommendation, 2) == []


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_meta_graph_holds_its_paths_and_the_own_features(classification, count):
    paths = promising_paths(classification, 3)[:count]
    metagraph = metagraph_of(paths, "author", most=9)
    assert set(paths) <= metagraph.paths()
    assert IDENTITY in metagraph[metagraph.depth, 0]
    assert compile_program(metagraph).steps


def test_no_link_has_more_operations_than_asked(classification):
    metagraph = metagraph_of(promising_paths(classification, 2), "author", most=2)
    assert max(len(operations) for _, operations in metagraph.items()) == 2
