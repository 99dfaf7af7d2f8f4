"""Where a problem comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.runs.sources import describe, is_database, is_described, open_problem, plain_name, published_for, starting_point
from diffmg.core.settings import Settings

TOML = """
[nodes.author]
file = "authors.csv"
[nodes.paper]
[relations.wrote]
file = "wrote.csv"
source = ["author", "author"]
target = ["paper", "paper"]
[task]
target = "author"
label = "field"
"""


@pytest.fixture
def library(tmp_path: Path) -> str:
    rows = [f"a{i},{'art' if i % 2 else 'bio'}" for i in range(20)]
    (tmp_path / "authors.csv").write_text("author,field\n" + "\n".join(rows) + "\n")
    (tmp_path / "wrote.csv").write_text("author,paper\n" + "\n".join(f"a{i},p{i // 2}" for i in range(20)) + "\n")
    (tmp_path / "library.toml").write_text(TOML)
    return str(tmp_path / "library.toml")


@pytest.mark.parametrize(
    ("data", "described", "database"),
    [
        ("academic:400", False, False),
        ("library.toml", True, False),
        ("shop.db", True, True),
        ("shop.duckdb", True, True),
        ("postgresql://me@here/shop", True, True),
    ],
)
def test_what_data_is_shows_in_its_name(data: str, described: bool, database: bool) -> None:
    assert (is_described(data), is_database(data)) == (described, database)


def test_a_data_set_by_name() -> None:
    assert open_problem("academic:400").task.target_types == ("author",)


def test_a_description_with_its_files_beside_it(library: str) -> None:
    graph = open_problem(library).graph
    assert graph.num_nodes == {"author": 20, "paper": 10}
    assert [r.name for r in graph.schema.relations] == ["wrote", "rev_wrote"]
    assert graph.index_of("author", ["a3"]).tolist() == [3]


def test_unknown_ids_are_dropped_if_asked(library: str) -> None:
    authors = Path(library).parent / "authors.csv"
    authors.write_text("\n".join(authors.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(DiffmgError, match="edges must lead to known nodes, but got 1 rows of relation 'wrote'"):
        open_problem(library)
    assert open_problem(library, options={"on_unknown": "drop"}).graph.num_nodes["author"] == 19


def test_options_are_for_the_data_they_fit(library: str) -> None:
    with pytest.raises(DiffmgError, match="a target and a time are for databases"):
        describe(library, {"target": "authors.field"})
    with pytest.raises(DiffmgError, match=r"are for own tables, but got \{'on_unknown': 'drop'\} for 'academic'"):
        open_problem("academic", options={"on_unknown": "drop"})
    with pytest.raises(DiffmgError, match="unknown option of the data: 'targt'; did you mean 'target'"):
        describe("shop.db", {"targt": "x.y"})
    with pytest.raises(DiffmgError, match=r"a database needs a target TABLE.COLUMN"):
        describe("shop.db", {})


def test_only_the_papers_data_sets_have_published_settings(library: str) -> None:
    assert published_for("dblp") is not None
    assert published_for("academic:400") is None
    assert published_for(library) is None


def test_an_address_with_a_password_is_refused_and_not_shown() -> None:
    with pytest.raises(DiffmgError, match="an address must be without a password") as told:
        describe("postgresql://me:hush@here/shop", {"target": "customers.churned"})
    assert "hush" not in str(told.value)
    assert "PGPASSWORD" in str(told.value)


def test_a_search_starts_from_what_the_authors_published_as_far_as_it_has_it() -> None:
    options, settings = starting_point("imdb", "diffmg")
    assert (options["epsilon"], options["epochs"]) == (0.3, 50)
    assert (settings.dropout, settings.patience, settings.select) == (0.7, 10, "loss")
    assert starting_point("imdb", "darts") == ({n: v for n, v in options.items() if n != "epsilon"}, settings)
    assert starting_point("imdb", "random") == ({}, settings)


@pytest.mark.parametrize(("data", "strategy"), [("imdb", ""), ("academic:120", "diffmg"), ("library.toml", "diffmg")])
def test_baselines_and_other_data_start_from_this_package_s_settings(data: str, strategy: str) -> None:
    assert starting_point(data, strategy) == ({}, Settings())


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("acm", "acm"),
        ("academic:120", "academic-120"),
        ("academic:1.5e3", "academic-1.5e3"),
        ("some where/my shop.toml", "my-shop"),
        ("shop.sqlite3", "shop"),
        ("postgresql://reader@example.org/sales", "sales"),
    ],
)
def test_data_have_a_name_for_files(data: str, name: str) -> None:
    assert plain_name(data) == name
