from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation, Schema
from diffmg.graph.checks import checked_edges, checked_features, checked_ids, checked_weights
from diffmg.graph.sparse import FixedMatrix

AB = Relation("a", "r", "b")
SIZES = {"a": 3, "b": 2}
SCHEMA = Schema(("a", "b"), (AB,))


def test_edges_come_back_as_long_integers():
    checked = checked_edges(AB, np.array([[0, 2], [1, 0]], np.uint8), SIZES)
    assert checked.dtype == np.int64
    assert checked.tolist() == [[0, 2], [1, 0]]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([[0, 3], [0, 0]], "`0 <= a < 3` must hold, but got 3 at edge 1 .*check the number of 'a' nodes"),
        ([[0, 0], [0, 2]], "`0 <= b < 2` must hold, but got 2 at edge 1"),
        ([[-1, 0], [0, 0]], "`0 <= a < 3` must hold, but got -1 at edge 0"),
        ([[0, 1], [-5, -5]], r"`0 <= b < 2` must hold, but got -5 at edge 0 \(2 such edges\)"),
        ([[0.0, 1.0], [0.0, 1.0]], "must be whole numbers, but got float64; map ids to numbers first"),
        ([[True], [False]], "must be whole numbers, but got bool"),
        ([["x"], ["y"]], "must be whole numbers, but got <U1"),
        ([[], []], "relation 'a -r-> b' must have at least one edge, but got 0; leave it out"),
        ([[0, 1]], r"must be two rows \(sources, targets\), but got shape \(1, 2\)"),
        ([[0, 0], [1, 1], [2, 1]], r"must be two rows \(sources, targets\), but got shape \(3, 2\)"),
        ([0, 1], r"must be two rows \(sources, targets\), but got shape \(2,\)"),
        ([[0, 1], [0]], "edges of 'a -r-> b' must be an array of numbers, but got one that is not"),
    ],
)
def test_bad_edges(edges, message):
    with pytest.raises(DiffmgError, match=message):
        checked_edges(AB, edges, SIZES)


def test_no_weights_stay_none():
    assert checked_weights(AB, None, [[0], [0]]) is None


def test_weights_come_back_as_doubles():
    assert checked_weights(AB, [1, 0], [[0, 1], [0, 1]]).dtype == np.float64


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -0.5], r"must be finite and not negative, but got -0.5 at edge 1 \(1 such edges\)"),
        ([np.nan, 1.0], "must be finite and not negative, but got nan at edge 0"),
        ([np.inf, np.nan], r"must be finite and not negative, but got inf at edge 0 \(2 such edges\)"),
        ([1.0], r"relation 'a -r-> b' needs 2 edge weights, but got shape \(1,\)"),
        ([[1.0], [1.0]], r"needs 2 edge weights, but got shape \(2, 1\)"),
        (["heavy", "light"], "edge weights of 'a -r-> b' must be"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(DiffmgError, match=message):
        checked_weights(AB, weights, [[0, 1], [0, 1]])


def test_sparse_features_stay_sparse():
    checked = checked_features({"a": sp.coo_matrix(np.eye(3)), "b": np.ones((2, 4))}, SCHEMA, SIZES)
    assert isinstance(checked["a"], FixedMatrix)
    assert checked["b"].shape == (2, 4)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([[0.0], [np.nan], [np.nan]], "features of 'a' must be finite, but got 2 NaN or infinite values; fill them"),
        ([[0.0], [np.inf], [1.0]], "must be finite, but got 1 NaN or infinite"),
        (sp.csr_matrix([[0.0], [np.nan], [1.0]]), "must be finite, but got 1 NaN or infinite"),
        (np.ones((2, 4)), r"must be 3 rows of one or more columns, but got shape \(2, 4\)"),
        (sp.csr_matrix((4, 2)), r"must be 3 rows of one or more columns, but got shape \(4, 2\)"),
        (np.ones((3, 0)), r"must be 3 rows of one or more columns, but got shape \(3, 0\)"),
        (np.ones(3), r"must be 3 rows of one or more columns, but got shape \(3,\)"),
        ([["x"], ["y"], ["z"]], "features of 'a' must be"),
    ],
)
def test_bad_features(features, message):
    with pytest.raises(DiffmgError, match=message):
        checked_features({"a": features}, SCHEMA, SIZES)


def test_features_of_an_unknown_type():
    with pytest.raises(DiffmgError, match="unknown node type 'c'"):
        checked_features({"c": np.ones((3, 1))}, SCHEMA, SIZES)


@pytest.mark.parametrize("ids", [["x", "y", "z"], [7, 3, 5]])
def test_ids_keep_their_kind_and_order(ids):
    assert checked_ids({"a": ids}, SCHEMA, SIZES)["a"].tolist() == ids


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["x", "y", "x"], r"ids of 'a' must be unique, but got \['x'\] more than once"),
        ([1, 1, 1], r"ids of 'a' must be unique, but got \[1\] more than once"),
        ([1, 2], r"type 'a' needs 3 ids, one per node, but got shape \(2,\)"),
        ([[1, 2, 3]], r"type 'a' needs 3 ids, one per node, but got shape \(1, 3\)"),
        (np.array(["x", 1, 2], object), "ids of 'a' must be"),
    ],
)
def test_bad_ids(ids, message):
    with pytest.raises(DiffmgError, match=message):
        checked_ids({"a": ids}, SCHEMA, SIZES)


def test_ids_of_an_unknown_type():
    with pytest.raises(DiffmgError, match="unknown node type 'c'"):
        checked_ids({"c": [1]}, SCHEMA, SIZES)
