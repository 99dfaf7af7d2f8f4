from __future__ import annotations

import gzip
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from diffmg.core.errors import DiffmgError, MissingDataError
from diffmg.core.schema import Relation
from diffmg.datasets.hin import EdgeFile, HinDataset
from diffmg.tasks import Recommendation
from diffmg.tasks.problem import Problem

FILES = {"user_user.dat.gz": "1\t2\t1\n3\t1\t1\n", "item_brand.dat.gz": "1,2\n2,2\n4,1\n"}
SPLIT = {
    "observed": [[0, 0], [1, 3]],
    "pos_train": [[0, 1]],
    "neg_train": [[0, 2]],
    "pos_val": [[1, 1]],
    "neg_val": [[1, 2]],
    "pos_test": [[2, 1]],
    "neg_test": [[2, 2]],
}


ROWS = [(1, 1, 5), (1, 2, 4), (1, 3, 1), (2, 1, 2), (2, 2, 5), (2, 4, 4), (3, 1, 5), (3, 2, 4), (3, 3, 5), (3, 4, 4)]
RATED = "".join(f"{user}\t{item}\t{stars}\n" for user, item, stars in ROWS)


class Tiny(HinDataset):
    """Three users, four items, two brands, counted from 1."""

    summary = "tiny"
    folder = "Tiny"
    first_id = 1
    num_nodes: ClassVar = {"user": 3, "item": 4, "brand": 2}
    user, item = "user", "item"
    ratings, seeds = "user_item.dat.gz", (1, 2)
    observed = ("UI", "IU")
    friends = "UU"
    files = (EdgeFile("item_brand.dat.gz", "item", "brand", "IB", "BI", ","),)


def write(root: Path, **changed: bytes | None) -> Path:
    """The files of the data set, some of them changed or left out; a key is a file name up to its first dot."""
    folder = root / "Tiny"
    folder.mkdir()
    np.savez(folder / "split.npz", **{key: np.array(rows, np.int32) for key, rows in SPLIT.items()})
    for name, text in FILES.items():
        (folder / name).write_bytes(gzip.compress(text.encode()))
    for name in ("split.npz", *FILES):
        key = name.partition(".")[0]
        if key in changed:
            (folder / name).unlink()
            if changed[key] is not None:
                (folder / name).write_bytes(changed[key])
    return root


@pytest.fixture
def tiny(tmp_path: Path) -> Problem:
    return Tiny("tiny").load(root=write(tmp_path))


def matrix(problem: Problem, *relation: str) -> list[list[float]]:
    """Rows are the type that messages go to."""
    return problem.graph.adjacency[Relation(*relation)].toarray().tolist()


def test_ids_are_counted_as_in_the_files(tiny: Problem) -> None:
    assert {t: i.tolist() for t, i in tiny.graph.ids.items()} == {
        "user": [1, 2, 3],
        "item": [1, 2, 3, 4],
        "brand": [1, 2],
    }


def test_a_file_gives_a_relation_and_its_reverse(tiny: Problem) -> None:
    expected = [[0, 1], [0, 1], [0, 0], [1, 0]]
    assert matrix(tiny, "brand", "IB", "item") == expected
    assert matrix(tiny, "item", "BI", "brand") == np.transpose(expected).tolist()


