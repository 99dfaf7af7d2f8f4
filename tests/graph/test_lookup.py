from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.graph import lookup
from diffmg.graph.network import HeteroGraph


def network(ids: list[int | str]) -> HeteroGraph:
    return HeteroGraph.build({"a": len(ids), "b": 1}, {("a", "r", "b"): [[0], [0]]}, ids={"a": ids})


@given(
    st.lists(st.integers(-50, 50), min_size=1, unique=True)
    | st.lists(st.text("abü", max_size=3), min_size=1, unique=True)
)
def test_rows_are_those_of_a_slow_look(ids: list[int | str]) -> None:
    graph, wanted = network(ids), [*ids[::-1], ids[0]]
    assert graph.index_of("a", wanted).tolist() == [ids.index(one) for one in wanted]
    with pytest.raises(DiffmgError, match="1 unknown"):
        graph.index_of("a", [*wanted, "none of them" if isinstance(ids[0], str) else 99])


def test_ids_are_sorted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, sort = network(["x", "y"]), np.argsort
    calls: list[int] = []
    monkeypatch.setattr(lookup.np, "argsort", lambda *given, **more: calls.append(1) or sort(*given, **more))
    for _ in range(3):
        graph.index_of("a", ["y"])
    assert len(calls) == 1
