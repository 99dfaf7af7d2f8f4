from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from diffmg.benchmarks import floor, product, scores
from diffmg.cli.common import _spread
from diffmg.datasets import DATASETS, Published, load_dataset
from run_files import diffmg

QUICK = ("--epochs", 2, "--block", 1, "--warm-up", 0, "--device", "cpu")
TINY_GROWTH = ("--sizes", 400, 120, "--epochs", 1, "--warm-up", 0, "--device", "cpu")


@pytest.fixture(autouse=True)
def small_ceilings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies and products that take no time."""
    monkeypatch.setattr(floor, "COPIED", {"cpu": 2**16, "cuda": 2**20})
    monkeypatch.setattr(floor, "SIDE", 64)


@pytest.fixture
def threads():
    """Threads are set for the whole process: put them back."""
    before = torch.get_num_threads()
    yield before
    torch.set_num_threads(before)


def written(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8"))


def test_the_engine_beside_the_yardstick(tmp_path: Path) -> None:
    file = tmp_path / "new" / "engine.json"
    answer = diffmg("bench", "engine", "--data", "academic:120", "shop:160", "--out", file, *QUICK)
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


def test_the_command_in_the_file_is_the_one_that_measures_again(tmp_path: Path) -> None:
    first, again = tmp_path / "a.json", tmp_path / "b.json"
    diffmg("bench", "engine", "--data", "academic:120", "--no-yardstick", "--out", first, *QUICK)
    command = written(first)["command"]
    assert command == (
        "diffmg bench engine --data academic:120 --device cpu --epochs 2 --block 1 --warm-up 0 "
        "--no-yardstick --no-whole --seed 0"
    )
    assert diffmg(*command.split()[1:], "--out", again).code == 0
    assert written(again)["command"] == command
    assert str(tmp_path) not in first.read_text()


def test_without_the_yardstick_and_without_a_file() -> None:
    answer = diffmg("bench", "engine", "--data", "academic:120", "--no-yardstick", *QUICK)
    assert answer.code == 0
    (row, _) = (line for line in answer.out.splitlines() if "academic:120" in line)
    assert row.count(" - ") >= 3


@pytest.mark.parametrize(
    "words",
    [
        ["--data", "a", "b", "--seed", "1"],
        ["--data", "a", "--seed", "1", "--data", "b"],
        ["--data=a", "b", "--seed=1"],
        ["--seed", "1", "--data", "a", "--data=b"],
    ],
)
def test_an_option_may_have_several_words(words: list[str]) -> None:
    spread = list(_spread(words, {"--data"}))
    given = [word.partition("=")[2] or spread[i + 1] for i, word in enumerate(spread) if word.startswith("--data")]
    assert given == ["a", "b"]
    assert [word for word in spread if "seed" in word] == [word for word in words if "seed" in word]


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
        (["--data", "amazon", "--data-root", "nowhere"], 3, "`diffmg datasets download NAME` fetches"),
        (["--data"], 2, "--data"),
        ([], 2, "--data"),
    ],
)
def test_bad_input_is_said(arguments: list[str], code: int, words: str) -> None:
    answer = diffmg("bench", "engine", *arguments)
    assert answer.code == code
    assert words in answer.err
    assert "Traceback" not in answer.err


def test_what_was_measured_is_kept_when_the_next_data_are_missing(tmp_path: Path) -> None:
    file = tmp_path / "engine.json"
    answer = diffmg(
        "bench", "engine", "--data", "academic:120", "amazon", "--data-root", tmp_path, "--out", file, *QUICK
    )
    assert answer.code == 3
    assert list(written(file)["results"]) == ["academic:120"]


def test_growth_over_several_sizes(tmp_path: Path) -> None:
    file = tmp_path / "growth.json"
    answer = diffmg("bench", "growth", "--data", "academic", *TINY_GROWTH, "--out", file)
    assert answer.code == 0, answer.err
    found = written(file)
    assert [p["size"] for p in found["results"]["points"]] == [120, 400]
    assert len(found["results"]["exponents"]["seconds"]["between"]) == 1
    assert found["command"] == (
        "diffmg bench growth --data academic --sizes 120 400 --device cpu --epochs 1 --warm-up 0 --seed 0"
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
def test_growth_says_what_is_wrong(arguments: list[str], words: str) -> None:
    answer = diffmg("bench", "growth", *arguments)
    assert answer.code == 2
    assert words in answer.err


def test_threads_are_set_and_written(threads: int, tmp_path: Path) -> None:
    file = tmp_path / "growth.json"
    answer = diffmg("bench", "growth", *TINY_GROWTH, "--threads", 2, "--out", file)
    assert answer.code == 0
    assert written(file)["machine"]["threads"] == 2
    assert "--threads 2" in written(file)["command"]


def test_the_product_on_a_cpu_is_refused(tmp_path: Path) -> None:
    answer = diffmg("bench", "product", "--nodes", "1e3", "--device", "cpu", "--out", tmp_path / "product.json")
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
def test_the_product_says_what_is_wrong(arguments: list[str], words: str) -> None:
    answer = diffmg("bench", "product", *arguments)
    assert answer.code == 2
    assert words in answer.err


def test_the_product_is_written_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    way = {"median": 0.01234, "gathered_bytes_per_second": 1.5e12, "share_of_copy_bandwidth": 0.42}
    found = {"ways": {"fused, float32": way | {"relative_error": 1.25e-7}}, "ratio": 2.0}
    asked: list[Any] = []
    monkeypatch.setattr(product, "measure_product", lambda options, device: asked.append(options) or found)
    file = tmp_path / "product.json"
    answer = diffmg("bench", "product", "--nodes", "1e3", "--dim", 8, "--device", "cpu", "--out", file)
    assert answer.code == 0, answer.err
    assert asked == [product.ProductOptions(nodes=1000, dim=8)]
    assert written(file)["results"] == found
    assert written(file)["command"] == (
        "diffmg bench product --device cpu --nodes 1000 --degree 20 --dim 8 --repeats 20 --seed 0"
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


def test_scores_with_and_without_each_optimisation(planted: None, tmp_path: Path) -> None:
    file = tmp_path / "new" / "scores.json"
    arguments = ["--data", "academic:400", "shop:400", "--repeats", 3, "--device", "cpu"]
    answer = diffmg("bench", "scores", *arguments, "--out", file)
    assert answer.code == 0, answer.err
    found = written(file)
    assert set(found) == {"what", "command", "machine", "versions", "results"}
    assert found["command"] == ("diffmg bench scores --data academic:400 shop:400 --device cpu --repeats 3 --seed 0")
    assert {name: result["metric"] for name, result in found["results"].items()} == {
        "academic:400": "macro_f1",
        "shop:400": "auc",
    }
    for name, result in found["results"].items():
        assert list(result["variants"]) == ["default", "states in bfloat16", "16 columns at a time"]
        (row,) = (line for line in answer.out.splitlines() if name in line)
        for variant in result["variants"].values():
            assert len(variant["scores"]) == 3
            assert f"{100 * variant['mean']:.2f} ± {100 * variant['std']:.2f}" in row


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--data", "academic:120"], 2, "the authors' meta graphs, but got 'academic:120', which has none"),
        (["--data", "acadmic"], 2, "unknown data set 'acadmic'; did you mean 'academic'?"),
        (["--data", "amazon", "--repeats", "1"], 2, "`repeats >= 2` must hold"),
        (["--data", "amazon", "--threads", "0"], 2, "`threads >= 1` must hold, but got threads=0"),
        (["--data", "amazon", "--data-root", "nowhere"], 3, "`diffmg datasets download NAME` fetches"),
        ([], 2, "--data"),
    ],
)
def test_scores_say_what_is_wrong(arguments: list[str], code: int, words: str) -> None:
    answer = diffmg("bench", "scores", *arguments)
    assert answer.code == code
    assert words in answer.err
    assert "Traceback" not in answer.err
