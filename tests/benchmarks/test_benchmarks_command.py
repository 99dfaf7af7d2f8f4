from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from benchmarks import engine, floor, growth, product, render, scores, tables
from benchmarks.__main__ import main
from benchmarks.files import read_result as written
from diffmg.datasets import DATASETS, Published, load_dataset

Bench = Callable[..., "Answer"]
QUICK = ("--epochs", 2, "--block", 1, "--warm-up", 0, "--device", "cpu")
TINY_GROWTH = ("--sizes", 400, 120, "--epochs", 1, "--warm-up", 0, "--device", "cpu")


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small copies and products; peak memory, whose measuring collects garbage, has its own tests."""
    for module in (engine, growth):
        monkeypatch.setattr(module, "peak_bytes", lambda start, device: 123_000_000)
    monkeypatch.setattr(floor, "COPIED", {"cpu": 2**16, "cuda": 2**20})
    monkeypatch.setattr(floor, "SIDE", 64)


@pytest.fixture
def threads():
    """Threads are set for the whole process: put them back."""
    before = torch.get_num_threads()
    yield before
    torch.set_num_threads(before)


class Answer(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


@pytest.fixture
def bench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """Run a command in this process, with a terminal wide enough for every message."""
    monkeypatch.setenv("COLUMNS", "1000")

    def run(*arguments: object) -> Answer:
        with pytest.raises(SystemExit) as stop:
            main([str(a) for a in arguments])
        return Answer(int(stop.value.code or 0), *capsys.readouterr())

    return run


def test_the_engine_beside_the_reference(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "new" / "engine.json"
    answer = bench("engine", "--data", "academic:120", "shop:160", "--out", file, *QUICK)
    assert answer.code == 0, answer.err
    found = written(file)
    assert set(found) == {"what", "command", "machine", "versions", "results"}
    assert list(found["results"]) == ["academic:120", "shop:160"]
    assert found["machine"]["device"].startswith("cpu")
    for result in found["results"].values():
        assert all(result[work]["ours"]["epochs"] == 2 for work in ("search", "retrain"))
        assert all(result[work]["ratio"] > 0 for work in ("search", "retrain"))
    rows = [line for line in answer.out.splitlines() if "academic:120" in line or "shop:160" in line]
    assert len(rows) == 4
    ratio = found["results"]["shop:160"]["retrain"]["ratio"]
    assert f"{ratio:.1f}" in rows[-1]


def test_the_command_in_the_file_is_the_one_that_measures_again(bench: Bench, tmp_path: Path) -> None:
    first, again = tmp_path / "a.json", tmp_path / "b.json"
    bench("engine", "--data", "academic:120", "--no-yardstick", "--out", first, *QUICK)
    command = written(first)["command"]
    assert command == (
        "python -m benchmarks engine --data academic:120 --device cpu --epochs 2 --block 1 --warm-up 0 "
        "--no-yardstick --no-whole --seed 0"
    )
    assert bench(*command.split()[3:], "--out", again).code == 0
    assert written(again)["command"] == command
    assert str(tmp_path) not in first.read_text()


def test_without_the_reference_and_without_a_file(bench: Bench) -> None:
    answer = bench("engine", "--data", "academic:120", "--no-yardstick", *QUICK)
    assert answer.code == 0
    (row, _) = (line for line in answer.out.splitlines() if "academic:120" in line)
    assert row.count(" - ") >= 3


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--data", "academic:120", "acadmic"], 2, "unknown data set 'acadmic'; did you mean 'academic'?"),
        (["--data", "academic:many"], 2, "whole number of nodes, but got 'academic:many'"),
        (["--data", "academic:3"], 2, "but got size=3"),
        (["--data", "academic:120", "--epochs", "0"], 2, "`epochs >= 1` must hold"),
        (["--data", "academic:120", "--threads", "0"], 2, "`threads >= 1` must hold, but got threads=0"),
        (["--data", "academic:120", "--device", "tpu"], 2, "unknown device 'tpu'"),
        (["--data", "academic:120", "--device", "cpu", "shop:160"], 2, "unexpected extra argument"),
        (["--data", "amazon", "--data-root", "nowhere"], 3, "fetches what is missing"),
        (["--data"], 2, "--data"),
        ([], 2, "--data"),
    ],
)
def test_bad_input_is_said(bench: Bench, arguments: list[str], code: int, words: str) -> None:
    answer = bench("engine", *arguments)
    assert answer.code == code
    assert words in answer.err
    assert "Traceback" not in answer.err


def test_what_was_measured_is_kept_when_the_next_data_are_missing(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "engine.json"
    answer = bench("engine", "--data", "academic:120", "amazon", "--data-root", tmp_path, "--out", file, *QUICK)
    assert answer.code == 3
    assert list(written(file)["results"]) == ["academic:120"]


def test_growth_over_several_sizes(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "growth.json"
    answer = bench("growth", "--data", "academic", *TINY_GROWTH, "--out", file)
    assert answer.code == 0, answer.err
    found = written(file)
    assert [p["size"] for p in found["results"]["points"]] == [120, 400]
    assert len(found["results"]["exponents"]["seconds"]["between"]) == 1
    assert found["command"] == (
        "python -m benchmarks growth --data academic --sizes 120 400 --device cpu --epochs 1 --warm-up 0 --seed 0"
    )
    slope = found["results"]["exponents"]["seconds"]["last"]
    assert f"{slope:.2f}" in answer.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--data", "amazon", "--sizes", "400"], "only made data sets have a size, but got amazon:400"),
        (["--sizes", "400", "few"], "but got 'academic:few'"),
        (["--sizes", "400", "--epochs", "0"], "`epochs >= 1` must hold"),
    ],
)
def test_growth_says_what_is_wrong(bench: Bench, arguments: list[str], words: str) -> None:
    answer = bench("growth", *arguments)
    assert answer.code == 2
    assert words in answer.err


def test_threads_are_set_and_written(
    bench: Bench, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "growth.json"
    point = {"nodes": 120, "edges": 900, "median": 1.0, "low": 1.0, "high": 1.0, "peak_bytes": None}
    monkeypatch.setattr(growth, "measure_size", lambda *given: point | {"threads": torch.get_num_threads()})
    answer = bench("growth", *TINY_GROWTH, "--threads", 2, "--out", file)
    assert answer.code == 0
    assert [p["threads"] for p in written(file)["results"]["points"]] == [2, 2]
    assert written(file)["machine"]["threads"] == 2
    assert "--threads 2" in written(file)["command"]


def test_the_product_on_a_cpu_is_refused(bench: Bench, tmp_path: Path) -> None:
    answer = bench("product", "--nodes", "1e3", "--device", "cpu", "--out", tmp_path / "product.json")
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err == (
        "error: the fused product needs a GPU, but got 'cpu'; on a CPU the library's product is used\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--nodes", "many"], "a size is a whole number such as 1e7, but got 'many'"),
        (["--nodes", "1.5"], "a size is a whole number such as 1e7, but got '1.5'"),
        (["--nodes", "0"], "a size is a whole number such as 1e7, but got '0'"),
        (["--nodes", "-3"], "a size is a whole number such as 1e7, but got '-3'"),
        (["--nodes", "inf"], "a size is a whole number such as 1e7, but got 'inf'"),
        (["--nodes", "nan"], "a size is a whole number such as 1e7, but got 'nan'"),
        (["--nodes", "1e9", "--degree", "3"], "`nodes * degree < 2**31` must hold"),
        (["--repeats", "0"], "`repeats >= 1` must hold"),
        (["--device", "tpu"], "unknown device 'tpu'"),
    ],
)
def test_the_product_says_what_is_wrong(bench: Bench, arguments: list[str], words: str) -> None:
    answer = bench("product", *arguments)
    assert answer.code == 2
    assert words in answer.err


def test_the_product_is_written_and_shown(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    way = {"median": 0.01234, "gathered_bytes_per_second": 1.5e12, "share_of_copy_bandwidth": 0.42}
    found = {"ways": {"fused, float32": way | {"relative_error": 1.25e-7}}, "ratio": 2.0}
    asked: list[Any] = []
    monkeypatch.setattr(product, "measure_product", lambda options, device: asked.append(options) or found)
    file = tmp_path / "product.json"
    answer = bench("product", "--nodes", "1e3", "--dim", 8, "--device", "cpu", "--out", file)
    assert answer.code == 0, answer.err
    assert asked == [product.ProductOptions(nodes=1000, dim=8)]
    assert written(file)["results"] == found
    assert written(file)["command"] == (
        "python -m benchmarks product --device cpu --nodes 1000 --degree 20 --dim 8 --repeats 20 --seed 0"
    )
    (row,) = (line for line in answer.out.splitlines() if "fused, float32" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "fused, float32",
        "12.34",
        "1.50",
        "42 %",
        "1.2e-07",
    ]


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted meta graphs of made data stand for those of the authors."""

    def published(name: str) -> Published:
        return Published(DATASETS.get(name.split(":")[0]).planted, {}, {"dim": 20, "max_epochs": 4}, {})

    monkeypatch.setattr(scores, "published_for", published)
    monkeypatch.setattr(scores, "open_problem", lambda name, root: load_dataset(name))


