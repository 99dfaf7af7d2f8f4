from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation
from diffmg.datasets.gtn import GtnDataset
from diffmg.tasks import NodeClassification
from diffmg.tasks.problem import Problem

AP, PA = Relation("paper", "AP", "author"), Relation("author", "PA", "paper")
LABELS = {"train": [[4, 0], [2, 1]], "val": [[0, 1]], "test": [[3, 0]]}


class Tiny(GtnDataset):
    """Authors 0, 2, 3, 4 and 6, papers 1 and 5: numbers are given over all types."""

    summary = "tiny"
    folder = "Tiny"
    relations = (PA, AP)
    target = "author"
    classes = ("arts", "sciences")


def arrays() -> dict[str, Any]:
    """Row is the type that messages go to: relation AP has authors in rows, papers in columns."""
    authors, papers = np.array([0, 2, 3, 6]), np.array([5, 1, 5, 1])
    return {
        "num_nodes": 7,
        "node_type": np.array([1, 0, 1, 1, 1, 0, 1], np.int8),
        "node_type_names": np.array(["paper", "author"]),
        "edge_AP_row": authors,
        "edge_AP_col": papers,
        "edge_PA_row": papers,
        "edge_PA_col": authors,
        "feat_indptr": np.array([0, 1, 1, 3, 3, 3, 4, 4]),
        "feat_indices": np.array([2, 0, 1, 2]),
        "feat_shape": np.array([7, 3]),
    } | {part: np.array(rows, np.int32) for part, rows in LABELS.items()}


def write(root: Path, data: dict[str, Any]) -> Path:
    (root / "Tiny").mkdir(exist_ok=True)
    np.savez(root / "Tiny" / "graph.npz", **data)
    return root


@pytest.fixture
def tiny(tmp_path: Path) -> Problem:
    return Tiny("tiny").load(root=write(tmp_path, arrays()))


def test_nodes_are_numbered_within_their_type_and_keep_their_ids(tiny: Problem) -> None:
    assert tiny.graph.num_nodes == {"paper": 2, "author": 5}
    assert {t: i.tolist() for t, i in tiny.graph.ids.items()} == {"paper": [1, 5], "author": [0, 2, 3, 4, 6]}


def test_messages_go_from_column_to_row(tiny: Problem) -> None:
    assert tiny.graph.adjacency[AP].toarray().tolist() == [[0, 1], [1, 0], [0, 1], [0, 0], [1, 0]]
    assert (tiny.graph.adjacency[PA].toarray() == tiny.graph.adjacency[AP].toarray().T).all()


def test_features_go_with_their_nodes(tiny: Problem) -> None:
    features = {t: x.forward.to_dense().tolist() for t, x in tiny.graph.features.items()}
    assert features["paper"] == [[0, 0, 0], [0, 0, 1]]
    assert features["author"] == [[0, 0, 1], [1, 1, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]


def test_labels_and_split_go_with_their_nodes(tiny: Problem) -> None:
    task = tiny.task
    assert isinstance(task, NodeClassification)
    assert task.labels.tolist() == [1, 1, 0, 0, -1]
    assert {part: index.tolist() for part, index in task.parts.items()} == {"train": [3, 1], "val": [0], "test": [2]}
    assert task.classes == ("arts", "sciences")


def test_a_file_that_is_no_archive_is_named(tmp_path: Path) -> None:
    write(tmp_path, {})
    for damage in (b"", b"this is not an archive", (tmp_path / "Tiny" / "graph.npz").read_bytes()[:-5]):
        (tmp_path / "Tiny" / "graph.npz").write_bytes(damage)
        with pytest.raises(DiffmgError, match=r"graph\.npz"):
            Tiny("tiny").load(root=tmp_path)


def test_an_archive_cut_in_half_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, arrays()) / "Tiny" / "graph.npz"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DiffmgError, match=r"graph\.npz"):
        Tiny("tiny").load(root=tmp_path)


@pytest.mark.parametrize("key", ["node_type_names", "edge_AP_row", "feat_indptr", "train"])
def test_an_archive_without_one_of_its_arrays_is_named(key: str, tmp_path: Path) -> None:
    data = arrays()
    del data[key]
    with pytest.raises(DiffmgError, match=rf"{key}"):
        Tiny("tiny").load(root=write(tmp_path, data))


def test_an_archive_of_pickles_is_not_read(tmp_path: Path) -> None:
    data = arrays() | {"node_type_names": np.array(["paper", "author"], dtype=object)}
    with pytest.raises(DiffmgError, match=r"graph\.npz"):
        Tiny("tiny").load(root=write(tmp_path, data))
