"""Where a problem comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.method import METHODS
from diffmg.core.plan import Predictions, Source
from diffmg.core.settings import Settings
from diffmg.methods.search.diffmg import DiffMG
from diffmg.runs.sources import describe, make_plan, open_problem, published_for

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


def test_a_table_of_predictions_takes_no_other_question() -> None:
    asked = Source(
        "shop.db", target="customers.churned", as_of={"ordered": "2024-05-01"}, predictions=Predictions("t.csv")
    )
    with pytest.raises(DiffmgError, match=r"but got --target customers\.churned, --as-of ordered=2024-05-01 too"):
        describe(asked)


def test_a_data_set_by_name() -> None:
    assert open_problem("academic:400").task.target_types == ("author",)


def test_a_description_with_its_files_beside_it(library: str) -> None:
    graph = open_problem(library).graph
    assert graph.num_nodes == {"author": 20, "paper": 10}
    assert [r.name for r in graph.schema.relations] == ["wrote", "rev_wrote"]
    assert graph.ids_of("author")[graph.index_of("author", ["a3"])].tolist() == ["a3"]


def test_unknown_ids_are_dropped_if_asked(library: str) -> None:
    authors = Path(library).parent / "authors.csv"
    authors.write_text("\n".join(authors.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(DiffmgError, match="but got 1 rows of relation 'wrote'"):
        open_problem(library)
    assert open_problem(Source(library, on_unknown="drop")).graph.num_nodes["author"] == 19


def test_options_are_for_the_data_they_fit(library: str) -> None:
    with pytest.raises(DiffmgError, match="a target and a time are for databases"):
        describe(Source(library, target="authors.field"))
    with pytest.raises(DiffmgError, match="but got --on-unknown drop for"):
        open_problem(Source("academic", on_unknown="drop"))
    with pytest.raises(DiffmgError, match=r"a database needs a target TABLE.COLUMN"):
        describe(Source("shop.db"))
    with pytest.raises(DiffmgError, match="on_unknown"):
        open_problem(Source(library, on_unknown="keep"))


def test_data_without_a_name_cannot_be_opened() -> None:
    with pytest.raises(DiffmgError, match="built in Python"):
        open_problem(Source())


def test_a_problem_knows_where_it_was_read_from_whatever_the_directory(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(library).parent
    monkeypatch.chdir(folder)
    assert open_problem("library.toml").source == Source(str(folder / "library.toml"))
    assert open_problem("academic:400").source == Source("academic:400")


def test_only_the_papers_data_sets_have_published_settings(library: str) -> None:
    assert published_for("dblp") is not None
    assert published_for("academic:400") is None
    assert published_for(library) is None


def test_an_address_with_a_password_is_refused_and_not_shown() -> None:
    with pytest.raises(DiffmgError, match="an address must be without a password") as told:
        describe(Source("postgresql://me:hush@here/shop", target="customers.churned"))
    assert "hush" not in str(told.value)
    assert "PGPASSWORD" in str(told.value)


def test_a_search_starts_from_what_the_authors_published_as_far_as_it_has_it() -> None:
    plan = make_plan(Source("imdb"), "diffmg")
    assert (plan.method.options["epsilon"], plan.method.options["epochs"]) == (0.3, 50)
    assert (plan.settings.dropout, plan.settings.patience, plan.settings.select) == (0.7, 10, "loss")
    darts = make_plan(Source("imdb"), "darts")
    assert darts.method.options == {n: v for n, v in plan.method.options.items() if n != "epsilon"}
    assert make_plan(Source("imdb"), "random").method.options == {}
    assert make_plan(Source("imdb"), "random").settings == darts.settings == plan.settings


@pytest.mark.parametrize(("data", "method"), [("imdb", "rgcn"), ("academic:120", "diffmg"), ("library.toml", "diffmg")])
def test_rivals_and_other_data_start_from_this_package_s_settings(data: str, method: str) -> None:
    plan = make_plan(Source(data), method)
    assert (plan.method.options, plan.settings) == ({}, Settings())


def test_what_is_given_changes_the_start() -> None:
    plan = make_plan(Source("imdb"), "diffmg", {"epochs": 7}, {"dropout": 0.1})
    assert (plan.method.options["epochs"], plan.method.options["epsilon"]) == (7, 0.3)
    assert (plan.settings.dropout, plan.settings.select) == (0.1, "loss")
    assert make_plan(Source("imdb"), None, None, Settings(dim=3)).settings == Settings(dim=3)


def test_a_method_as_an_object_is_taken_as_it_is() -> None:
    plan = make_plan(Source("imdb"), DiffMG(epsilon=0.9))
    assert plan.method.make() == DiffMG(epsilon=0.9)
    assert plan.settings.select == "loss"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"method": "difmg"}, "unknown method 'difmg'; did you mean 'diffmg'"),
        ({"method": "gcn", "options": {"layer": 2}}, "did you mean 'layers'"),
        ({"method": "gcn", "options": {"layers": "two"}}, "layers: must be a whole number, but got 'two'"),
        ({"settings": {"dimm": 3}}, "did you mean 'dim'"),
        ({"repeats": 0}, "`repeats >= 1` must hold"),
    ],
    ids=str,
)
def test_a_plan_that_cannot_be_made_is_named(given: dict, words: str) -> None:
    with pytest.raises(DiffmgError, match=words):
        make_plan(Source("academic:120"), **given)


def test_every_method_has_a_plan() -> None:
    for name in METHODS.names():
        assert make_plan(Source("academic:120"), name).method.name == name


@pytest.mark.parametrize("settings", [5, "dim=3", ["dim"]])
def test_settings_of_another_type_are_refused(settings: Any) -> None:
    with pytest.raises(DiffmgError, match="settings are `Settings` or names and values"):
        make_plan(Source("academic"), "mlp", None, settings)
    given = Settings(dim=3)
    assert make_plan(Source("academic"), "mlp", None, given).settings == given
