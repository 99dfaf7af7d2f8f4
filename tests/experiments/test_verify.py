from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from diffmg.datasets import DATASETS, load_dataset
from diffmg.tasks.problem import Problem
from experiments.data.card_files import stored_files
from experiments.data.verify import differences, verify_dataset
from real_data import needs_data


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of one data set that may be changed."""
    shutil.copytree(Path(os.environ["DIFFMG_DATA"]) / "Amazon", tmp_path / "Amazon")
    for path in [tmp_path / "Amazon", *(tmp_path / "Amazon").iterdir()]:
        path.chmod(0o755)
    return tmp_path


def states(root: Path) -> dict[str, str]:
    return {check.what: check.state for check in verify_dataset("amazon", root)}


@needs_data
@pytest.mark.parametrize("name", ["acm", "amazon", "dblp", "douban", "imdb", "yelp"])
def test_the_files_of_the_paper_are_as_the_cards_say(name: str) -> None:
    checks = verify_dataset(name)
    assert [(check.what, check.state, check.note) for check in checks] == [
        *((file.name, "ok", "") for file in stored_files(DATASETS.get(name)(name).card())),
        ("counts", "ok", ""),
    ]


@pytest.mark.parametrize("name", ["academic", "shop"])
def test_made_data_have_counts_only(name: str) -> None:
    assert [(check.what, check.state) for check in verify_dataset(name)] == [("counts", "ok")]


def test_files_that_are_missing_are_told(tmp_path: Path) -> None:
    assert set(states(tmp_path).values()) == {"missing"}


@needs_data
def test_one_missing_file_leaves_the_others_checked(copy: Path) -> None:
    (copy / "Amazon/item_view.dat.gz").unlink()
    found = states(copy)
    assert [what for what, state in found.items() if state == "missing"] == ["Amazon/item_view.dat.gz", "counts"]
    assert [what for what, state in found.items() if state == "differs"] == []


def damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def drop_a_pair(path: Path) -> None:
    with np.load(path) as file:
        data = {key: file[key] for key in file.files}
    np.savez(path, **(data | {"neg_test": data["neg_test"][1:]}))


@needs_data
@pytest.mark.parametrize(
    ("change", "file", "counts"),
    [
        (damage, "item_brand.dat.gz", r"item_brand.dat.gz"),
        (damage, "split.npz", r"split.npz"),
        (drop_a_pair, "split.npz", r"test of 'negative' must be 14623, but got 14622"),
    ],
)
def test_what_differs_is_told(change: Callable[[Path], None], file: str, counts: str, copy: Path) -> None:
    change(copy / "Amazon" / file)
    checks = {check.what: check for check in verify_dataset("amazon", copy)}
    assert {what for what, check in checks.items() if check.state == "differs"} == {f"Amazon/{file}", "counts"}
    assert counts in checks["counts"].note
    assert checks[f"Amazon/{file}"].note


@needs_data
def test_other_packing_is_no_difference(copy: Path) -> None:
    with np.load(copy / "Amazon/split.npz") as file:
        data = {key: file[key] for key in file.files}
    np.savez(copy / "Amazon/split.npz", **data)
    (check,) = (c for c in verify_dataset("amazon", copy) if c.what == "Amazon/split.npz")
    assert (check.state, check.note) == ("ok", "same content, packed otherwise")


def test_every_count_is_compared(classification: Problem) -> None:
    card = DATASETS.get("academic")("academic").card()
    problem = load_dataset("academic")
    assert list(differences(card, problem)) == []
    relation = next(iter(card.edges))
    changed = replace(
        card,
        nodes=dict(card.nodes) | {"paper": 7, "ghost": 1},
        edges=dict(card.edges) | {relation: 8},
        parts=dict(card.parts) | {"val": {"field 0": 9}},
    )
    found = list(differences(changed, problem))
    assert found[:3] == [
        "nodes of 'paper' must be 7, but got 1800",
        "nodes of 'ghost' must be 1, but got None",
        f"edges of '{relation}' must be 8, but got {card.edges[relation]}",
    ]
    assert len(found) == 3 + 4
    assert list(differences(card, classification)) != []


def test_classes_are_counted_by_part(classification: Problem, recommendation: Problem) -> None:
    counts = classification.task.counts()
    assert {part: sum(c.values()) for part, c in counts.items()} == {p: classification.task.size(p) for p in counts}
    assert list(counts["train"]) == ["field 0", "field 1", "field 2", "field 3"]
    for part, balanced in recommendation.task.counts().items():
        assert balanced["positive"] == balanced["negative"] == recommendation.task.size(part) / 2
