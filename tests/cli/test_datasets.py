from __future__ import annotations

from pathlib import Path

import pytest

from diffmg.datasets import DATASETS
from diffmg.datasets._base import read_card
from real_data import needs_data
from run_files import diffmg


def row(text: str, *first: str) -> list[str]:
    """The cells of the table row that starts with these."""
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in text.splitlines() if line.startswith("│")]
    (found,) = (cells for cells in rows if tuple(cells[: len(first)]) == first)
    return found


def test_data_sets_are_listed_without_their_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DIFFMG_DATA", raising=False)
    answer = diffmg("datasets")
    assert answer.code == 0
    assert all(name in answer.out for name in DATASETS.names())


def test_one_data_set_is_shown_with_types_relations_and_split() -> None:
    shown = diffmg("datasets", "academic:400").out
    assert row(shown, "author") == ["author", "1200", "120", "16", "0"]
    assert row(shown, "written_by")[:4] == ["written_by", "paper", "author", "5987"]
    assert row(shown, "test", "field 3")[2] == "156"
    assert "task: classification of author; train 36, val 24, test 60; chosen by macro_f1" in shown


def test_types_without_features_and_isolated_nodes_are_shown() -> None:
    shown = diffmg("datasets", "shop:400").out
    assert row(shown, "city")[3] == "none"
    assert "task: recommendation of user and item; train 644, val 214, test 216; chosen by auc" in shown


@pytest.mark.parametrize("name", DATASETS.names())
def test_a_card_is_shown_without_files(name: str, tmp_path: Path) -> None:
    answer = diffmg("datasets", name, "--data-root", tmp_path)
    assert answer.code == 0
    card = read_card(name)
    for text in (card.source, card.licence, card.split, card.repository, card.commit, *card.traps):
        assert text in answer.out
    for node_type, count in card.nodes.items():
        assert row(answer.out, node_type)[1] == str(count)
    if card.files:
        assert row(answer.out, next(iter(card.nodes)))[2:] == ["-", "-", "-"]
        assert f"but got none in '{tmp_path}'; `python -m experiments.data download NAME`" in answer.out


def test_options_may_stand_before_the_name(tmp_path: Path) -> None:
    assert diffmg("datasets", "--data-root", tmp_path, "acm") == diffmg("datasets", "acm", "--data-root", tmp_path)


@needs_data
@pytest.mark.parametrize("name", ["imdb", "yelp@7"])
def test_counts_of_the_files_stand_beside_those_of_the_card(name: str) -> None:
    shown = diffmg("datasets", name).out
    card = read_card(name.partition("@")[0])
    for node_type, count in card.nodes.items():
        assert row(shown, node_type)[1:3] == [str(count)] * 2
    for relation, count in card.edges.items():
        assert row(shown, relation.name, relation.source)[3:] == [str(count)] * 2
    for part, classes in card.parts.items():
        for label, count in classes.items():
            assert row(shown, part, label)[2:] == [str(count)] * 2


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("acadmic", "unknown data set 'acadmic'; did you mean 'academic'?"),
        ("academic:abc", "a data set is written NAME or NAME:SIZE with a whole number of nodes"),
        ("dblp:10", "only made data sets have a size, but got dblp:10"),
        ("dblp@1", "only data sets of ratings can be split anew, but got dblp@1"),
        ("yelp@x", "a fresh split is written NAME@SEED with a whole number from 0, but got 'yelp@x'"),
    ],
)
def test_a_data_set_that_cannot_be_shown_is_named(name: str, words: str, tmp_path: Path) -> None:
    answer = diffmg("datasets", name, "--data-root", tmp_path)
    assert answer.code == 2
    assert f"error: {words}" in answer.err


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "ACM").mkdir()
    (tmp_path / "ACM/graph.npz").write_text("this is no archive")
    answer = diffmg("datasets", "acm", "--data-root", tmp_path)
    assert answer.code == 2
    assert "graph.npz" in answer.err
