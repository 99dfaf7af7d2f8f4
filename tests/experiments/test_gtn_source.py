from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation
from diffmg.datasets import DATASETS
from experiments.data.card_files import stored_files
from experiments.data.convert import convert
from experiments.data.digest import content_digest
from experiments.data.gtn_source import papers_first, read_source
from originals import PA, archive, gtn_members, tiny_gtn
from real_data import needs_data

RELATIONS = (Relation("author", "PA", "paper"), Relation("paper", "AP", "author"))


def read(tmp_path: Path, given: dict[str, Any]) -> dict[str, Any]:
    (tmp_path / "gtn.zip").write_bytes(archive(given))
    return read_source(tmp_path / "gtn.zip", RELATIONS)


def test_pickles_become_plain_arrays(tmp_path: Path) -> None:
    found = read(tmp_path, tiny_gtn())
    assert {key: value.tolist() for key, value in found.items()} == {
        "num_nodes": 5,
        "node_type": [1, 1, 1, 0, 0],
        "node_type_names": ["paper", "author"],
        "edge_type_names": ["PA", "AP"],
        "edge_PA_row": [3, 3, 4],
        "edge_PA_col": [0, 1, 2],
        "edge_AP_row": [0, 1, 2],
        "edge_AP_col": [3, 3, 4],
        "train": [[0, 1]],
        "val": [[1, 0]],
        "test": [[2, 1]],
        "feat_indptr": [0, 1, 1, 3, 4, 4],
        "feat_indices": [0, 0, 1, 1],
        "feat_shape": [5, 2],
    }


@pytest.mark.parametrize("form", ["csc", "coo"])
def test_the_form_of_matrices_does_not_matter(form: str, tmp_path: Path) -> None:
    given = tiny_gtn()
    other = given | {
        "edges.pkl": dict(enumerate(m.asformat(form) for m in given["edges.pkl"])),
        "labels.pkl": tuple(np.array(rows, float) for rows in given["labels.pkl"]),
        "node_features.pkl": sp.csr_matrix(given["node_features.pkl"]).asformat(form),
    }
    one, same = read(tmp_path, given), read(tmp_path, other)
    assert {k: v.tolist() for k, v in one.items()} == {k: v.tolist() for k, v in same.items()}
    assert [v.dtype for v in one.values()] == [v.dtype for v in same.values()]


def test_types_as_the_program_of_the_paper_supposes_them(tmp_path: Path) -> None:
    assert papers_first(read(tmp_path, tiny_gtn())).tolist() == [0, 0, 1, 1, 1]


MIXED = sp.csr_matrix(([1.0], ([0], [3])), shape=(5, 5))
LONELY = sp.csr_matrix(([1.0], ([3], [0])), shape=(5, 5))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("edges.pkl", [PA], r"must hold 2 square matrices of one size, but got"),
        ("edges.pkl", "text", r"must hold 2 square matrices of one size, but got str"),
        ("edges.pkl", [PA, PA[:4]], r"must hold 2 square matrices of one size, but got \[\(4, 5\), \(5, 5\)\]"),
        ("edges.pkl", [PA[:4], PA[:4]], r"must hold 2 square matrices"),
        ("edges.pkl", [PA, MIXED + PA.T.tocsr() @ MIXED + PA], r"every node must be of one type, but got another"),
        ("edges.pkl", [LONELY, LONELY.T.tocsr()], r"every node must have an edge, .* but got 3 without"),
        ("labels.pkl", [[[0, 1]]], r"'labels.pkl' of .* must hold three parts, but got list"),
        ("labels.pkl", [[[0]], [[1, 0]], [[2, 1]]], r"train of .* must be rows \(node, class\)"),
        ("labels.pkl", [[[0, 0.5]], [[1, 0]], [[2, 1]]], r"train of .* must be rows \(node, class\)"),
        ("labels.pkl", [[[0, 1]], [[5, 0]], [[2, 1]]], r"val of .* must have `0 <= node < 5`, but got \[5 0\]"),
        ("node_features.pkl", np.ones((4, 2)), r"must have a row for each of 5 nodes, but got \(4, 2\)"),
        ("node_features.pkl", "text", r"must have a row for each of 5 nodes, but got str"),
        ("node_features.pkl", np.full((5, 2), 0.5), r"features of .* must be 0 and 1, but got \[0.5\]"),
    ],
)
def test_what_is_not_as_published_is_named(name: str, value: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=words):
        read(tmp_path, tiny_gtn() | {name: value})


@needs_data
@pytest.mark.parametrize(("name", "dense"), [("dblp", True), ("acm", False), ("imdb", False)])
def test_the_networks_of_the_paper_come_back_from_their_original_form(name: str, dense: bool, tmp_path: Path) -> None:
    dataset = DATASETS.get(name)(name)
    (stored,) = stored_files(dataset.card())
    with np.load(Path(os.environ["DIFFMG_DATA"]) / stored.name, allow_pickle=False) as file:
        (tmp_path / "gtn.zip").write_bytes(archive(gtn_members(file, dense=dense), folder=f"gtn-{name}/"))
        expected = {key: file[key] for key in file.files}
    convert(dataset, {stored.original.path: tmp_path / "gtn.zip"}, tmp_path)
    with np.load(tmp_path / stored.name, allow_pickle=False) as file:
        assert set(file.files) == set(expected)
        for key, array in expected.items():
            assert file[key].dtype == array.dtype, key
            np.testing.assert_array_equal(file[key], array, err_msg=key)
    assert content_digest(tmp_path / stored.name) == stored.content
