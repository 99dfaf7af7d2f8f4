from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from diffmg.core.errors import DiffmgError
from diffmg.core.schema import Relation
from diffmg.estimators import MetaGraphClassifier
from diffmg.methods.search.diffmg import DiffMG
from diffmg.runs.provenance import data_of
from diffmg.tables import problem_from_tables, read_description, read_graph, read_problem
from diffmg.tasks import NodeClassification
from diffmg.tasks.problem import Problem
from library import TOML, library, write_csv, write_library

SETTINGS = {"dim": 8, "max_epochs": 3}


def changed(name: str, **columns: Any) -> dict[str, dict[str, Any]]:
    """A table of the library with some columns changed or added."""
    return {name: library()[name] | columns}


def parts_of(problem: Problem) -> dict[str, list[str]]:
    """The ids of each part."""
    ids = problem.graph.ids_of("author")
    return {part: sorted(ids[index.numpy()].tolist()) for part, index in task_of(problem).parts.items()}


def labels_of(problem: Problem) -> dict[str, Any]:
    """The labels of each id."""
    return dict(zip(problem.graph.ids_of("author").tolist(), task_of(problem).labels.tolist(), strict=True))


def task_of(problem: Problem) -> NodeClassification:
    assert isinstance(problem.task, NodeClassification)
    return problem.task


def test_a_description_becomes_a_problem(tmp_path):
    problem = read_problem(write_library(tmp_path))
    assert problem.graph.num_nodes == {"author": 12, "paper": 36}
    assert problem.graph.schema.relations == (
        Relation("author", "wrote", "paper"),
        Relation("paper", "rev_wrote", "author"),
    )
    assert problem.graph.notes == ("author.age: number", "paper.year: number")
    task = task_of(problem)
    assert task.classes == ("art", "bio")
    assert labels_of(problem) == {f"a{i}": i % 2 for i in range(12)}
    assert [task.size(part) for part in ("train", "val", "test")] == [8, 2, 2]


def test_files_of_each_kind_give_the_same_network(tmp_path):
    first = read_problem(write_library(tmp_path))
    toml = TOML.replace("authors.csv", "authors.tsv.gz").replace("wrote.csv", "wrote.parquet")
    path = write_library(tmp_path, toml)
    table = pa.table(library()["authors"])
    with pa.output_stream(str(tmp_path / "authors.tsv.gz"), compression="gzip") as stream:
        pa.csv.write_csv(table, stream, pa.csv.WriteOptions(delimiter="\t"))
    parquet.write_table(pa.table(library()["wrote"]), tmp_path / "wrote.parquet")
    assert data_of(read_problem(path)) == data_of(first)


def test_the_encoding_is_passed_on(tmp_path):
    path = write_library(tmp_path, 'encoding = "latin-1"\n' + TOML)
    columns = library()["authors"]
    columns["author"][0] = "José"
    rows = ["author,age,field", *(f"{a},{b},{c}" for a, b, c in zip(*columns.values(), strict=True))]
    (tmp_path / "authors.csv").write_text("\n".join(rows) + "\n", encoding="latin-1")
    (tmp_path / "wrote.csv").write_text("author,paper\nJosé,100\n", encoding="latin-1")
    assert "José" in read_problem(path).graph.ids["author"]


def test_the_network_alone(tmp_path):
    path = write_library(tmp_path, TOML.partition("[task]")[0])
    assert read_graph(path).num_nodes == {"author": 12, "paper": 36}
    with pytest.raises(DiffmgError, match=r"but got None; add \[task\] to the description"):
        read_problem(path)


def test_tables_in_memory(tmp_path):
    description = read_description(write_library(tmp_path))
    tables = {f"{name}.csv": pa.table(columns) for name, columns in library().items()}
    assert problem_from_tables(description, tables).graph.num_nodes == {"author": 12, "paper": 36}


def test_predictions_come_out_with_the_ids_of_the_tables(tmp_path):
    problem = read_problem(write_library(tmp_path))
    model = MetaGraphClassifier(method=DiffMG(depth=1, search_seeds=1, epochs=2), settings=SETTINGS).fit(problem)
    assert set(model.predict(["a3", "a0"])) <= {"art", "bio"}
    assert problem.graph.ids_of("paper")[:2].tolist() == [100, 101]


@pytest.mark.parametrize("number", [True, False])
def test_ids_of_text_files_are_numbers_if_all_of_them_are(tmp_path, number):
    ids = [f"{i}" if number else f"{i:03}" for i in range(12)]
    wrote = {"author": [ids[i % 12] for i in range(36)], "paper": np.arange(36) + 100}
    problem = read_problem(write_library(tmp_path, wrote=wrote, **changed("authors", author=ids)))
    assert problem.graph.ids["author"].tolist() == ([*range(12)] if number else ids)