def test_scores_with_and_without_each_optimisation(bench: Bench, planted: None, tmp_path: Path) -> None:
    file = tmp_path / "new" / "scores.json"
    arguments = ["--data", "academic:200", "shop:200", "--repeats", 2, "--device", "cpu"]
    answer = bench("scores", *arguments, "--out", file)
    assert answer.code == 0, answer.err
    found = written(file)
    assert set(found) == {"what", "command", "machine", "versions", "results"}
    assert found["command"] == (
        "python -m benchmarks scores --data academic:200 shop:200 --device cpu --repeats 2 --seed 0"
    )
    assert {name: result["metric"] for name, result in found["results"].items()} == {
        "academic:200": "macro_f1",
        "shop:200": "auc",
    }
    for name, result in found["results"].items():
        assert list(result["variants"]) == ["default", "states in bfloat16", "16 columns at a time"]
        (row,) = (line for line in answer.out.splitlines() if name in line)
        for variant in result["variants"].values():
            assert len(variant["scores"]) == 2
            assert f"{100 * variant['mean']:.2f} ± {100 * variant['std']:.2f}" in row


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--data", "academic:120"], 2, "the authors' meta graphs, but got 'academic:120', which has none"),
        (["--data", "acadmic"], 2, "unknown data set 'acadmic'; did you mean 'academic'?"),
        (["--data", "amazon", "--repeats", "1"], 2, "`repeats >= 2` must hold"),
        (["--data", "amazon", "--threads", "0"], 2, "`threads >= 1` must hold, but got threads=0"),
        (["--data", "amazon", "--data-root", "nowhere"], 3, "fetches what is missing"),
        ([], 2, "--data"),
    ],
)
def test_scores_say_what_is_wrong(bench: Bench, arguments: list[str], code: int, words: str) -> None:
    answer = bench("scores", *arguments)
    assert answer.code == code
    assert words in answer.err
    assert "Traceback" not in answer.err


