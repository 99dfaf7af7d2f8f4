from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from diffmg.core.schema import Relation
from diffmg.graph.fingerprint import fingerprint, graph_fingerprint
from diffmg.graph.network import HeteroGraph

AB = Relation("a", "r", "b")


def graph_of(edges=((0, 1), (1, 0)), **more) -> HeteroGraph:
    return HeteroGraph.build({"a": 3, "b": 2}, {AB: edges}, **more)


def test_is_sixteen_hex_digits():
    assert len(fingerprint("x")) == 16
    assert int(fingerprint("x"), 16) >= 0


def test_same_parts_same_hash():
    assert fingerprint("x", np.arange(3), torch.ones(2)) == fingerprint("x", np.arange(3), torch.ones(2))


def test_a_tensor_counts_as_its_array():
    assert fingerprint(torch.arange(3)) == fingerprint(np.arange(3))


@pytest.mark.parametrize(
    "other",
    [
        ("y", np.arange(6)),
        (np.arange(6), "x"),
        ("x", np.arange(6).astype(np.int32)),
        ("x", np.arange(6).reshape(2, 3)),
        ("x", np.arange(6)[::-1]),
        ("x",),
    ],
)
def test_other_text_order_kind_shape_or_value_changes_the_hash(other):
    assert fingerprint("x", np.arange(6)) != fingerprint(*other)


@pytest.mark.parametrize("kind", [str, object])
def test_arrays_of_strings(kind):
    one, other = np.array(["x", "y"], kind), np.array(["x", "z"], kind)
    assert fingerprint(one) == fingerprint(one.copy())
    assert fingerprint(one) != fingerprint(other)


def test_layout_in_memory_does_not_matter():
    rows = np.arange(6).reshape(2, 3)
    assert fingerprint(rows) == fingerprint(np.asfortranarray(rows))


def test_order_of_edges_does_not_matter():
    assert graph_fingerprint(graph_of([[0, 1], [1, 0]])) == graph_fingerprint(graph_of([[1, 0], [0, 1]]))


@pytest.mark.parametrize(
    "other",
    [
        graph_of([[0, 2], [1, 0]]),
        graph_of(weights={AB: [1.0, 2.0]}),
        graph_of(features={"a": np.ones((3, 1))}),
        graph_of(features={"a": sp.csr_matrix(np.ones((3, 1)))}),
        graph_of(ids={"a": ["x", "y", "z"]}),
        graph_of(reverse=True),
        HeteroGraph.build({"a": 4, "b": 2}, {AB: [[0, 1], [1, 0]]}),
        HeteroGraph.build({"a": 3, "b": 2}, {("a", "other", "b"): [[0, 1], [1, 0]]}),
    ],
)
def test_any_change_of_the_network_changes_the_hash(other):
    assert graph_fingerprint(other) != graph_fingerprint(graph_of())


def test_a_sparse_column_of_zeros_changes_the_hash():
    narrow, wide = (graph_of(features={"a": sp.csr_matrix(np.eye(3, n))}) for n in (3, 4))
    assert graph_fingerprint(narrow) != graph_fingerprint(wide)
