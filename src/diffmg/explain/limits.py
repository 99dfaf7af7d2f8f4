"""How many meta paths are told apart, so that an explanation stays cheap; the others are summed up."""

from __future__ import annotations

from torch import nn

from diffmg.core import MetaPath
from diffmg.explain.paths import paths_by_length
from diffmg.explain.tower import Tower
from diffmg.graph.network import HeteroGraph
from diffmg.nn import DerivedModel

Levels = list[list[MetaPath]]
"""Meta paths by length, from 0 on."""


def levels_within(tower: Tower, paths: int, work: float = float("inf")) -> tuple[Levels, bool]:
    """The shortest paths, no more than this many and no more than this much work; and whether they are all.

    Work is counted in multiplications of passing messages along each path alone.
    """
    levels: Levels = []
    count, spent = 0, 0.0
    for level in paths_by_length(tower.metagraph, tower.read):
        count, spent = count + len(level), spent + sum(_work(tower, path) for path in level)
        if levels and (count > paths or spent > work):
            return levels, False
        levels.append(level)
    return levels, True


def one_pass(network: nn.Module, graph: HeteroGraph) -> float:
    """Multiplications of one pass through a network along its meta graphs; 0 where it has none."""
    if not isinstance(network, DerivedModel):
        return 0.0
    products = [p for program in network.programs for step in program.steps for p in step.products]
    return float(network.settings.dim * sum(int(graph.adjacency[p.relation].nnz) for p in products))


def _work(tower: Tower, path: MetaPath) -> float:
    graph, states = tower.graph, tower.metagraph.depth
    nodes = graph.num_nodes[tower.source_of(path)] + sum(graph.num_nodes[r.target] for r in path)
    edges = sum(int(graph.adjacency[r].nnz) for r in path)
    return states * (nodes + edges) * tower.result.shape[1]
