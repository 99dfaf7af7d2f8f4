from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import speed_tables
from benchmarks.files import write_result
from diffmg.core.errors import DiffmgError

MACHINE = {
    "gpu": None,
    "cpu": "A Processor",
    "threads": 3,
    "copy_bytes_per_second": 2e10,
    "operations_per_second": 5e12,
}
ORIGIN = "`python -m benchmarks it --seed 0`; 3 threads of A Processor; torch 2.99, Python 3.98."
OURS = {"median": 0.0123, "low": 0.0112, "high": 0.0156, "peak_bytes": 123_000_000, "whole_median": 2.345}
OTHER = {"median": 0.0789, "low": 0.0778, "high": 0.0812, "peak_bytes": 456_000_000}
ENGINE = {
    "amazon": {
        "least_per_retraining_epoch": {"bytes": 40_000_000, "operations": 300_000_000},
        "search": {"ours": OURS, "yardstick": OTHER, "ratio": 6.4},
        "retrain": {"ours": OURS | {"median": 0.0246, "whole_median": 0.5}, "yardstick": OTHER, "ratio": 3.2},
    }
}
POINTS = [
    {"nodes": 1000, "edges": 12_345, "median": 0.00123, "peak_bytes": 20_000_000},
    {"nodes": 1_000_000, "edges": 9_876_543, "median": 1.23456, "peak_bytes": 3_210_000_000},
]
GROWTH = {"points": POINTS, "exponents": {"seconds": {"between": [1.07], "last": 1.07}}}
WAY = {
    "median": 0.01432,
    "gathered_bytes_per_second": 3.59e12,
    "share_of_copy_bandwidth": 0.874,
    "relative_error": 6.2e-8,
}
PRODUCT = {"ways": {"fused, float32": WAY}, "ratio": 2.33, "ratio_same_storage": 2.2, "ratio_float32": 1.59}
VARIANTS = {"default": {"mean": 0.9392, "std": 0.0026}, "16 columns at a time": {"mean": 0.9213, "std": 0.0035}}
SCORES = {"dblp": {"metric": "macro_f1", "variants": VARIANTS}}
READ = {"seconds": 57.1, "peak_gb": 1.73, "nodes": {"user": 1000, "item": 500}, "edges": {"chose": 9000, "of": 10}}
ANSWERED = {"seconds": 99.7, "users_per_second": 10_030.4, "peak_bytes": 250_000_000}
RACED = {"amazon": {"per_second": [1.5, 2.5], "parallel_per_second": 1.25}}
RACED_NOW = {"per_second": [3.0, 2.0], "parallel_per_second": 2.0, "largest_score_difference": 0.000012}
FILES = {
    "candidates_before": RACED,
    "candidates_after": {"amazon": RACED_NOW},
    "engine": ENGINE,
    "growth": GROWTH,
    "large": GROWTH,
    "product": PRODUCT,
    "scores": SCORES,
    "tables": READ,
    "dated": READ,
    "recommend": ANSWERED,
}
RATIOS = [
    ["amazon", "search", "78.9 (77.8 to 81.2)", "12.3 (11.2 to 15.6)", "6.4", "123", "456"],
    ["amazon", "retraining", "78.9 (77.8 to 81.2)", "24.6 (11.2 to 15.6)", "3.2", "123", "456"],
]
FLOORS = [["amazon", "40", "300", "2.000", "24.60", "12"]]
SIZES = [["1,000", "12,345", "1.23", "", "0.02"], ["1,000,000", "9,876,543", "1234.56", "1.07", "3.21"]]
UNCHANGED = [["dblp, macro f1", "93.92 ± 0.26", "92.13 ± 0.35"]]
WANTED = {
    "whole_gpu": [
        ["amazon", "search", "8.6", "2.345", "4", "12.30", "123"],
        ["amazon", "retraining", "22.0", "0.500", "44", "24.60", "123"],
    ],
    "ratios_cpu": RATIOS,
    "ratios_gpu": RATIOS,
    "floors_cpu": FLOORS,
    "floors_gpu": FLOORS,
    "growth_gpu": SIZES,
    "growth_cpu": SIZES,
    "large_gpu": SIZES,
    "product_gpu": [["fused, float32", "14.32", "3.59", "87 %", "6.2e-08"]],
    "unchanged_gpu": UNCHANGED,
    "unchanged_cpu": UNCHANGED,
    "reading_cpu": [["what it is", "1,500", "9,010", "57", "1.7"]] * 2,
    "candidates_cpu": [["amazon", "1.250", "2.500", "3.000", "2.40"]],
    "candidates_gpu": [["amazon", "2.0", "2.5", "3.0", "1.2e-05"]],
    "recommending": [["3 threads of A Processor", "100", "10,030", "0.25"]] * 2,
}
"""By table, the rows that the figures above give."""


