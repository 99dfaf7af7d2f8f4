from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.tables.description import (
    Description,
    NodeTable,
    RelationTable,
    description_from_dict,
    description_to_dict,
    read_description,
    write_description,
)
from diffmg.tasks.item_ranking_spec import RankingSpec
from diffmg.tasks.node_classification import ClassificationSpec
from diffmg.tasks.recommendation import RecommendationSpec
from diffmg.tasks.regression import RegressionSpec
from library import TOML

WROTE = {"wrote": RelationTable("w.csv", ("author", "a"), ("paper", "p"))}
NODES = {"author": NodeTable("authors.csv", ("id",)), "paper": NodeTable()}


def read(text: str) -> Description:
    return description_from_dict(tomllib.loads(text))


def without(line: str) -> str:
    """The description of the library without the lines that start so."""
    kept = [text for text in TOML.splitlines() if not text.startswith(line)]
    assert len(kept) < len(TOML.splitlines())
    return "\n".join(kept)


def test_reads_files_ids_relations_and_the_task():
    description = read(TOML)
    assert description.nodes["author"] == NodeTable("authors.csv")
    assert description.nodes["paper"] == NodeTable("papers.csv", ("paper",))
    assert description.relations["wrote"] == RelationTable("wrote.csv", ("author", "author"), ("paper", "paper"))
    assert description.task == ClassificationSpec("author", ("field",))
    assert description.tables == ("authors.csv", "papers.csv", "wrote.csv")


def test_a_task_with_a_relation_is_a_ranking():
    text = without('target = "author"').replace('label = "field"', 'relation = "wrote"\nrating = "stars"')
    assert read(text).task == RankingSpec("wrote", "stars")


def test_the_task_may_be_left_out():
    assert read(TOML.partition("[task]")[0]).task is None


names = st.text(max_size=8)
files = names.filter(lambda name: name != ".." and not {"/", "\0"} & {*name})
one_or_more = st.lists(names, min_size=1, max_size=3).map(tuple)


@st.composite
def descriptions(draw: st.DrawFn) -> Description:
    """Any names at all, so long as types and relations agree."""
    types = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    end = st.builds(lambda t, columns: (t, *columns), st.sampled_from(types), one_or_more)
    node = st.builds(
        NodeTable,
        st.one_of(st.none(), files),
        st.lists(names, max_size=2).map(tuple),
        st.one_of(st.none(), st.lists(names, max_size=2).map(tuple)),
        st.sampled_from(["by_type", "dense", "sparse"]),
    )
    relation = st.builds(
        RelationTable, files, end, end, st.one_of(st.none(), names), st.booleans(), st.one_of(st.none(), names)
    )
    relations = draw(st.dictionaries(names, relation, min_size=1, max_size=3))
    task = st.builds(
        RecommendationSpec,
        st.sampled_from(sorted(relations)),
        st.one_of(st.none(), names),
        st.floats(allow_nan=False),
        seed=st.integers(0, 2**40),
        exempt=one_or_more,
    )
    return Description(
        {t: draw(node) for t in types},
        relations,
        draw(st.one_of(st.none(), task)),
        draw(st.one_of(st.none(), files.filter(bool))),
        draw(st.sampled_from(["error", "drop"])),
        as_of=draw(st.dictionaries(names, names, max_size=2)),
    )


@given(descriptions())
def test_what_is_written_is_read_again(tmp_path_factory, description):
    path = tmp_path_factory.mktemp("toml") / "any.toml"
    write_description(path, description)
    assert read_description(path) == description


def test_labels_and_shares_are_written_too(tmp_path):
    task = ClassificationSpec("author", ("x", "y"), "part", (0.5, 0.25, 0.25), 7, "accuracy", ("yes", "no"))
    description = Description(NODES, WROTE, task, encoding="latin-1")
    write_description(tmp_path / "some.toml", description)
    assert read_description(tmp_path / "some.toml") == description


