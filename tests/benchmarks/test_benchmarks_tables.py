from __future__ import annotations

import pytest

from benchmarks.tables import TablesOptions, measure_tables, read, write_tables
from diffmg.core.errors import DiffmgError
from diffmg.tables import read_graph


@pytest.mark.parametrize("ids", ["numbers", "text"])
def test_the_tables_are_a_network(ids, tmp_path):
    graph = read_graph(write_tables(tmp_path, TablesOptions(edges=500, ids=ids)))
    assert graph.num_nodes == {"user": 50, "item": 50}
    assert set(graph.features) == {"user", "item"}
    assert {str(relation) for relation in graph.adjacency} == {"user -bought-> item", "item -rev_bought-> user"}
    assert graph.ids["user"].dtype.kind == ("U" if ids == "text" else "i")


def test_reading_is_measured_in_a_process_of_its_own(tmp_path):
    options = TablesOptions(edges=200)
    found = measure_tables(options)
    here = read(write_tables(tmp_path, options))
    assert {name: found[name] for name in ("nodes", "edges")} == {name: here[name] for name in ("nodes", "edges")}
    assert set(found) == set(here)
    assert found["seconds"] >= 0
    assert 0 < found["peak_gb_before"] <= found["peak_gb"]


def test_there_must_be_edges():
    with pytest.raises(DiffmgError, match=r"`edges >= 1` must hold"):
        TablesOptions(edges=0)
