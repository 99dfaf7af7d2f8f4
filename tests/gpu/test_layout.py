"""The tables the kernels read, written out as dense matrices by code of the test's own."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import oracle
from diffmg.core.metagraph import EMPTY, IDENTITY
from diffmg.core.schema import Relation
from diffmg.engine import layout
from diffmg.engine.layout import KernelTables, Table, chunk_rows, kernel_tables
from small_networks import AB, BB, NODES, small_world
from worlds import World, worlds


def neighbours(table: Table, number: int, nodes: int) -> np.ndarray:
    """The (N, N) matrix of an operation, from the pointers of its rows."""
    dense = np.zeros((nodes, nodes))
    low = int(table.low_row[number])
    for row in range(low, int(table.high_row[number])):
        place = int(table.base[number]) + row - low
        for entry in range(int(table.pointer[place]), int(table.pointer[place + 1])):
            dense[row, table.columns[entry]] += table.values[entry].item()
    return dense


def neighbours_by_chunks(table: Table, number: int, nodes: int) -> np.ndarray:
    """The same, where rows that were split are read from their chunks alone."""
    dense = np.zeros((nodes, nodes))
    low = int(table.low_row[number])
    for row in range(low, int(table.high_row[number])):
        place = int(table.base[number]) + row - low
        first, last = table.chunk_pointer[place].item(), table.chunk_pointer[place + 1].item()
        chunks = [table.chunks[int(table.chunk_base[number]) + n].tolist() for n in range(first, last)]
        for start, end in chunks or [table.pointer[place : place + 2].tolist()]:
            for entry in range(start, end):
                dense[row, table.columns[entry]] += table.values[entry].item()
    return dense


def self_terms(tables: KernelTables, number: int) -> np.ndarray:
    """What an operation does to a row itself, on the diagonal of an (N, N) matrix."""
    diagonal = np.full(tables.nodes, tables.self_terms.passing[number].item())
    low, high, base = (int(t[number]) for t in (tables.self_terms.low, tables.self_terms.high, tables.self_terms.base))
    diagonal[low:high] = tables.self_terms.keep[base : base + high - low].cpu().numpy()
    return np.diag(diagonal)


def assert_tables_are(tables: KernelTables, world: World) -> None:
    """Both directions of every operation are what the paper says."""
    for relation in world.schema.relations:
        number = tables.numbers[relation]
        forward, backward = (neighbours(t, number, tables.nodes) for t in (tables.forward, tables.backward))
        np.testing.assert_array_equal(backward, forward.T)
        wanted = oracle.propagation(world, relation).numpy()
        np.testing.assert_allclose(forward + self_terms(tables, number), wanted, rtol=0, atol=1e-6)
    for operation, wanted in ((IDENTITY, np.eye(tables.nodes)), (EMPTY, np.zeros((tables.nodes, tables.nodes)))):
        number = tables.numbers[operation]
        for table in (tables.forward, tables.backward):
            assert not neighbours(table, number, tables.nodes).any()
        np.testing.assert_array_equal(self_terms(tables, number), wanted)


def test_operations_are_numbered_in_the_order_of_the_schema_then_identity_and_empty():
    graph = small_world().graph()
    assert list(KernelTables.of(graph).numbers) == [*graph.schema.relations, IDENTITY, EMPTY]
    assert list(KernelTables.of(graph).numbers.values()) == list(range(len(graph.schema.relations) + 2))


def test_nodes_are_numbered_together_type_by_type():
    tables = KernelTables.of(small_world().graph())
    assert tables.starts == {"a": 0, "b": 10, "c": 17}
    assert tables.nodes == sum(NODES.values())
    assert tables.node_type.tolist() == [0] * 10 + [1] * 7 + [2] * 4


def test_ends_of_the_operations():
    graph = small_world().graph()
    tables, types = KernelTables.of(graph), graph.schema.node_types
    for relation in graph.schema.relations:
        number = tables.numbers[relation]
        assert types[tables.sources[number]] == relation.source
        assert types[tables.targets[number]] == relation.target
        assert types[tables.forward.column_type[number]] == relation.source
        assert types[tables.backward.column_type[number]] == relation.target


def test_written_out_the_tables_are_the_dense_matrices():
    world = small_world()
    assert_tables_are(KernelTables.of(world.graph()), world)


@given(worlds())
def test_written_out_the_tables_of_any_network_are_the_dense_matrices(world):
    """Isolated nodes, edges given twice, weights of zero, types without relations."""
    assert_tables_are(KernelTables.of(world.graph()), world)


def test_the_tables_are_the_same_on_the_device(device):
    there, here = KernelTables.of(small_world().graph().to(device)), KernelTables.of(small_world().graph())
    for name in ("pointer", "columns", "values", "chunk_pointer", "chunks", "low_row", "high_row", "base"):
        moved, plain = getattr(there.forward, name), getattr(here.forward, name)
        assert moved.device.type == device.type
        assert torch.equal(moved.cpu(), plain)
    assert there.self_terms.keep.device.type == device.type


def test_a_relation_that_holds_its_own_share_keeps_nothing_apart():
    """Within one type the matrix has the node itself on its diagonal."""
    tables = KernelTables.of(small_world().graph())
    rows = slice(10, 17)
    assert not self_terms(tables, tables.numbers[BB])[rows, rows].any()
    assert self_terms(tables, tables.numbers[AB])[rows, rows].any()


def test_long_rows_are_cut_and_short_ones_left_alone(monkeypatch):
    monkeypatch.setattr(layout, "CHUNK", 4)
    tables = KernelTables.of(small_world().graph())
    assert tables.forward.max_chunks > 0
    assert tables.backward.max_chunks > 0
    for table in (tables.forward, tables.backward):
        assert table.max_chunks == table.chunk_count.max()
        for number in tables.numbers.values():
            by_chunks = neighbours_by_chunks(table, number, tables.nodes)
            np.testing.assert_array_equal(by_chunks, neighbours(table, number, tables.nodes))


def test_a_network_without_long_rows_has_no_chunks():
    tables = KernelTables.of(small_world().graph())
    assert (tables.forward.max_chunks, tables.backward.max_chunks) == (0, 0)


def pointer_of(lengths: list[int], start: int) -> Tensor:
    return start + torch.tensor([0, *np.cumsum(lengths)], dtype=torch.int32)


@given(st.lists(st.integers(0, 14), min_size=1, max_size=12), st.integers(0, 9), st.integers(1, 5))
def test_chunks_cover_every_entry_of_long_rows_exactly_once(lengths, start, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "CHUNK", size)
        pointer = pointer_of(lengths, start)
        chunk_pointer, chunks = chunk_rows(pointer, layout.CHUNK)
    assert chunk_pointer.dtype == chunks.dtype == pointer.dtype
    assert (chunk_pointer[0], chunk_pointer[-1]) == (0, len(chunks))
    for row, length in enumerate(lengths):
        mine = chunks[chunk_pointer[row] : chunk_pointer[row + 1]].tolist()
        covered = [entry for low, high in mine for entry in range(low, high)]
        wanted = list(range(pointer[row], pointer[row + 1])) if length > size else []
        assert covered == wanted
        assert all(0 < high - low <= size for low, high in mine)


@pytest.mark.parametrize(("length", "chunks"), [(4, 0), (5, 2), (8, 2), (9, 3)])
def test_where_a_row_is_cut(monkeypatch, length, chunks):
    monkeypatch.setattr(layout, "CHUNK", 4)
    assert len(chunk_rows(pointer_of([length], 0), layout.CHUNK)[1]) == chunks


def test_the_tables_of_a_network_are_built_once_and_go_with_it():
    graph, other = small_world().graph(), small_world().graph()
    tables = kernel_tables(graph)
    assert kernel_tables(graph) is tables
    assert kernel_tables(other) is not tables
    left = weakref.ref(tables)
    del graph, tables
    gc.collect()
    assert left() is None


def test_relations_named_alike_are_kept_apart():
    """The number hangs on the whole relation, not on its name."""
    there, back = Relation("a", "x", "b"), Relation("b", "x", "a")
    world = World({"a": 2, "b": 3}, {there: np.array([[0, 1], [2, 2]]), back: np.array([[1], [1]])})
    tables = KernelTables.of(world.graph())
    assert tables.numbers[there] != tables.numbers[back]
    assert_tables_are(tables, world)
