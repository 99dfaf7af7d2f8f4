from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.tables.description import (
    ClassifyTable,
    Description,
    NodeTable,
    RecommendTable,
    RelationTable,
    description_from_dict,
    description_to_dict,
    read_description,
    write_description,
)
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
    assert description.task == ClassifyTable("author", ("field",))
    assert description.tables == ("authors.csv", "papers.csv", "wrote.csv")


def test_a_task_with_a_relation_is_recommendation():
    text = without('target = "author"').replace('label = "field"', 'relation = "wrote"\nrating = "stars"')
    assert read(text).task == RecommendTable("wrote", "stars")


def test_the_task_may_be_left_out():
    assert read(TOML.partition("[task]")[0]).task is None


names = st.text(max_size=8)
one_or_more = st.lists(names, min_size=1, max_size=3).map(tuple)


@st.composite
def descriptions(draw: st.DrawFn) -> Description:
    """Any names at all, so long as types and relations agree."""
    types = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    end = st.builds(lambda t, columns: (t, *columns), st.sampled_from(types), one_or_more)
    node = st.builds(
        NodeTable,
        st.one_of(st.none(), names),
        st.lists(names, max_size=2).map(tuple),
        st.one_of(st.none(), st.lists(names, max_size=2).map(tuple)),
        st.sampled_from(["by_type", "dense", "sparse"]),
    )
    relation = st.builds(
        RelationTable, names, end, end, st.one_of(st.none(), names), st.booleans(), st.one_of(st.none(), names)
    )
    relations = draw(st.dictionaries(names, relation, min_size=1, max_size=3))
    task = st.builds(
        RecommendTable,
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
        draw(st.one_of(st.none(), names.filter(bool))),
        draw(st.sampled_from(["error", "drop"])),
        as_of=draw(st.dictionaries(names, names, max_size=2)),
    )


@given(descriptions())
def test_what_is_written_is_read_again(tmp_path_factory, description):
    path = tmp_path_factory.mktemp("toml") / "any.toml"
    write_description(path, description)
    assert read_description(path) == description


def test_labels_and_shares_are_written_too(tmp_path):
    task = ClassifyTable("author", ("x", "y"), "part", (0.5, 0.25, 0.25), 7, "accuracy", ("yes", "no"))
    description = Description(NODES, WROTE, task, encoding="latin-1")
    write_description(tmp_path / "some.toml", description)
    assert read_description(tmp_path / "some.toml") == description


def test_the_file_is_as_a_person_would_write_it(tmp_path):
    write_description(tmp_path / "library.toml", read(TOML))
    assert (tmp_path / "library.toml").read_text() == TOML.lstrip()


def test_what_has_its_default_is_left_out():
    plain = description_to_dict(Description(NODES, WROTE, ClassifyTable("author", ("field",))))
    assert plain["nodes"] == {"author": {"file": "authors.csv", "id": ("id",)}, "paper": {}}
    assert plain["task"] == {"target": "author", "label": ("field",)}


def test_tables_of_a_database_are_not_called_files():
    plain = description_to_dict(Description(NODES, WROTE, database="shop.db"))
    assert plain["relations"]["wrote"]["table"] == "w.csv"


def test_no_such_file(tmp_path):
    with pytest.raises(DiffmgError, match=r"a description must be a TOML file, but got no file at '.*none.toml'"):
        read_description(tmp_path / "none.toml")


def test_a_folder_is_no_description(tmp_path):
    with pytest.raises(DiffmgError, match=r"a description must be a file, but got '.*': Is a directory"):
        read_description(tmp_path)


@pytest.mark.parametrize("content", [b"[nodes.author\n", b"name = 'Jos\xe9'\n"])
def test_what_is_not_toml(tmp_path: Path, content: bytes):
    (tmp_path / "some.toml").write_bytes(content)
    with pytest.raises(DiffmgError, match=r"a description must be TOML, but got '.*some.toml', which is not: "):
        read_description(tmp_path / "some.toml")