def test_only_observed_pairs_are_edges_and_they_are_counted_from_zero(tiny: Problem) -> None:
    assert matrix(tiny, "item", "UI", "user") == [[1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert matrix(tiny, "user", "IU", "item") == np.transpose(matrix(tiny, "item", "UI", "user")).tolist()


def test_friends_are_made_symmetric(tiny: Problem) -> None:
    assert matrix(tiny, "user", "UU", "user") == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]


def test_the_split_is_the_task(tiny: Problem) -> None:
    task = tiny.task
    assert isinstance(task, Recommendation)
    assert (task.user, task.item, task.shape) == ("user", "item", (3, 4))
    assert [task.size(part) for part in ("train", "val", "test")] == [2, 2, 2]
    assert sorted(zip(*task.seen.nonzero(), strict=True)) == [(0, 0), (1, 3)]
    assert task.known(("test",))[2].indices.tolist() == [1]


def test_no_node_has_features(tiny: Problem) -> None:
    assert tiny.graph.features == {}


@pytest.mark.parametrize(("key", "name"), [(n.partition(".")[0], n) for n in ("split.npz", *FILES)])
def test_a_missing_file_is_named(key: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=rf"the file 'Tiny/{name}' must be under --data-root"):
        Tiny("tiny").load(root=write(tmp_path, **{key: None}))


@pytest.mark.parametrize(
    "damage",
    [
        b"this is not gzip",
        gzip.compress(b"1,2\n2,2\n" * 99)[:-12],
        gzip.compress(b""),
        gzip.compress(b"1\n2\n"),
        gzip.compress(b"one,two\n"),
        gzip.compress(b"1,2\n2\n"),
        gzip.compress(b"1,\n2,2\n"),
        gzip.compress(b"1.5,2\n"),
    ],
    ids=["no gzip", "cut off", "empty", "one column", "words", "ragged", "hole", "fraction"],
)
def test_a_damaged_file_of_edges_is_named(damage: bytes, tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=r"item_brand\.dat\.gz"):
        Tiny("tiny").load(root=write(tmp_path, item_brand=damage))


def test_an_edge_outside_the_network_is_named(tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=r"edges of 'brand -IB-> item': `0 <= item < 4`"):
        Tiny("tiny").load(root=write(tmp_path, item_brand=gzip.compress(b"5,1\n")))


@pytest.mark.parametrize("damage", [b"", b"this is not an archive"], ids=["empty", "text"])
def test_a_damaged_split_is_named(damage: bytes, tmp_path: Path) -> None:
    with pytest.raises(DiffmgError, match=r"split\.npz"):
        Tiny("tiny").load(root=write(tmp_path, split=damage))


def test_a_split_without_one_of_its_parts_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    parts = {key: np.array(rows, np.int32) for key, rows in SPLIT.items() if key != "neg_val"}
    np.savez(tmp_path / "Tiny" / "split.npz", **parts)
    with pytest.raises(DiffmgError, match=r"neg_val"):
        Tiny("tiny").load(root=tmp_path)


def test_a_fresh_split_is_drawn_from_the_ratings(tmp_path: Path) -> None:
    root = write(tmp_path, split=None)
    (root / "Tiny" / "user_item.dat.gz").write_bytes(gzip.compress(RATED.encode()))
    one, same, other = (Tiny("tiny").with_split(seed).load(root=root) for seed in (7, 7, 8))
    assert one.task.digests({}) == same.task.digests({}) != other.task.digests({})
    liked = {(u - 1, i - 1) for u, i, stars in ROWS if stars > 3}
    edges = set(zip(*one.graph.adjacency[Relation("item", "UI", "user")].nonzero(), strict=True))
    assert edges < liked
    assert len(edges) == len(liked) / 2
    assert matrix(one, "user", "IU", "item") == np.transpose(matrix(one, "item", "UI", "user")).tolist()


def test_the_ratings_of_a_fresh_split_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"the file 'Tiny/user_item.dat.gz' must be"):
        Tiny("tiny").with_split(7).load(root=write(tmp_path))


@pytest.mark.parametrize("text", ["1\t2\n", "1\t2\tgood\n", "9\t2\t5\n"])
def test_ratings_that_are_none_are_named(text: str, tmp_path: Path) -> None:
    root = write(tmp_path)
    (root / "Tiny" / "user_item.dat.gz").write_bytes(gzip.compress(text.encode()))
    with pytest.raises(DiffmgError, match=r"user_item.dat.gz|the pair \[8, 1\]"):
        Tiny("tiny").with_split(7).load(root=root)
