"""DOT for Graphviz: node types and relations."""

from __future__ import annotations

import re

from diffmg.core.importance import PathImportance
from diffmg.viz import draw, draw_all
from pictures import ODD, ODD_GRAPH, PLANTED, WRITTEN_BY, labels, published


def test_each_tower_is_a_cluster_and_names_are_quoted() -> None:
    dot = draw_all(published("douban"), "dot")
    assert dot.count("subgraph cluster_") == 2
    assert dot.count("{") == dot.count("}") == 3
    assert labels(draw(ODD_GRAPH, "dot"), "dot") == [ODD]


def test_arrows_go_to_the_target_and_grow_with_their_share() -> None:
    assert re.findall(r"(\w+) -> (\w+)", draw(PLANTED, "dot")) == [("g0n1", "g0n0"), ("g0n2", "g0n1")]
    known = [PathImportance("author", (WRITTEN_BY,), 0.3, 0.0)]
    dot = draw_all([PLANTED], "dot", importances=known)
    assert labels(dot, "dot") == ["written by · 100%", "publishes · 0%"]
    assert re.findall(r"penwidth=([\d.]+)\];\n    g0n2 ->", dot) == ["8.0"]
