"""Files of answers, allowed items, vectors and similar nodes, from the command line."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

from diffmg import MetaGraphClassifier, MetaGraphRecommender, Model, load_dataset
from diffmg.graph.network import HeteroGraph
from diffmg.tables.export import export_tables
from diffmg.tasks.problem import Problem
from run_files import diffmg, refused

ESCAPED = "\x1b[31mann\r\x07"


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_answers_are_the_same_in_every_kind_of_file(classified: Path, tmp_path: Path) -> None:
    for ending in ("csv", "parquet", "jsonl"):
        assert diffmg("predict", classified, "--out", tmp_path / f"p.{ending}").code == 0
    answers = Model.load(classified).answers()
    wanted = [dict(zip(answers.columns, row, strict=True)) for row in answers.rows()]
    assert parquet.read_table(tmp_path / "p.parquet").to_pylist() == wanted
    assert [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()] == wanted
    assert (tmp_path / "p.csv").read_text() == answers.to_csv()
    assert "unknown ending of a file of answers: '.xlsx'" in refused("predict", classified, "--out", "p.xlsx")
    assert "safe cells are for CSV" in refused("predict", classified, "--out", "p.jsonl", "--safe-cells")


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on authors one of whom has a name with control characters."""
    made, folder = load_dataset("academic:120"), tmp_path_factory.mktemp("odd")
    names = [f"=a{number}" for number in range(made.graph.num_nodes["author"])]
    names[0] = ESCAPED
    edges = {r: np.stack(a.nonzero()[::-1]) for r, a in made.graph.adjacency.items()}
    graph = HeteroGraph.build(dict(made.graph.num_nodes), edges, dict(made.graph.features), ids={"author": names})
    MetaGraphClassifier(method="features", settings={"dim": 8, "max_epochs": 1}).fit(Problem(graph, made.task)).save(
        folder / "run"
    )
    export_tables(Problem(graph, made.task), folder / "tables")
    return folder


def test_piped_answers_are_the_bytes_of_a_file(odd: Path) -> None:
    words = ["predict", str(odd / "run"), "--data", str(odd / "tables" / "network.toml")]
    piped = subprocess.run([sys.executable, "-m", "diffmg", *words], capture_output=True, check=True).stdout
    assert diffmg(*words, "--out", odd / "p.csv").code == 0
    assert piped == (odd / "p.csv").read_bytes()
    assert ESCAPED.encode() in piped
    assert rows(piped.decode())[1][0] == ESCAPED
    safe = rows(diffmg(*words, "--safe-cells").out)
    assert safe[2][0] == "'=a1"


def test_only_allowed_items_are_recommended(recommended: Path, tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("3\n\n7\n")
    (tmp_path / "items.csv").write_text("name,item\nx,9\ny,7\n")
    words = ("--items", tmp_path / "ids.txt", "--items", tmp_path / "items.csv", "--items", 11)
    found = rows(diffmg("recommend", recommended, "-k", 9, "--no-exclude-seen", *words).out)[1:]
    model = MetaGraphRecommender.load(recommended)
    scores = model.model_.outputs[0] @ model.model_.outputs[1].T
    allowed = [3, 7, 9, 11]
    wanted = [sorted(allowed, key=lambda i, row=row: -row[i]) for row in scores.tolist()]
    assert [int(row[2]) for row in found] == [item for items in wanted for item in items]
    items, _ = model.recommend([0], 9, exclude_seen=False, items=allowed)
    assert items.tolist() == [wanted[0]]
    assert "every id must be one of the 'item' nodes" in refused("recommend", recommended, "--items", "99999")


def test_recommendations_are_written_block_by_block_alike(
    recommended: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = diffmg("recommend", recommended, "-k", 3).out
    monkeypatch.setattr("diffmg.tasks.two_ends.STREAMED", 7)
    assert diffmg("recommend", recommended, "-k", 3).out == whole
    assert diffmg("recommend", recommended, "-k", 3, "--out", tmp_path / "r.parquet").code == 0
    table = parquet.read_table(tmp_path / "r.parquet")
    assert table.column("item").to_pylist() == [int(row[2]) for row in rows(whole)[1:]]


def test_vectors_of_a_run(classified: Path, recommended: Path, tmp_path: Path) -> None:
    answer = diffmg("embed", classified, "--out", tmp_path / "v.npy")
    vectors = Model.load(classified).embed()
    assert answer.out == f"{len(vectors)} vectors of 8 columns written to {tmp_path / 'v.npy'}\n"
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy", allow_pickle=False)["vector"], vectors.values)
    diffmg("embed", recommended, "--type", "user", "--id", 3, "--out", tmp_path / "u.parquet")
    assert parquet.read_table(tmp_path / "u.parquet").column("user").to_pylist() == [3]
    assert "unknown target type 'usr'" in refused("embed", recommended, "--type", "usr", "--out", tmp_path / "u.csv")
    assert "unknown ending of a file of vectors" in refused("embed", recommended, "--out", tmp_path / "u.pkl")


def test_similar_nodes_of_a_run(recommended: Path, tmp_path: Path) -> None:
    found = rows(diffmg("similar", recommended, "--id", 3, "-k", 4).out)
    assert found[0] == ["item", "rank", "similar", "cosine"]
    z = Model.load(recommended).embed().values.astype(np.float64)
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    cosines = z @ z[3]
    cosines[3] = -2
    assert [int(row[2]) for row in found[1:]] == np.argsort(-cosines, kind="stable")[:4].tolist()
    np.testing.assert_allclose([float(row[3]) for row in found[1:]], np.sort(cosines)[::-1][:4], atol=1e-5)
    diffmg("similar", recommended, "--type", "user", "--out", tmp_path / "s.jsonl", "-k", 1)
    assert json.loads((tmp_path / "s.jsonl").read_text().splitlines()[0]).keys() == {
        "user",
        "rank",
        "similar",
        "cosine",
    }
    assert "k=0" in refused("similar", recommended, "-k", 0)
