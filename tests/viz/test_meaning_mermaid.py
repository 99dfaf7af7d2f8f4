"""Mermaid for Markdown pages: node types and relations."""

from __future__ import annotations

import re

from diffmg.viz import draw, draw_all
from hard_pictures import CASES
from pictures import ODD, ODD_GRAPH, labels, published


def test_each_tower_is_a_subgraph_and_each_arrow_has_its_style() -> None:
    mermaid = draw_all(published("douban"), "mermaid")
    assert mermaid.count("subgraph ") == 2
    styled = [int(n) for n in re.findall(r"linkStyle (\d+)", mermaid)]
    assert styled == list(range(len(labels(mermaid, "mermaid"))))
    boxes = set(re.findall(r"^    (g\dn\d+)\[", mermaid, re.MULTILINE))
    ends = re.findall(r'(g\dn\d+) -->\|"[^"]*"\| (g\dn\d+)', mermaid)
    assert {name for pair in ends for name in pair} <= boxes
    assert len(ends) == len(styled)


def test_odd_names_are_written_as_codes() -> None:
    assert labels(draw(ODD_GRAPH, "mermaid"), "mermaid") == [ODD]
    assert "<script" not in draw(CASES["long"], "mermaid")
