from __future__ import annotations

import pytest
import torch

from benchmarks import product
from benchmarks.product import ProductOptions, _exact, _library, _matrix, _measured, measure_product
from diffmg.core.errors import DiffmgError

CPU = torch.device("cpu")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="the fused product is timed on a GPU alone")


def drawn(options: ProductOptions) -> torch.Tensor:
    return _matrix(options, torch.Generator().manual_seed(options.seed))


def test_a_cpu_is_refused():
    with pytest.raises(DiffmgError, match="but got 'cpu'; on a CPU the library's"):
        measure_product(ProductOptions(nodes=10, degree=2, dim=4, repeats=1), CPU)


@pytest.mark.parametrize("name", ["nodes", "degree", "dim", "repeats"])
def test_sizes_are_one_or_more(name):
    with pytest.raises(DiffmgError, match=rf"`{name} >= 1` must hold, but got .*{name}=0"):
        ProductOptions(**{name: 0})


def test_edges_must_fit_into_32_bits():
    assert ProductOptions(nodes=2**30, degree=1).nodes == 2**30
    with pytest.raises(DiffmgError, match=r"but got .*nodes=1073741824, degree=2"):
        ProductOptions(nodes=2**30, degree=2)


@pytest.mark.parametrize("wrong", [{"nodes": 1.5}, {"degree": "3"}, {"repeats": True}], ids=str)
def test_sizes_are_whole_numbers(wrong):
    with pytest.raises(DiffmgError, match="must be a whole number, but got"):
        ProductOptions(**wrong)


@pytest.mark.parametrize(("nodes", "degree"), [(1, 1), (7, 3), (50, 20), (3, 8)])
def test_the_matrix_has_the_degree_and_is_a_mean(nodes, degree):
    matrix = drawn(ProductOptions(nodes=nodes, degree=degree))
    assert matrix.shape == (nodes, nodes)
    assert matrix.crow_indices().diff().tolist() == [degree] * nodes
    columns = matrix.col_indices().view(nodes, degree)
    assert int(columns.min()) >= 0
    assert int(columns.max()) < nodes
    assert bool((columns.diff(dim=1) >= 0).all()), "columns of a row are in order"
    assert (matrix.crow_indices().dtype, matrix.col_indices().dtype) == (torch.int32, torch.int32)
    torch.testing.assert_close(matrix.to_dense().sum(dim=1), torch.ones(nodes))


def test_the_matrix_follows_from_the_seed_and_reaches_everything():
    one, same, other = (drawn(ProductOptions(nodes=40, degree=20, seed=seed)).col_indices() for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert one.unique().numel() == 40


@pytest.mark.parametrize("checked", [1, 5, 1000])
def test_the_exact_rows_are_those_of_the_dense_product(checked, monkeypatch):
    monkeypatch.setattr(product, "CHECKED", checked)
    matrix = drawn(ProductOptions(nodes=30, degree=4))
    x = torch.randn(30, 6, generator=torch.Generator().manual_seed(0))
    exact = _exact(matrix, x)
    assert exact.dtype == torch.float64
    torch.testing.assert_close(exact, (matrix.to_dense().double() @ x.double())[:checked])


def test_a_way_is_measured_with_its_error_and_its_bytes(monkeypatch):
    """Three seconds by the clock: low, median and high of them, and bytes by the median."""
    options = ProductOptions(nodes=30, degree=4, dim=6, repeats=3)
    matrix = drawn(options)
    x = torch.randn(30, 6, generator=torch.Generator().manual_seed(0))
    seconds = iter([0.5, 0.25, 4.0])
    monkeypatch.setattr(product, "_seconds", lambda work: next(seconds))
    found = _measured(_library(matrix, x), _exact(matrix, x), options, bandwidth=23040.0)
    assert found.pop("relative_error") < 1e-6
    assert found == {
        "low": 0.25,
        "median": 0.5,
        "high": 4.0,
        "gathered_bytes": 30 * 4 * 6 * 4,
        "gathered_bytes_per_second": 5760.0,
        "share_of_copy_bandwidth": 0.25,
    }


def test_the_error_of_a_wrong_way_shows_and_half_the_width_is_half_the_bytes(monkeypatch):
    options = ProductOptions(nodes=30, degree=4, dim=6, repeats=1)
    matrix = drawn(options)
    x = torch.randn(30, 6, generator=torch.Generator().manual_seed(0))
    exact = _exact(matrix, x)
    monkeypatch.setattr(product, "_seconds", lambda work: 1.0)
    wrong = _measured(lambda: 1.5 * exact.float(), exact, options, 1.0)
    assert wrong["relative_error"] == pytest.approx(0.5, rel=1e-5)
    half = _measured(lambda: exact.bfloat16(), exact, options, 1.0)
    assert 0 < half["relative_error"] < 0.01
    assert 2 * half["gathered_bytes"] == wrong["gathered_bytes"]


@needs_gpu
def test_all_ways_are_right_and_timed_on_a_gpu(monkeypatch):
    monkeypatch.setitem(product.ceilings.__globals__["COPIED"], "cuda", 2**20)
    options = ProductOptions(nodes=5000, degree=8, dim=64, repeats=3)
    found = measure_product(options, torch.device("cuda"))
    assert found["edges"] == 40_000
    ways = found["ways"]
    assert list(ways) == ["library, float32", "library, bfloat16", "fused, float32", "fused, bfloat16"]
    for name, way in ways.items():
        assert 0 < way["low"] <= way["median"] <= way["high"]
        assert way["relative_error"] < (1e-5 if "float32" in name else 1e-2)
    half = ways["fused, bfloat16"]["median"]
    assert found["ratio"] == ways["library, float32"]["median"] / half
    assert found["ratio_same_storage"] == ways["library, bfloat16"]["median"] / half
    assert found["ratio_float32"] == ways["library, float32"]["median"] / ways["fused, float32"]["median"]
