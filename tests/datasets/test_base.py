from __future__ import annotations

from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError, MissingDataError
from diffmg.core.plan import Source
from diffmg.datasets import DATASETS, load_dataset, parse_name
from diffmg.datasets._base import find_file

NAME = "DBLP/graph.npz"


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither DIFFMG_DATA nor a cache."""
    monkeypatch.delenv("DIFFMG_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def put(folder: Path) -> Path:
    """A data file in a folder."""
    path = folder / NAME
    path.parent.mkdir(parents=True)
    path.touch()
    return path


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("academic", ("academic", None, None)),
        ("academic:400", ("academic", 400, None)),
        ("shop:1e5", ("shop", 100_000, None)),
        ("yelp@7", ("yelp", None, 7)),
        ("yelp@0", ("yelp", None, 0)),
        ("shop:400@12", ("shop", 400, 12)),
    ],
)
def test_a_name_may_have_a_size_and_a_split(text: str, parsed: tuple[str, int | None, int | None]) -> None:
    assert parse_name(text) == parsed


@pytest.mark.parametrize("seed", ["", "x", "-1", "1.5", "7@8", "٣"])
def test_a_split_that_is_no_whole_number_is_named(seed: str) -> None:
    with pytest.raises(DiffmgError, match=rf"NAME@SEED .* but got 'yelp@{seed}'"):
        parse_name(f"yelp@{seed}")


@pytest.mark.parametrize("size", ["", "abc", "0", "-5", "1.5", "nan", "1e400", "4:5"])
def test_a_size_that_is_no_whole_number_is_named(size: str) -> None:
    with pytest.raises(DiffmgError, match=rf"NAME:SIZE .* but got 'academic:{size}'"):
        parse_name(f"academic:{size}")


@pytest.mark.parametrize("name", ["dblp", "shop"])
def test_only_ratings_can_be_split_anew(name: str) -> None:
    with pytest.raises(DiffmgError, match=rf"ratings .* but got {name}@7"):
        load_dataset(f"{name}@7")


def test_a_split_has_one_seed_from_0() -> None:
    with pytest.raises(DiffmgError, match=r"but got 'yelp@7' and split_seed=8"):
        load_dataset("yelp@7", split_seed=8)
    with pytest.raises(DiffmgError, match=r"`split_seed >= 0` must hold, but got -1"):
        load_dataset("yelp", split_seed=-1)


def test_an_unknown_name_names_the_nearest() -> None:
    with pytest.raises(DiffmgError, match=r"did you mean 'academic'"):
        load_dataset("acadmic")


def test_a_seed_that_draws_nothing_is_named() -> None:
    with pytest.raises(DiffmgError, match=r"seed"):
        load_dataset("shop:200", seed=-1)


def test_a_problem_knows_where_it_was_read_from() -> None:
    assert load_dataset("shop:200", seed=3).source == Source("shop:200", 3)


def test_a_file_is_found_under_the_given_root(tmp_path: Path, nowhere: None) -> None:
    path = put(tmp_path)
    assert find_file(tmp_path, NAME) == path


def test_a_file_is_found_by_the_environment(tmp_path: Path, nowhere: None, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "data")
    monkeypatch.setenv("DIFFMG_DATA", str(tmp_path / "data"))
    assert find_file(None, NAME) == path


def test_a_file_is_found_in_the_cache(tmp_path: Path, nowhere: None) -> None:
    path = put(tmp_path / "cache" / "diffmg")
    assert find_file(None, NAME) == path


def test_a_given_root_is_the_only_place(tmp_path: Path, nowhere: None) -> None:
    put(tmp_path / "cache" / "diffmg")
    with pytest.raises(MissingDataError, match=r"but got none in '.*other'"):
        find_file(tmp_path / "other", NAME)


def test_all_places_that_were_looked_at_are_named(
    tmp_path: Path, nowhere: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIFFMG_DATA", "/no/data")
    message = rf"but got none in '/no/data', '{tmp_path}/cache/diffmg'; .*download NAME"
    with pytest.raises(MissingDataError, match=message):
        find_file(None, NAME)


def test_only_data_sets_of_the_paper_have_something_published() -> None:
    published = {name for name, kind in DATASETS.items() if kind(name).published() is not None}
    assert published == {"dblp", "acm", "imdb", "amazon", "yelp", "douban"}


def test_made_data_has_a_planted_meta_graph_and_real_data_has_none() -> None:
    planted = {name for name, kind in DATASETS.items() if kind.planted}
    assert planted == {"academic", "films", "shop"}
