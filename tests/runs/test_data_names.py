"""Folders and files where a data set's name was expected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from diffmg import DiffmgError, Source
from diffmg.runs.data_names import check_no_tables
from diffmg.runs.sources import describe, open_problem, published_for


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("bookshop", "academic"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.mark.parametrize("ask", [open_problem, published_for, lambda name: describe(Source(name))])
def test_a_folder_without_a_target_is_told_how(here: Path, ask: Callable[[str], object]) -> None:
    with pytest.raises(DiffmgError, match=r"column to predict, but got 'bookshop' without one; add --target"):
        ask("bookshop")


@pytest.mark.parametrize("ask", [open_problem, published_for, lambda name: describe(Source(name))])
def test_one_table_is_told_to_come_with_its_folder(here: Path, ask: Callable[[str], object]) -> None:
    with pytest.raises(DiffmgError, match=r"but got 'bookshop/customers\.csv\.gz'; .*--target customers\.COLUMN"):
        ask("bookshop/customers.csv.gz")


@pytest.mark.parametrize("name", ["academic", "academic:120", "nowhere", "yelp@7"])
def test_names_of_data_sets_win_over_folders(here: Path, name: str) -> None:
    check_no_tables(name)
    with pytest.raises(DiffmgError):
        check_no_tables(str(here / "academic"))
