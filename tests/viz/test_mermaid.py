"""Mermaid for Markdown pages."""

from __future__ import annotations

import re

from diffmg.viz import draw, draw_all
from pictures import DEAD, labels, published


def test_dead_links_are_faint() -> None:
    assert "linkStyle 0 stroke:#cccccc" in draw(DEAD, "mermaid", "states")


def test_each_tower_is_a_subgraph_and_each_link_has_its_style() -> None:
    mermaid = draw_all(published("douban"), "mermaid", "states")
    assert mermaid.count("subgraph ") == 2
    styled = [int(n) for n in re.findall(r"linkStyle (\d+)", mermaid)]
    assert styled == list(range(len(labels(mermaid, "mermaid"))))