def test_the_file_is_as_a_person_would_write_it(tmp_path):
    write_description(tmp_path / "library.toml", read(TOML))
    assert (tmp_path / "library.toml").read_text() == f"format = 1\n{TOML}"


def test_what_has_its_default_is_left_out_and_the_format_stands_first():
    plain = description_to_dict(Description(NODES, WROTE, ClassificationSpec("author", ("field",))))
    assert next(iter(plain.items())) == ("format", 1)
    assert plain["nodes"] == {"author": {"file": "authors.csv", "id": "id"}, "paper": {}}
    assert plain["task"] == {"target": "author", "label": "field"}


def test_a_description_without_a_format_is_of_the_present_one():
    assert read(f"format = 1\n{TOML}") == read(TOML)
    with pytest.raises(DiffmgError, match="but got 2; update diffmg"):
        read(f"format = 2\n{TOML}")


@pytest.mark.parametrize(
    ("kind", "task"),
    [
        (
            'kind = "classification"\ntarget = "author"\nlabel = "field"',
            ClassificationSpec("author", ("field",), kind="classification"),
        ),
        ('kind = "regression"\ntarget = "author"\nlabel = "age"', RegressionSpec("author", ("age",))),
        ('target = "author"\nlabel = "age"\nmetric = "rmse"', RegressionSpec("author", ("age",), metric="rmse")),
        ('target = "author"\nlabel = "age"\nloss = "mse"', RegressionSpec("author", ("age",), loss="mse")),
        ('kind = "recommendation"\nrelation = "wrote"', RecommendationSpec("wrote")),
    ],
)
def test_a_task_may_say_its_kind(kind, task):
    found = read(TOML.partition("[task]")[0] + f"[task]\n{kind}\n")
    assert found.task == task
    assert description_from_dict(description_to_dict(found)) == found


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ('kind = "clasification"', "unknown task 'clasification'; did you mean 'classification'"),
        ('kind = "recommendation"\ntarget = "author"', "[task]: unknown field 'target'"),
        ("seed = 3", "but got only seed"),
    ],
)
def test_a_task_of_no_known_kind_is_told(task, message):
    with pytest.raises(DiffmgError, match=re.escape(message)):
        read(TOML.partition("[task]")[0] + f"[task]\n{task}\n")


def test_tables_of_a_database_are_not_called_files():
    plain = description_to_dict(Description(NODES, WROTE, database="shop.db"))
    assert plain["relations"]["wrote"]["table"] == "w.csv"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path):
    with pytest.raises(DiffmgError, match=r"a description .* no file at '.*none.toml'"):
        read_description(tmp_path / "none.toml")
    (tmp_path / "some.toml").write_text("[nodes.author\n")
    with pytest.raises(DiffmgError, match=r"but got '.*some.toml'"):
        read_description(tmp_path / "some.toml")


