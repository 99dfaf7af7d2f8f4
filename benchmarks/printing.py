"""Printed tables of the measured figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table


def engine_table(results: Mapping[str, Any]) -> Table:
    """Both programs on each data set."""
    times = ("ours (ms/epoch)", "reference (ms/epoch)", "times faster")
    heads = ("data", "work", *times, "ours (MB)", "reference (MB)", "whole job (s)")
    table = Table(*heads, title="epochs: median and quartiles of blocks", title_justify="left")
    for name, result in results.items():
        for work in ("search", "retrain"):
            found = result[work]
            ours, other, ratio = found["ours"], found.get("yardstick"), found["ratio"]
            cells = [_milliseconds(ours), _milliseconds(other), "-" if ratio is None else f"{ratio:.1f}"]
            whole = f"{ours['whole_median']:.2f}" if "whole_median" in ours else "-"
            table.add_row(name, work, *cells, _megabytes(ours), _megabytes(other), whole)
    return table


def growth_table(points: Sequence[Mapping[str, Any]], slopes: Mapping[str, Any]) -> Table:
    """A search at each size."""
    table = Table("nodes", "edges", "ms/epoch", "MB", "exponent", title="growth of a search", title_justify="left")
    between = [None, *slopes["seconds"]["between"]]
    for point, slope in zip(points, between, strict=True):
        numbers = (f"{point[key]:,}" for key in ("nodes", "edges"))
        table.add_row(*numbers, _milliseconds(point), _megabytes(point), "-" if slope is None else f"{slope:.2f}")
    return table


def product_table(results: Mapping[str, Any]) -> Table:
    """Each implementation of the product."""
    table = Table("way", "ms", "gathered TB/s", "of copy bandwidth", "relative error")
    for name, found in results["ways"].items():
        share, error = found["share_of_copy_bandwidth"], found["relative_error"]
        speed = found["gathered_bytes_per_second"] / 1e12
        table.add_row(name, f"{1000 * found['median']:.2f}", f"{speed:.2f}", f"{100 * share:.0f} %", f"{error:.1e}")
    return table


def scores_table(results: Mapping[str, Any], repeats: int) -> Table:
    """Each variant on each data set."""
    table = Table("data", *next(iter(results.values()))["variants"], title=f"mean ± std of {repeats} trainings")
    for name, result in results.items():
        cells = (f"{100 * v['mean']:.2f} ± {100 * v['std']:.2f}" for v in result["variants"].values())
        table.add_row(name, *cells)
    return table


def _milliseconds(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "-"
    middle, low, high = (1000 * found[key] for key in ("median", "low", "high"))
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def _megabytes(found: Mapping[str, Any] | None) -> str:
    return "-" if found is None or found["peak_bytes"] is None else f"{found['peak_bytes'] / 1e6:.0f}"
