"""Tables of speed, from the files in `results/speed` that `python -m benchmarks` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.files import RESULTS, read_result
from diffmg.core.codec import read_toml

SPEED = RESULTS / "speed"
PAPER = Path(__file__).parents[1] / "experiments" / "plans" / "ding2021.toml"
"""Figures of the paper and of the authors' program."""
WORKS = (("search", "search"), ("retrain", "retraining"))


def load(name: str) -> dict[str, Any]:
    """A result file."""
    return read_result(SPEED / f"{name}.json")


def computer(found: dict[str, Any]) -> str:
    """The GPU, or the threads of a CPU, that did it."""
    machine = found["machine"]
    return str(machine["gpu"] or f"{machine['threads']} threads of {machine['cpu']}")


def origin(found: dict[str, Any]) -> str:
    """Where a table comes from: command, machine, versions."""
    versions = found["versions"]
    command = found["command"].replace("diffmg bench", "python -m benchmarks", 1)  # its name in older files
    return f"\n`{command}`; {computer(found)}; torch {versions['torch']}, Python {versions['python']}."


def table(heads: list[str], rows: list[list[str]], *found: dict[str, Any]) -> str:
    """A Markdown table with text in the first column and numbers in the others, and the origins of its figures."""
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows), *dict.fromkeys(map(origin, found))])


def spread(program: dict[str, float]) -> str:
    """Milliseconds, median and quartiles."""
    middle, low, high = (1000 * program[key] for key in ("median", "low", "high"))
    return f"{middle:.1f} ({low:.1f} to {high:.1f})"


def whole_gpu() -> str:
    """Whole searches and retrainings on a GPU beside the authors' program."""
    found = load("engine_h200")
    program = read_toml(PAPER, "the paper's figures")
    heads = ["data", "work", "authors' program (s)", "this package (s)", "times faster", "epoch (ms)", "memory (MB)"]
    rows = []
    for name, result in found["results"].items():
        for work, word in WORKS:
            ours, theirs = result[work]["ours"], program[name][f"program_{work}_seconds"]
            seconds = ours["whole_median"]
            cells = [f"{theirs:.1f}", f"{seconds:.3f}", f"{theirs / seconds:.0f}", f"{1000 * ours['median']:.2f}"]
            rows.append([name, word, *cells, f"{ours['peak_bytes'] / 1e6:.0f}"])
    return table(heads, rows, found)


def ratios(name: str) -> str:
    """Ours beside the naive reference, in one process, taking turns."""
    found = load(name)
    heads = ["data", "work", "reference (ms/epoch)", "this package (ms/epoch)", "ratio", "memory (MB)", "reference's"]
    rows = []
    for data, result in found["results"].items():
        for work, word in WORKS:
            ours, other = result[work]["ours"], result[work]["yardstick"]
            times = [spread(p) for p in (other, ours)]
            memory = [f"{p['peak_bytes'] / 1e6:.0f}" for p in (ours, other)]
            rows.append([data, word, *times, f"{result[work]['ratio']:.1f}", *memory])
    return table(heads, rows, found)


def floors(name: str) -> str:
    """The two numbers, the floor they give, and how far above it a retraining epoch is."""
    found = load(name)
    machine = found["machine"]
    heads = ["data", "bytes (MB)", "operations (M)", "floor (ms)", "measured (ms)", "times the floor"]
    rows = []
    for data, result in found["results"].items():
        least = result["least_per_retraining_epoch"]
        moving = least["bytes"] / machine["copy_bytes_per_second"]
        floor = max(moving, least["operations"] / machine["operations_per_second"])
        measured = result["retrain"]["ours"]["median"]
        numbers = [f"{least['bytes'] / 1e6:.0f}", f"{least['operations'] / 1e6:.0f}"]
        rows.append([data, *numbers, f"{1e3 * floor:.3f}", f"{1e3 * measured:.2f}", f"{measured / floor:.0f}"])
    speeds = (
        f"\nMeasured ceilings: copy {machine['copy_bytes_per_second'] / 1e9:.0f} GB/s, "
        f"dense product {machine['operations_per_second'] / 1e12:.2f} Tflop/s (float32)."
    )
    return table(heads, rows, found) + speeds


def growth(name: str) -> str:
    """Seconds per search epoch and memory on synthetic data of several sizes."""
    found = load(name)
    points, slopes = found["results"]["points"], found["results"]["exponents"]["seconds"]["between"]
    heads = ["nodes", "edges", "search epoch (ms)", "exponent", "memory (GB)"]
    rows = []
    for point, slope in zip(points, [None, *slopes], strict=True):
        exponent = "" if slope is None else f"{slope:.2f}"
        numbers = [f"{point['nodes']:,}", f"{point['edges']:,}", f"{1000 * point['median']:.2f}", exponent]
        rows.append([*numbers, f"{point['peak_bytes'] / 1e9:.2f}"])
    return table(heads, rows, found)


