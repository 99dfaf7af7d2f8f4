from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from diffmg.datasets._base import read_card
from experiments.data.__main__ import main
from experiments.data.card_files import stored_files
from loopback import serve
from originals import hin_originals
from real_data import needs_data
from run_files import Answer, call


def data(*arguments: object) -> Answer:
    """Run `python -m experiments.data` in this process."""
    return call(main, *arguments)


def row(text: str, *first: str) -> list[str]:
    """The cells of the table row that starts with these."""
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in text.splitlines() if line.startswith("│")]
    (found,) = (cells for cells in rows if tuple(cells[: len(first)]) == first)
    return found


@needs_data
def test_verify_passes_for_whole_files() -> None:
    answer = data("verify", "imdb", "yelp")
    assert answer.code == 0
    for name in ("imdb", "yelp"):
        for what in (*(file.name for file in stored_files(read_card(name))), "counts"):
            assert row(answer.out, name, what)[2] == "ok"


def test_verify_tells_missing_files_of_all_six(tmp_path: Path) -> None:
    answer = data("verify", "--data-root", tmp_path)
    assert answer.code == 3
    for name in ("acm", "amazon", "dblp", "douban", "imdb", "yelp"):
        for file in stored_files(read_card(name)):
            assert row(answer.out, name, file.name)[2] == "missing"
    assert f"looked in '{tmp_path}'; `python -m experiments.data download NAME` fetches what is missing" in answer.out
    assert "dblp" not in data("verify", "acm", "yelp", "--data-root", tmp_path).out


def test_verify_tells_what_differs(tmp_path: Path) -> None:
    (tmp_path / "ACM").mkdir()
    (tmp_path / "ACM/graph.npz").write_text("this is no archive")
    answer = data("verify", "acm", "dblp", "--data-root", tmp_path)
    assert answer.code == 2
    assert row(answer.out, "acm", "ACM/graph.npz")[2].startswith("differs: a data file must be npz")
    assert row(answer.out, "dblp", "DBLP/graph.npz")[2] == "missing"


def test_verify_counts_made_data() -> None:
    answer = data("verify", "shop")
    assert answer.code == 0
    assert row(answer.out, "shop", "counts")[2] == "ok"


def test_verify_names_an_unknown_data_set() -> None:
    answer = data("verify", "acn")
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
    answer = data("download", *arguments, "--data-root", tmp_path)
    assert answer.code == code
    assert f"error: {words}" in answer.err


def test_a_mirror_without_the_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serve({}) as site:
        answer = data("download", "acm", "--base", site.base, "--data-root", tmp_path)
    assert answer.code == 3
    assert "gtn-acm.zip' must be there, but got the answer 404" in answer.err
    card = read_card("acm")
    assert site.asked == [(f"cenyk1230/gtn-data/{card.commit}/gtn-acm.zip", None)]
    assert card.licence in answer.out


def test_an_archive_of_another_hash_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    card = read_card("acm")
    with serve({f"{card.repository}/{card.commit}/gtn-acm.zip": b"something else"}) as site:
        answer = data("download", "acm", "--base", site.base, "--data-root", tmp_path)
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
        arguments = ("download", "amazon", "--base", site.base, "--data-root", tmp_path)
        first, second = data(*arguments), data(*arguments)
    assert first.code == second.code == 0
    assert f"amazon: stored in {tmp_path}" in first.out
    assert "user_item.dat" in first.err
    assert "converting ..." in first.err
    assert "amazon: everything is in place" in second.out
    assert data("verify", "amazon", "--data-root", tmp_path).code == 0


def test_help_names_the_commands() -> None:
    shown = data("--help").out
    assert all(command in shown for command in ("verify", "download"))
    assert "--base" in data("download", "--help").out
