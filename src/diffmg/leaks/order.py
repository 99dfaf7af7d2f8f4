"""Whether the order of ids tells the label."""

from __future__ import annotations

import numpy as np

from diffmg.graph.network import HeteroGraph
from diffmg.leaks.finding import Finding
from diffmg.leaks.labels import Labels

NEARLY_ALL, AT_LEAST = 0.95, 0.8


def telling_order(graph: HeteroGraph, target: str, labels: Labels) -> list[Finding]:
    """Ids of own tables that were given class by class: no model reads ids, but what is made of them tells."""
    if target not in graph.encoders or not len(labels.values):
        return []
    ids = graph.ids_of(target)
    place = np.empty(len(ids))
    place[np.argsort(ids, kind="stable")] = np.arange(len(ids))
    found = labels.ordered(place[labels.nodes])
    if found.value < NEARLY_ALL or found.lower < AT_LEAST:
        return []
    kind = "is right for" if labels.kind == "class" else "explains"
    evidence = f"alone {kind} {found.score:.1%} of {found.rows} labels (a constant: {found.constant:.1%})"
    step = "no model reads ids, but columns and links that were made of them, or by their order, would tell the label"
    return [Finding(f"the order of the ids of {target}", evidence, step)]
