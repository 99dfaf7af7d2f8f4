from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from diffmg.datasets import DATASETS
from diffmg.datasets._card import read_card
from loopback import serve
from originals import hin_originals
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
    assert answer == diffmg("datasets", "show")


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
        assert f"but got none in '{tmp_path}'; `diffmg datasets download NAME` fetches what is missing" in answer.out


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


def test_help_names_the_commands() -> None:
    shown = diffmg("datasets", "--help").out
    assert all(command in shown for command in ("show", "verify", "download"))
    assert "--base" in diffmg("datasets", "download", "--help").out


@needs_data
def test_verify_passes_for_whole_files() -> None:
    answer = diffmg("datasets", "verify", "imdb", "yelp")
    assert answer.code == 0
    for name in ("imdb", "yelp"):
        for what in (*(file.name for file in read_card(name).files), "counts"):
            assert row(answer.out, name, what)[2] == "ok"


def test_verify_tells_missing_files_of_all_six(tmp_path: Path) -> None:
    answer = diffmg("datasets", "verify", "--data-root", tmp_path)
    assert answer.code == 3
    for name in ("acm", "amazon", "dblp", "douban", "imdb", "yelp"):
        for file in read_card(name).files:
            assert row(answer.out, name, file.name)[2] == "missing"
    assert f"looked in '{tmp_path}'; `diffmg datasets download NAME` fetches what is missing" in answer.out
    assert "dblp" not in diffmg("datasets", "verify", "acm", "yelp", "--data-root", tmp_path).out


def test_verify_tells_what_differs(tmp_path: Path) -> None:
    (tmp_path / "ACM").mkdir()
    (tmp_path / "ACM/graph.npz").write_text("this is no archive")
    answer = diffmg("datasets", "verify", "acm", "dblp", "--data-root", tmp_path)
    assert answer.code == 2
    assert row(answer.out, "acm", "ACM/graph.npz")[2].startswith("differs: a data file must be npz")
    assert row(answer.out, "dblp", "DBLP/graph.npz")[2] == "missing"


def test_verify_counts_made_data() -> None:
    answer = diffmg("datasets", "verify", "shop")
    assert answer.code == 0
    assert row(answer.out, "shop", "counts")[2] == "ok"


def test_verify_names_an_unknown_data_set() -> None:
    answer = diffmg("datasets", "verify", "acn")
    assert answer.code == 2
    assert "unknown data set 'acn'; did you mean 'acm'?" in answer.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["shop"], 2, "only data sets with files are downloaded, but got 'shop', which is made by code"),
        (["acn"], 2, "unknown data set 'acn'; did you mean 'acm'?"),
        (["acm", "--base", "nowhere"], 2, "a base address must start with http:// or https:// and a host"),
    ],
)
def test_a_download_that_cannot_be_is_named(arguments: list[str], code: int, words: str, tmp_path: Path) -> None:
    answer = diffmg("datasets", "download", *arguments, "--data-root", tmp_path)
    assert answer.code == code
    assert f"error: {words}" in answer.err


def test_a_mirror_without_the_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serve({}) as site:
        answer = diffmg("datasets", "download", "acm", "--base", site.base, "--data-root", tmp_path)
    assert answer.code == 3
    assert "gtn-acm.zip' must be there, but got the answer 404" in answer.err
    card = read_card("acm")
    assert site.asked == [(f"cenyk1230/gtn-data/{card.commit}/gtn-acm.zip", None)]
    assert card.licence in answer.out


def test_an_archive_of_another_hash_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    card = read_card("acm")
    with serve({f"{card.repository}/{card.commit}/gtn-acm.zip": b"something else"}) as site:
        answer = diffmg("datasets", "download", "acm", "--base", site.base, "--data-root", tmp_path)
    assert answer.code == 2
    assert "it was altered; it was not kept" in answer.err


@needs_data
def test_a_data_set_is_downloaded_and_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Amazon in its original form, from a mirror on this machine, some of it there already."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    shared = Path(os.environ["DIFFMG_DATA"])
    (tmp_path / "Amazon").mkdir()
    shutil.copy(shared / "Amazon/item_view.dat.gz", tmp_path / "Amazon")
    with serve(hin_originals("amazon", shared)) as site:
        site.faults = ["cut"]
        arguments = ("datasets", "download", "amazon", "--base", site.base, "--data-root", tmp_path)
        first, second = diffmg(*arguments), diffmg(*arguments)
    assert first.code == second.code == 0
    assert f"amazon: stored in {tmp_path}" in first.out
    assert "user_item.dat" in first.err
    assert "converting ..." in first.err
    assert "amazon: everything is in place" in second.out
    assert diffmg("datasets", "verify", "amazon", "--data-root", tmp_path).code == 0
