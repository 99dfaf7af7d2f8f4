"""Every number of every card, counted in the files by other means than the package's own readers."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
from pathlib import Path

import numpy as np
import pytest

from diffmg.core.errors import DiffmgError
from diffmg.datasets import DATASETS, Card, load_dataset
from diffmg.datasets._base import read_card
from experiments.data.card_files import stored_files
from real_data import needs_data

CARDS = {name: kind(name).card() for name, kind in DATASETS.items()}
READ = [name for name, card in CARDS.items() if card.files]
GTN, HIN = ("acm", "dblp", "imdb"), ("amazon", "douban", "yelp")
PARTS = ("train", "val", "test")


def root() -> Path:
    return Path(os.environ["DIFFMG_DATA"])


def arrays(name: str) -> dict[str, np.ndarray]:
    """The arrays of the one npz file of a data set."""
    (file,) = (f.name for f in stored_files(CARDS[name]) if f.name.endswith(".npz"))
    with np.load(root() / file, allow_pickle=False) as data:
        return {key: data[key] for key in data.files}


def table(name: str, file: str) -> np.ndarray:
    """The first three columns of a text file, or two if there are no more."""
    (path,) = (f.name for f in stored_files(CARDS[name]) if f.name.endswith(f"/{file}.dat.gz"))
    text = gzip.decompress((root() / path).read_bytes())
    width = 2 if b"," in text[:99] else {"amazon": 4}.get(name, 3)
    return np.fromstring(text.replace(b",", b" "), int, sep=" ").reshape(-1, width)[:, :3]


def code(pairs: np.ndarray) -> np.ndarray:
    """Each pair as one number."""
    return pairs[:, 0].astype(np.int64) * 10**6 + pairs[:, 1]


def test_the_cards_are_there() -> None:
    assert sorted(READ) == sorted((*GTN, *HIN))
    assert set(CARDS) - set(READ) == {"academic", "films", "shop"}


@pytest.mark.parametrize("name", CARDS)
def test_a_card_says_where_from_and_what_to_beware_of(name: str) -> None:
    card = CARDS[name]
    for text in (card.source, card.licence, card.features, card.split, *card.traps):
        assert text == text.strip() != ""
        assert "\n" not in text
    assert card.traps
    assert set(card.parts) == set(PARTS)
    if card.files:
        assert re.fullmatch(r"[0-9a-f]{40}", card.commit)
        assert "no licence file" in card.licence
        assert all(re.fullmatch(r"[0-9a-f]{64}", text) for f in stored_files(card) for text in (f.sha256, f.content))


def test_a_data_set_without_a_card_is_named() -> None:
    with pytest.raises(DiffmgError, match=r"but got no 'cards/nothing.toml'"):
        read_card("nothing")


@pytest.mark.parametrize("name", ["academic", "films", "shop"])
def test_the_numbers_of_made_data_are_right(name: str) -> None:
    card, problem = CARDS[name], load_dataset(name)
    assert card.nodes == problem.graph.num_nodes
    assert card.edges == {relation: matrix.nnz for relation, matrix in problem.graph.adjacency.items()}
    assert {part: sum(counts.values()) for part, counts in card.parts.items()} == {
        part: problem.task.size(part) for part in PARTS
    }
    assert numbers_in(card) <= {x.shape[1] for x in problem.graph.features.values()} | {20, 30, 50}


@needs_data
@pytest.mark.parametrize("name", READ)
def test_hashes_and_rows_are_those_of_the_files(name: str) -> None:
    for file in stored_files(CARDS[name]):
        data = (root() / file.name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == file.sha256
        if file.name.endswith(".gz"):
            text = gzip.decompress(data)
            assert hashlib.sha256(text).hexdigest() == file.content == file.original.sha256
            assert (text.count(b"\n"), len(text)) == (file.rows, file.original.size)


@needs_data
@pytest.mark.parametrize("name", GTN)
def test_the_numbers_of_a_classification_are_right(name: str) -> None:
    card, data = CARDS[name], arrays(name)
    names = data["node_type_names"].tolist()
    assert card.nodes == {t: int((data["node_type"] == i).sum()) for i, t in enumerate(names)}
    assert {r.name: n for r, n in card.edges.items()} == {
        str(t): len(data[f"edge_{t}_row"]) for t in data["edge_type_names"]
    }
    for relation in card.edges:
        kinds = data["node_type"][[data[f"edge_{relation.name}_col"][0], data[f"edge_{relation.name}_row"][0]]]
        assert [names[k] for k in kinds] == [relation.source, relation.target]
    for part, counts in card.parts.items():
        classes, found = np.unique(data[part][:, 1], return_counts=True)
        assert counts == dict(zip(map(str, classes.tolist()), found.tolist(), strict=True))


@needs_data
@pytest.mark.parametrize("name", HIN)
def test_the_numbers_of_a_recommendation_are_right(name: str) -> None:
    card, split = CARDS[name], arrays(name)
    dataset = DATASETS.get(name)
    first = dataset.first_id
    ratings = table(name, dataset.ratings.split(".")[0])
    largest = {dataset.user: int(ratings[:, 0].max()), dataset.item: int(ratings[:, 1].max())}
    counts = {dataset.observed[0]: len(split["observed"]), dataset.observed[1]: len(split["observed"])}
    for file in dataset.files:
        rows = table(name, file.name.split(".")[0])
        for end, column in ((file.first, 0), (file.second, 1)):
            largest[end] = max(largest.get(end, 0), int(rows[:, column].max()))
        counts |= {file.relation: len(rows), file.reverse: len(rows)}
    if dataset.friends:
        pairs = table(name, "user_user")[:, :2]
        counts[dataset.friends] = len(np.union1d(code(pairs), code(pairs[:, ::-1])))
    assert card.nodes == {node_type: number + 1 - first for node_type, number in largest.items()}
    assert {relation.name: count for relation, count in card.edges.items()} == counts
    assert card.parts == {p: {"negative": len(split[f"neg_{p}"]), "positive": len(split[f"pos_{p}"])} for p in PARTS}
    assert card.ratings == {
        "above_3": int((ratings[:, 2] > 3).sum()),
        "others": int((ratings[:, 2] <= 3).sum()),
        "observed": len(split["observed"]),
        "unrated_negatives": unrated(split, ratings[:, :2] - first),
    }


def unrated(split: dict[str, np.ndarray], rated: np.ndarray) -> int:
    negatives = np.concatenate([split[f"neg_{part}"] for part in PARTS])
    return int((~np.isin(code(negatives), code(rated))).sum())


def numbers_in(card: Card) -> set[int]:
    """Numbers of two digits or more in the words of a card."""
    words = " ".join([card.features, card.split, *card.traps])
    return {int(number) for number in re.findall(r"(?<![\w.])\d{2,}", words)}


@needs_data
@pytest.mark.parametrize("name", GTN)
def test_the_numbers_in_the_words_of_a_classification_are_right(name: str) -> None:
    card, data = CARDS[name], arrays(name)
    counted = {len(data["node_type"]), sum(len(data[part]) for part in PARTS), *card.nodes.values()}
    counted.add(int((np.diff(data["feat_indptr"]) == 0).sum()))
    for kind in range(3):
        ids = np.flatnonzero(data["node_type"] == kind)
        assert len(ids) == ids[-1] - ids[0] + 1
        counted |= {int(ids[0]), int(ids[-1])}
    assert numbers_in(card) <= counted | set(card.paper.values())


@needs_data
@pytest.mark.parametrize("name", HIN)
def test_the_numbers_in_the_words_of_a_recommendation_are_right(name: str) -> None:
    card = CARDS[name]
    counted = {
        *card.ratings.values(),
        *card.edges.values(),
        *(f.rows for f in stored_files(card)),
        *card.paper.values(),
    }
    if name == "douban":
        pairs = np.unique(table(name, "user_user")[:, :2], axis=0)
        counted.add(int((~np.isin(code(pairs[:, ::-1]), code(pairs))).sum()))
    assert numbers_in(card) <= counted


def test_the_paper_counts_otherwise_where_the_cards_say_so() -> None:
    """From the appendix of the paper."""
    assert {name: dict(card.paper) for name, card in CARDS.items() if card.paper} == {
        "imdb": {"nodes": 12624},
        "douban": {"movie-actor": 33587},
    }
