"""DOT for Graphviz."""

from __future__ import annotations

import re

from diffmg.viz import draw, draw_all
from pictures import DEAD, published


def test_dead_links_are_dotted() -> None:
    assert re.findall(r'label="(\w+)[^]]*style=dotted', draw(DEAD, "dot", "states")) == ["writes"]


def test_each_tower_is_a_cluster() -> None:
    dot = draw_all(published("douban"), "dot", "states")
    assert dot.count("subgraph cluster_") == 2
    assert dot.count("{") == dot.count("}") == 3
