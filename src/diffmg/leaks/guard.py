"""All tests for leaks, on one problem."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diffmg.core.task import Examples
from diffmg.graph.network import HeteroGraph
from diffmg.leaks.finding import Finding
from diffmg.leaks.labels import Kind, Labels
from diffmg.leaks.order import telling_order
from diffmg.leaks.pairs import telling_pairs
from diffmg.leaks.telling import telling_signals
from diffmg.leaks.twins import twins
from diffmg.tables.leakage import held_back
from diffmg.tasks.problem import Problem

MOST_ROWS = 4000
"""Labels that columns and relations are tested on."""


def leak_notes(problem: Problem, names: Sequence[str] = ()) -> list[str]:
    """What in a network knows the answers of its task, in words; `names`: what the labels are called.

    Only labels of training and validation are looked at.
    """
    examples = problem.task.examples()
    if examples is None:
        return []
    graph, types = problem.graph, problem.task.target_types
    if examples.kind == "pair":
        users, items = examples.nodes
        return [str(f) for f in telling_pairs(graph, (types[0], types[1]), users, items, examples.labels > 0)]
    return [str(f) for f in _of_nodes(graph, types[0], examples, names)]


def _of_nodes(graph: HeteroGraph, target: str, examples: Examples, names: Sequence[str]) -> list[Finding]:
    nodes, found = examples.nodes[0], dict[str, Finding]()
    kind: Kind = "number" if examples.kind == "number" else "class"

    def named(column: str) -> bool:
        return any(column == label or held_back(label, [column]) for label in names)

    for values in examples.labels.T if examples.labels.ndim == 2 else [examples.labels]:
        labels = Labels.of(nodes, values, kind, MOST_ROWS)
        for finding in [*telling_signals(graph, target, labels, named), *telling_order(graph, target, labels)]:
            found.setdefault(finding.what, finding)
    everywhere = np.zeros((graph.num_nodes[target], *examples.labels.shape[1:]), examples.labels.dtype)
    everywhere[nodes] = examples.labels
    return [*found.values(), *twins(graph, target, nodes[~examples.held], nodes[examples.held], everywhere)]