def product() -> str:
    """The sparse product alone."""
    found = load("product_h200")
    results = found["results"]
    heads = ["way", "ms", "gathered (TB/s)", "share of the copy bandwidth", "relative error"]
    rows = []
    for way, p in results["ways"].items():
        numbers = [f"{1000 * p['median']:.2f}", f"{p['gathered_bytes_per_second'] / 1e12:.2f}"]
        rows.append([way, *numbers, f"{100 * p['share_of_copy_bandwidth']:.0f} %", f"{p['relative_error']:.1e}"])
    ratio = (
        f"\nThe fused product with bfloat16 storage takes 1/{results['ratio']:.2f} of the library's float32 time and "
        f"1/{results['ratio_same_storage']:.2f} of its bfloat16 time; in float32, 1/{results['ratio_float32']:.2f}."
    )
    return table(heads, rows, found) + ratio


def unchanged(name: str) -> str:
    """Test scores with and without each optimisation."""
    found = load(name)
    variants = list(next(iter(found["results"].values()))["variants"])
    rows = []
    for data, result in found["results"].items():
        cells = [f"{100 * v['mean']:.2f} ± {100 * v['std']:.2f}" for v in result["variants"].values()]
        rows.append([f"{data}, {result['metric'].replace('_', ' ')}", *cells])
    return table(["data", *variants], rows, found)


def reading() -> str:
    """Networks made of large tables."""
    files = [load(f"{name}_cpu") for name in ("tables", "dated")]
    rows = []
    for found in files:
        results = found["results"]
        sizes = [f"{sum(results[kind].values()):,}" for kind in ("nodes", "edges")]
        rows.append([found["what"], *sizes, f"{results['seconds']:.0f}", f"{results['peak_gb']:.1f}"])
    return table(["what", "nodes", "edges", "seconds", "memory (GB)"], rows, *files)


def recommending() -> str:
    """The best items of every user, on a CPU and on a GPU."""
    files = [load(f"recommend_{where}") for where in ("cpu", "h200")]
    rows = []
    for found in files:
        results = found["results"]
        cells = [
            f"{results['seconds']:.0f}",
            f"{results['users_per_second']:,.0f}",
            f"{results['peak_bytes'] / 1e9:.2f}",
        ]
        rows.append([computer(found), *cells])
    return table(["computer", "seconds", "users a second", "memory (GB)"], rows, *files)


def candidates_gpu() -> str:
    """Candidates trained in a second on a GPU, before and after its batches were changed."""
    files = [load(f"candidates_{when}_h200") for when in ("before", "after")]
    before, after = (found["results"] for found in files)
    rows = [
        [
            data,
            f"{now['parallel_per_second']:.1f}",
            f"{max(before[data]['per_second']):.1f}",
            f"{max(now['per_second']):.1f}",
            f"{now['largest_score_difference']:.1e}",
        ]
        for data, now in after.items()
    ]
    heads = ["data", "trainings of their own (a second)", "a race, before", "a race now", "largest score difference"]
    return table(heads, rows, *files)


def candidates() -> str:
    """Candidates trained in a second on a CPU, before and after its products were changed."""
    files = [load(f"candidates_{when}_cpu") for when in ("before", "after")]
    before, after = (found["results"] for found in files)
    heads = ["data", "trainings of their own, before (a second)", "a race, before", "a race now", "times faster"]
    rows = []
    for data, now in after.items():
        own, race = before[data]["parallel_per_second"], max(before[data]["per_second"])
        fastest = max(now["per_second"])
        rows.append([data, f"{own:.3f}", f"{race:.3f}", f"{fastest:.3f}", f"{fastest / own:.2f}"])
    return table(heads, rows, *files)


TABLES = {
    "whole_gpu": whole_gpu,
    "ratios_cpu": lambda: ratios("engine_cpu"),
    "ratios_gpu": lambda: ratios("engine_h200"),
    "floors_cpu": lambda: floors("engine_cpu"),
    "floors_gpu": lambda: floors("engine_h200"),
    "growth_gpu": lambda: growth("growth_h200"),
    "large_gpu": lambda: growth("large_h200"),
    "growth_cpu": lambda: growth("growth_cpu"),
    "product_gpu": product,
    "unchanged_gpu": lambda: unchanged("scores_h200"),
    "unchanged_cpu": lambda: unchanged("scores_cpu"),
    "reading_cpu": reading,
    "recommending": recommending,
    "candidates_cpu": candidates,
    "candidates_gpu": candidates_gpu,
}