def test_reading_own_tables_is_measured(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    took = {"seconds": 1.25, "peak_gb": 0.5}
    monkeypatch.setattr(tables, "measure_tables", lambda options: vars(options) | took)
    file = tmp_path / "tables.json"
    answer = bench("tables", "--edges", "1e3", "--ids", "text", "--out", file)
    assert answer.code == 0, answer.err
    found = written(file)
    assert found["command"] == "python -m benchmarks tables --edges 1000 --ids text"
    assert (found["results"]["edges"], found["results"]["ids"]) == (1000, "text")
    assert answer.out == "1,000 edges: 1.25 s, peak 0.5 GB\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--edges", "few"], "a size is a whole number"), (["--ids", "words"], "but got ids='words'")],
)
def test_own_tables_say_what_is_wrong(bench: Bench, arguments: list[str], words: str) -> None:
    answer = bench("tables", *arguments)
    assert answer.code == 2
    assert words in answer.err


def test_documents_are_checked_and_rendered(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(render, "render_documents", lambda check: asked.append(check) or [tmp_path / "README.md"])
    assert bench("render", "--check") == (1, "README.md is outdated; run: python -m benchmarks render\n", "")
    assert bench("render") == (0, "README.md was updated\n", "")
    monkeypatch.setattr(render, "render_documents", lambda check: [])
    assert bench("render", "--check") == (0, "", "")
    assert asked == [True, False]
