from __future__ import annotations

import pytest

from benchmarks.dated_rows import DatedOptions, measure_dated, write_dated
from diffmg.core.errors import DiffmgError
from diffmg.tables import read_graph

SMALL = DatedOptions(rows=2000, entities=20, predictions=100)


def test_the_rows_are_a_timed_network(tmp_path):
    graph = read_graph(write_dated(tmp_path, SMALL))
    assert graph.num_nodes == {"customers": 20, "orders": 2000, "predictions": 100}
    edges = {relation.name: matrix.nnz for relation, matrix in graph.adjacency.items()}
    assert edges == {"of": 100, "last 1": 100, "last 5": 500, "last 20": 2000}
    assert graph.timed == {"orders", "predictions"}


def test_building_is_measured_in_a_process_of_its_own():
    found = measure_dated(SMALL)
    assert found["edges"]["orders -last 20-> predictions"] == 2000
    assert 0 < found["peak_gb_before"] <= found["peak_gb"]


def test_there_must_be_rows():
    with pytest.raises(DiffmgError, match=r"`rows >= 10` must hold, but got rows=3"):
        DatedOptions(rows=3)