@pytest.mark.parametrize("part", ["nodes", "relations"])
def test_parts_that_must_be_there(part):
    data = {k: v for k, v in tomllib.loads(TOML).items() if k != part}
    with pytest.raises(DiffmgError, match=rf"needs \[nodes.TYPE\] and \[relations.NAME\], but got no table '{part}'"):
        description_from_dict(data)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('label = "field"', "[task]: `label` must be given"),
        ('target = ["paper"', "[relations.wrote]: `target` must be given"),
        ('file = "wrote.csv"', "[relations.wrote]: `"),
    ],
)
def test_a_missing_key_is_named(line, message):
    with pytest.raises(DiffmgError, match=re.escape(message)):
        read(without(line))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("label =", "lable =", r"\[task\].* 'lable'; did you mean 'label'"),
        ("source =", "sources =", r"\[relations.wrote\].* 'sources'; did you mean 'source'"),
        ('"papers.csv"\nid', '"papers.csv"\nids', r"\[nodes.paper\].* 'ids'; did you mean 'id'"),
        ('file = "wrote', 'fil = "wrote', r"\[relations.wrote\].* 'fil'"),
        ("[nodes.author]", "on_unknwon = 'drop'\n[nodes.author]", "did you mean 'on_unknown'"),
        ('["paper",', '["papers",', "relation 'wrote': 'papers'; did you mean 'paper'"),
        ('target = "author"', 'target = "autor"', "task: 'autor'; did you mean 'author'"),
        ('target = "author"\nlabel = "field"', 'relation = "wrot"', "task: 'wrot'; did you mean 'wrote'"),
    ],
)
def test_unknown_names_come_with_the_nearest(old, new, message):
    with pytest.raises(DiffmgError, match=message):
        read(TOML.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('label = "field"', "label = 5", "[task], label: "),
        ('label = "field"', "label = [1, 2]", "[task], label: "),
        ('label = "field"', "label = []", "[task]: `label"),
        ('target = "author"', 'target = ["author"]', "[task], target: "),
        ('["author", "author"]', '"author"', "[relations.wrote]: `source` must be [node type, column, ...]"),
        ("[task]", "both = 'yes'\n[task]", "[relations.wrote], both: "),
        ('id = "paper"', "id = 3", "[nodes.paper], id: "),
        ('id = "paper"', 'id = "paper"\nencode = "raw"', "[nodes.paper], encode: must be one of 'by_type', 'dense'"),
        ("[task]", "[task]\nshares = [0.5, 'x', 0.1]", "[task], shares"),
        ("[task]", "[task]\nshares = [0.5, 0.5]", "[task], shares"),
        ("[task]", "[task]\nseed = 1.5", "[task], seed: "),
        ("[task]", "[task]\nseed = -1", "[task]: `seed >= 0` must hold"),
        ("[nodes.author]", "on_unknown = 'skip'\n[nodes.author]", "`on_unknown` must be one of 'error', 'drop'"),
        ("[nodes.author]", "encoding = 8\n[nodes.author]", "`encoding` must be text"),
        ("[nodes.author]", "as_of = 'x'\n[nodes.author]", "`as_of` must be a table"),
        ("[nodes.author]", "notes = false\n[nodes.author]", "`notes`: must be a name or a list of names"),
        ("[nodes.author]\nfile =", "nodes.author = 4\n# ", "[nodes.author]: must be a table"),
    ],
)
def test_values_of_the_wrong_type(old, new, message):
    with pytest.raises(DiffmgError, match=re.escape(message)):
        read(TOML.replace(old, new, 1))


def test_the_task_must_be_a_table():
    with pytest.raises(DiffmgError, match=r"\[task\] must be a table of settings, but"):
        description_from_dict({**tomllib.loads(TOML), "task": 3})


def test_labels_need_a_table():
    with pytest.raises(DiffmgError, match="but got a type without one"):
        Description(NODES, WROTE, ClassificationSpec("paper", ("field",)))


@pytest.mark.parametrize(
    ("node", "relation"),
    [
        (NodeTable("t.csv", ("id",), features=("age", "field")), RelationTable("w.csv", ("a", "x"), ("a", "y"))),
        (NodeTable("t.csv", ("id",)), RelationTable("t.csv", ("a", "id"), ("a", "field"))),
        (NodeTable("t.csv", ("field",)), RelationTable("w.csv", ("a", "x"), ("a", "y"))),
    ],
)
def test_labels_are_neither_features_nor_ids_nor_edges(node, relation):
    with pytest.raises(DiffmgError, match=r"but got \['field'\] as both"):
        Description({"a": node}, {"r": relation}, ClassificationSpec("a", ("field",)))


def test_keys_are_ids_ends_weights_labels_and_splits():
    node = NodeTable("t.csv", ("id",))
    relation = RelationTable("t.csv", ("a", "id"), ("a", "boss"), "w")
    description = Description({"a": node}, {"r": relation}, ClassificationSpec("a", ("field",), "part"))
    assert description.keys_of("t.csv") == {"id", "boss", "w", "field", "part"}
    rated = Description({"a": node, "b": NodeTable()}, {"r": relation}, RecommendationSpec("r", "stars", split="part"))
    assert rated.keys_of("t.csv") == {"id", "boss", "w", "stars", "part"}
