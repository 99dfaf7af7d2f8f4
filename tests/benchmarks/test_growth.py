from __future__ import annotations

import pytest
import torch

from benchmarks.growth import GrowthOptions, checked_sizes, exponents, measure_size
from diffmg.core.errors import DiffmgError

CPU = torch.device("cpu")


def points(*rows: tuple[int, float, int | None]) -> list[dict]:
    return [{"edges": edges, "median": seconds, "peak_bytes": peak} for edges, seconds, peak in rows]


def test_a_size_is_measured():
    small, large = (measure_size("academic", size, CPU, GrowthOptions(epochs=2, warm_up=0)) for size in (120, 1200))
    assert set(small) == {"size", "nodes", "edges", "median", "low", "high", "epochs", "peak_bytes"}
    assert (small["size"], large["size"]) == (120, 1200)
    assert large["nodes"] == pytest.approx(1200, rel=0.05)
    assert large["edges"] > 5 * small["edges"]
    assert small["epochs"] == 2
    assert small["median"] > 0


def test_exponents_are_slopes_in_the_logarithms():
    found = exponents(points((10, 1.0, 100), (100, 2.0, 400), (1000, 20.0, 4000), (10000, 200.0, 40000)))
    assert found["seconds"]["between"] == pytest.approx([0.30103, 1.0, 1.0])
    assert found["seconds"]["last"] == pytest.approx(1.0)
    assert found["peak_bytes"]["between"] == pytest.approx([0.60206, 1.0, 1.0])


def test_the_last_exponent_is_fitted_over_three_sizes():
    found = exponents(points((1, 99.0, None), (10, 1.0, None), (100, 10.0, None), (1000, 1000.0, None)))
    assert found["seconds"]["last"] == pytest.approx(1.5)


def test_what_is_not_known_has_no_exponent():
    assert exponents(points((10, 1.0, None), (100, 2.0, None)))["peak_bytes"] == {"between": [], "last": None}
    assert exponents(points((10, 1.0, 5)))["seconds"] == {"between": [], "last": None}
    assert exponents(points((10, 1.0, 5), (10, 2.0, 5)))["seconds"] == {"between": [None], "last": None}


def test_sizes_are_whole_numbers_smallest_first():
    assert checked_sizes("academic", ["1e5", "400", "1e4", "10000"]) == [400, 10000, 100000]


@pytest.mark.parametrize(
    ("data", "sizes", "words"),
    [
        ("academic", ["many"], "whole number of nodes, but got 'academic:many'"),
        ("academic", ["1.5"], "but got 'academic:1.5'"),
        ("academic", ["-3"], "but got 'academic:-3'"),
        ("academic", [], "one or more sizes, but got 0"),
        ("academic:100", ["200"], "without a size, but got 'academic:100'"),
        ("yelp@3", ["200"], "without a size, but got 'yelp@3'"),
    ],
)
def test_bad_sizes_are_said(data, sizes, words):
    with pytest.raises(DiffmgError, match=words):
        checked_sizes(data, sizes)


@pytest.mark.parametrize(
    ("data", "size", "words"),
    [("acadmic", 400, "did you mean 'academic'"), ("academic", 3, "but got size=3"), ("amazon", 400, "only made data")],
)
def test_bad_data_are_said(data, size, words):
    with pytest.raises(DiffmgError, match=words):
        measure_size(data, size, CPU, GrowthOptions())


@pytest.mark.parametrize(("wrong", "rule"), [("epochs", 1), ("warm_up", 0)])
def test_rules_of_the_options(wrong, rule):
    with pytest.raises(DiffmgError, match=rf"`{wrong} >= {rule}` must hold, but got .*{wrong}=-1"):
        GrowthOptions(**{wrong: -1})