@pytest.mark.parametrize("part", ["nodes", "relations"])
def test_parts_that_must_be_there(part):
    data = {k: v for k, v in tomllib.loads(TOML).items() if k != part}
    with pytest.raises(DiffmgError, match=rf"needs \[nodes.TYPE\] and \[relations.NAME\], but got no table '{part}'"):
        description_from_dict(data)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('label = "field"', "[task] must have `label`, but got only `target`"),
        ('target = ["paper"', "[relations.wrote] must have `target`, but got only `file`, `source`"),
        ('file = "wrote.csv"', "[relations.wrote] must have `file`, but got only `source`, `target`"),
    ],
)
def test_a_missing_key_is_named(line, message):
    with pytest.raises(DiffmgError, match=re.escape(message)):
        read(without(line))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("label =", "lable =", "unknown setting in [task]: 'lable'; did you mean 'label'?"),
        ("source =", "sources =", "unknown setting in [relations.wrote]: 'sources'; did you mean 'source'?"),
        ('"papers.csv"\nid', '"papers.csv"\nids', "unknown setting in [nodes.paper]: 'ids'; did you mean 'id'?"),
        ('file = "wrote', 'fil = "wrote', "unknown setting in [relations.wrote]: 'fil'; did you mean 'file'?"),
        ("[nodes.author]", "on_unknwon = 'drop'\n[nodes.author]", "did you mean 'on_unknown'?"),
        ('["paper",', '["papers",', "unknown node type in relation 'wrote': 'papers'; did you mean 'paper'?"),
        ('target = "author"', 'target = "autor"', "unknown node type of the task: 'autor'; did you mean 'author'?"),
        (
            'target = "author"\nlabel = "field"',
            'relation = "wrot"',
            "unknown relation of the task: 'wrot'; did you mean 'wrote'?",
        ),
    ],
)
def test_unknown_names_come_with_the_nearest(old, new, message):
    with pytest.raises(DiffmgError, match=re.escape(message)):
        read(TOML.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('label = "field"', "label = 5", "`label` of [task] must be a name or a list of names, but got 5"),
        ('label = "field"', "label = [1, 2]", "`label` of [task] must be a name or a list of names, but got [1, 2]"),
        ('target = "author"', 'target = ["author"]', "[task]: `target` must be text, but got target=['author']"),
        ('["author", "author"]', '"author"', "[relations.wrote]: `source` must be [node type, column, ...]"),
        ("[task]", "both = 'yes'\n[task]", "[relations.wrote]: `both` must be true or false, but got both='yes'"),
        ('id = "paper"', "id = 3", "`id` of [nodes.paper] must be a name or a list of names, but got 3"),
        ('id = "paper"', 'id = "paper"\nencode = "raw"', "[nodes.paper]: `encode` must be one of 'by_type', 'dense'"),
        ("[task]", "[task]\nshares = [0.5, 'x']", "`shares` of [task] must be three numbers, but got [0.5, 'x']"),
        ("[task]", "[task]\nseed = 1.5", "[task]: `seed` must be a whole number, but got seed=1.5"),
        ("[task]", "[task]\nseed = -1", "`seed >= 0` must hold, but got ClassifyTable"),
        ("[nodes.author]", "on_unknown = 'skip'\n[nodes.author]", "`on_unknown` must be one of 'error', 'drop'"),
        ("[nodes.author]", "encoding = 8\n[nodes.author]", "`encoding` must be text, but got encoding=8"),
        ("[nodes.author]", "as_of = 'x'\n[nodes.author]", "`as_of` must be a table of "),
        ("[nodes.author]\nfile =", "nodes.author = 4\n# ", "[nodes.author] must be a table of settings, but got 4"),
    ],
)
def test_values_of_the_wrong_type(old, new, message):
    with pytest.raises(DiffmgError, match=re.escape(message)):
        read(TOML.replace(old, new, 1))


def test_the_task_must_be_a_table():
    with pytest.raises(DiffmgError, match=r"\[task\] must be a table of settings, but got 3"):
        description_from_dict({**tomllib.loads(TOML), "task": 3})


def test_labels_need_a_table():
    with pytest.raises(DiffmgError, match="labels come from the table of 'paper', but got a type without one"):
        Description(NODES, WROTE, ClassifyTable("paper", ("field",)))


@pytest.mark.parametrize(
    ("node", "relation"),
    [
        (NodeTable("t.csv", ("id",), features=("age", "field")), RelationTable("w.csv", ("a", "x"), ("a", "y"))),
        (NodeTable("t.csv", ("id",)), RelationTable("t.csv", ("a", "id"), ("a", "field"))),
        (NodeTable("t.csv", ("field",)), RelationTable("w.csv", ("a", "x"), ("a", "y"))),
    ],
)
def test_labels_are_neither_features_nor_ids_nor_edges(node, relation):
    with pytest.raises(DiffmgError, match=r"or the answer leaks, but got \['field'\] as both"):
        Description({"a": node}, {"r": relation}, ClassifyTable("a", ("field",)))


def test_keys_are_ids_ends_weights_labels_and_splits():
    node = NodeTable("t.csv", ("id",))
    relation = RelationTable("t.csv", ("a", "id"), ("a", "boss"), "w")
    description = Description({"a": node}, {"r": relation}, ClassifyTable("a", ("field",), "part"))
    assert description.keys_of("t.csv") == {"id", "boss", "w", "field", "part"}
    rated = Description({"a": node, "b": NodeTable()}, {"r": relation}, RecommendTable("r", "stars", split="part"))
    assert rated.keys_of("t.csv") == {"id", "boss", "w", "stars", "part"}