def result(results: dict[str, Any], **machine: Any) -> dict[str, Any]:
    versions = {"torch": "2.99", "python": "3.98"}
    return {
        "what": "what it is",
        "command": "python -m benchmarks it --seed 0",
        "machine": MACHINE | machine,
        "versions": versions,
        "results": results,
    }


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Result files with the figures above, instead of those of the repository."""
    for name, results in FILES.items():
        for where in ("cpu", "h200"):
            write_result(tmp_path / f"{name}_{where}.json", result(results))
    paper = tmp_path / "paper.toml"
    paper.write_text("[amazon]\nprogram_search_seconds = 8.6\nprogram_retrain_seconds = 22.0\n")
    monkeypatch.setattr(speed_tables, "SPEED", tmp_path)
    monkeypatch.setattr(speed_tables, "PAPER", paper)
    return tmp_path


def rows_of(text: str) -> list[list[str]]:
    """The cells of a Markdown table, its head first."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("name", sorted(WANTED))
def test_the_figures_in_a_table_of_speed_are_those_of_the_file(name: str) -> None:
    text = speed_tables.TABLES[name]()
    head, *rows = rows_of(text)
    assert rows == WANTED[name]
    assert len(head) == len(rows[0])
    (rule,) = (line for line in text.splitlines() if line.startswith("|---"))
    assert rule == "|---|" + "---:|" * (len(head) - 1)
    assert f"\n\n{ORIGIN}" in text


def test_every_table_is_checked() -> None:
    assert set(speed_tables.TABLES) == set(WANTED)


def test_the_lines_below_the_tables_of_speed_are_from_the_file() -> None:
    assert "Measured ceilings: copy 20 GB/s, dense product 5.00 Tflop/s (float32)." in speed_tables.floors("engine_cpu")
    said = speed_tables.product()
    assert "takes 1/2.33 of the library's float32 time and 1/2.20 of its bfloat16 time; in float32, 1/1.59." in said


def test_a_floor_may_be_set_by_arithmetic(files: Path) -> None:
    """300 million operations at 1e10 a second take 30 ms; 40 MB at 20 GB/s take 2."""
    write_result(files / "engine_cpu.json", result(ENGINE, operations_per_second=1e10))
    assert rows_of(speed_tables.floors("engine_cpu"))[1] == ["amazon", "40", "300", "30.000", "24.60", "1"]


def test_a_gpu_is_named_instead_of_threads() -> None:
    assert speed_tables.origin(result({}, gpu="NVIDIA H200")) == (
        "\n`python -m benchmarks it --seed 0`; NVIDIA H200; torch 2.99, Python 3.98."
    )


def test_the_command_of_an_older_file_has_its_present_name() -> None:
    old = result({}) | {"command": "diffmg bench it --seed 0"}
    assert speed_tables.origin(old) == f"\n{ORIGIN}"


def test_a_file_that_is_not_there_is_named(files: Path) -> None:
    (files / "scores_cpu.json").unlink()
    with pytest.raises(DiffmgError, match=r"scores_cpu\.json"):
        speed_tables.TABLES["unchanged_cpu"]()