def test_missing_file(tmp_path):
    path = write_library(tmp_path)
    (tmp_path / "wrote.csv").unlink()
    with pytest.raises(DiffmgError, match=r"but got none at '.*wrote.csv'"):
        read_problem(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('label = "field"', 'label = "feild"', "unknown column of nodes 'author': 'feild'; did you mean 'field'?"),
        ('label = "field"', 'label = "field"\nsplit = "part"', "unknown column of nodes 'author': 'part'"),
        ('id = "paper"', 'id = "papre"', "unknown column of nodes 'paper': 'papre'; did you mean 'paper'?"),
        ('label = "field"', 'label = "field"\nmetric = "f1"', "unknown metric 'f1'"),
        ('label = "field"', 'label = "field"\nshares = [1, 0, 0]', "shares must be train > 0, val > 0 and test >= 0"),
        ('label = "field"', 'label = "field"\nclasses = ["art"]', "must be one of ['art'], but got ['bio']"),
    ],
)
def test_what_does_not_fit_the_tables(tmp_path, old, new, message):
    with pytest.raises(DiffmgError, match=re.escape(message)):
        read_problem(write_library(tmp_path, TOML.replace(old, new)))


def test_a_label_with_one_class(tmp_path):
    with pytest.raises(DiffmgError, match=r"but got \['art'\] in 12 rows"):
        read_problem(write_library(tmp_path, **changed("authors", field=["art"] * 12)))


def test_a_label_that_is_a_name(tmp_path):
    table = {"author": [f"a{i}" for i in range(150)], "field": [f"f{i}" for i in range(150)]}
    with pytest.raises(DiffmgError, match="but got 150 different values in 150 rows"):
        read_problem(write_library(tmp_path, authors=table))


def test_nodes_without_a_label_are_in_no_part(tmp_path):
    field = ["art", "bio", None] * 4
    problem = read_problem(write_library(tmp_path, **changed("authors", field=field)))
    task = task_of(problem)
    assert labels_of(problem) == {f"a{i}": (0, 1, -1)[i % 3] for i in range(12)}
    assert sum(task.size(part) for part in ("train", "val", "test")) == 8


def test_the_order_of_classes_may_be_given(tmp_path):
    toml = TOML.replace('label = "field"', 'label = "field"\nclasses = ["bio", "art"]')
    assert labels_of(read_problem(write_library(tmp_path, toml))) == {f"a{i}": 1 - i % 2 for i in range(12)}


def test_the_split_may_be_a_column(tmp_path):
    toml = TOML.replace('label = "field"', 'label = "field"\nsplit = "part"')
    part = ["train", "Train", "val", "validation", "test", None] * 2
    problem = read_problem(write_library(tmp_path, toml, **changed("authors", part=part)))
    assert parts_of(problem) == {
        "train": ["a0", "a1", "a6", "a7"],
        "val": ["a2", "a3", "a8", "a9"],
        "test": ["a10", "a4"],
    }
    assert problem.graph.features["author"].shape == (12, 1)


def test_a_strange_split(tmp_path):
    toml = TOML.replace('label = "field"', 'label = "field"\nsplit = "part"')
    with pytest.raises(DiffmgError, match=r"the split column 'part' must say train, val,"):
        read_problem(write_library(tmp_path, toml, **changed("authors", part=["train", "x"] * 6)))


def test_shares_and_seed_draw_the_split(tmp_path):
    def parts(more: str) -> dict[str, list[str]]:
        return parts_of(read_problem(write_library(tmp_path, TOML + more)))

    assert parts("") == parts("seed = 0") != parts("seed = 1")
    assert [len(rows) for rows in parts("shares = [0.3, 0.3, 0.4]").values()] == [4, 4, 4]


@pytest.mark.parametrize("kind", [int, bool])
def test_several_labels_a_node(tmp_path, kind):
    toml = TOML.replace('label = "field"', 'label = ["art", "bio"]')
    table = {
        "author": [f"a{i}" for i in range(12)],
        "art": [kind(i % 2) for i in range(12)],
        "bio": [None, *(kind(i % 3 > 0) for i in range(1, 12))],
    }
    problem = read_problem(write_library(tmp_path, toml, authors=table))
    task = task_of(problem)
    assert task.classes == ("art", "bio")
    assert [labels_of(problem)[f"a{i}"] for i in range(3)] == [[0, -1], [1, 1], [0, 1]]
    assert sum(task.size(part) for part in ("train", "val", "test")) == 11


def test_several_labels_must_be_zeros_and_ones(tmp_path):
    toml = TOML.replace('label = "field"', 'label = ["age", "field"]')
    with pytest.raises(DiffmgError, match=r"'age', one of several, must be one of \[0,"):
        read_problem(write_library(tmp_path, toml))


def test_a_table_may_hold_nodes_and_edges(tmp_path):
    toml = (
        TOML + '\n[relations.at]\nfile = "authors.csv"\nsource = ["author", "author"]\ntarget = ["school", "school"]\n'
    )
    toml = toml.replace("[relations.at]", "[nodes.school]\n[relations.at]")
    path = write_library(tmp_path, toml, **changed("authors", school=["north", "south", None] * 4))
    problem = read_problem(path)
    assert problem.graph.ids["school"].tolist() == ["north", "south"]
    assert problem.graph.features["author"].shape == (12, 1)
    assert problem.graph.adjacency[Relation("author", "at", "school")].nnz == 8


def test_unknown_ids_can_be_dropped(tmp_path: Path):
    path = write_library(tmp_path, 'on_unknown = "drop"\n' + TOML)
    wrote = library()["wrote"]
    write_csv(tmp_path / "wrote.csv", {"author": [*wrote["author"], "zed"], "paper": [*wrote["paper"], 100]})
    assert "relation wrote: 1 rows with unknown author ids left out, such as ['zed']" in read_problem(path).graph.notes
