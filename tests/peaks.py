"""Measure searches and trainings in a process of their own: python peaks.py CASE..., each `NAME` or `NAME/columns`.

Prints JSON: for each case the estimate and the measured peak of a search and of a training, in bytes.
"""

from __future__ import annotations

import json
import sys

import numpy as np
import torch

from benchmarks.measure import JobRunner, peak_bytes
from diffmg.core.engine import Engine
from diffmg.core.metagraph import MetaGraph, links_of
from diffmg.core.settings import Settings
from diffmg.datasets import load_dataset
from diffmg.engine.memory import needs
from diffmg.graph.network import HeteroGraph
from diffmg.methods.search.diffmg import DiffMG
from diffmg.tasks import NodeClassification
from diffmg.tasks.problem import Problem
from diffmg.training import Training

CPU = torch.device("cpu")
DEPTH = 4
SETTINGS = Settings()
WARM_UP = 6
"""Epochs before the last: the samples of a search differ, so the largest of several counts."""


def dense_problem(nodes: int) -> Problem:
    """One type, all of whose nodes are targets: no state is smaller than the whole network."""
    draw = np.random.default_rng(0)
    edges = {("a", "links", "a"): draw.integers(0, nodes, (2, 2 * nodes))}
    graph = HeteroGraph.build({"a": nodes}, edges, {"a": draw.standard_normal((nodes, 16)).astype(np.float32)})
    parts = np.array_split(draw.permutation(nodes)[: nodes // 4], 3)
    task = NodeClassification.build("a", draw.integers(0, 3, nodes), train=parts[0], val=parts[1], test=parts[2])
    return Problem(graph, task)


def opened(case: str) -> Problem:
    """`one-type:SIZE` or made data, with so many columns at a time."""
    name, _, columns = case.partition("/")
    kind, _, size = name.partition(":")
    problem = dense_problem(int(size)) if kind == "one-type" else load_dataset(name)
    return problem.to(CPU, Engine(columns=int(columns or 0)))


def all_relations(problem: Problem) -> list[MetaGraph]:
    """Meta graphs with a relation on every link, as many different ones as there are, so that much must be held."""
    relations, links = problem.graph.schema.relations, len(links_of(DEPTH))
    into = {t: next(r for r in relations if r.target == t) for t in problem.task.target_types}
    some = [relations[n % len(relations)] for n in range(links - 1)]
    return [MetaGraph(t, tuple((r,) for r in [*some, last])) for t, last in into.items()]


def peaks(problem: Problem) -> dict[str, list[int | None]]:
    """Estimate and peak of both kinds of work."""

    def search() -> JobRunner:
        return JobRunner(lambda seed: DiffMG(depth=DEPTH).search(problem, SETTINGS, seed), 0, WARM_UP)

    def training() -> JobRunner:
        metagraphs = all_relations(problem)
        return JobRunner(lambda seed: Training(problem, metagraphs, SETTINGS, seed), 0, WARM_UP)

    return {
        name: [needs(problem, SETTINGS, DEPTH, CPU, search=name == "search").total, peak_bytes(start, CPU)]
        for name, start in (("search", search), ("training", training))
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    for small in ("academic:120", "shop:160"):  # libraries are loaded by the first jobs and stay: about 170 MB
        peaks(load_dataset(small))
    print(json.dumps({case: peaks(opened(case)) for case in sys.argv[1:]}))
