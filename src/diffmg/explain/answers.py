"""Explanations of single answers: shares and effects of meta paths, with the nodes they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from diffmg.core import DiffmgError, Method
from diffmg.core.importance import Explanation
from diffmg.explain.limits import Levels, levels_within
from diffmg.explain.one_row import arrivals
from diffmg.explain.total import CONSTANT, OTHERS, Total, id_of
from diffmg.explain.tower import Tower, towers_of
from diffmg.explain.voters import Voter, voters_of
from diffmg.nn import DerivedModel
from diffmg.tasks.problem import Problem
from diffmg.training.training import outputs_of

PATHS = 2000
"""Paths that are told apart in all models of an ensemble together."""


@dataclass(frozen=True)
class Opened:
    """A voter taken apart: its towers, or what it answers where it has no meta graph."""

    voter: Voter
    towers: tuple[Tower, ...]
    levels: tuple[tuple[Levels, bool], ...]
    outputs: tuple[Tensor, ...]
    share: float
    """Its part of the votes."""


def explanations(
    method: Method, network: torch.nn.Module, problem: Problem, nodes: Sequence[tuple[int, ...]], k_sources: int
) -> list[Explanation]:
    """For each answer, given by the numbers of its nodes, one explanation per target type."""
    voters = voters_of(method, network)
    opened = _open(voters, problem)
    return [e for each in nodes for e in _explain(opened, problem, each, k_sources)]


def _open(voters: Sequence[Voter], problem: Problem) -> list[Opened]:
    task, found = problem.task, []
    several = len(voters) > 1
    for voter in voters:
        outputs = outputs_of(voter.network, problem) if several or not voter.explained else ()
        towers = tuple(towers_of(voter.network, problem.graph)) if isinstance(voter.network, DerivedModel) else ()
        levels = tuple(levels_within(tower, PATHS // len(voters)) for tower in towers)
        share = voter.weight / task.vote_scale(task.votes(outputs, "val")) if several else 1.0
        found.append(Opened(voter, towers, levels, outputs, share))
    return found


def _explain(opened: Sequence[Opened], problem: Problem, nodes: tuple[int, ...], k_sources: int) -> list[Explanation]:
    task, graph = problem.task, problem.graph
    before = [_leaves(one, nodes) for one in opened]
    outputs = [_rows(one, leaves, nodes) for one, leaves in zip(opened, before, strict=True)]
    blended = outputs[0] if len(opened) == 1 else task.blend(outputs, [one.voter.weight for one in opened])
    number, words = task.answer_of(blended, nodes)
    slopes = iter(torch.autograd.grad(number, [z for leaves in before for z in leaves], allow_unused=True))
    totals = [Total() for _ in nodes]
    whole = sum(one.share for one in opened if one.towers)
    for one, leaves in zip(opened, before, strict=True):
        for tower, z in enumerate(leaves):
            slope = next(slopes)
            _split(one, tower, nodes[tower], z[0], slope, one.share / whole, totals[tower])
    note = _note(opened)
    return [
        Explanation(t, id_of(graph, t, node), _answer(words, problem, nodes, place), c, note)
        for place, (t, node) in enumerate(zip(task.target_types, nodes, strict=True))
        for c in [totals[place].contributions(graph, k_sources)]
    ]


def _answer(words: str, problem: Problem, nodes: tuple[int, ...], place: int) -> str:
    """The answer in words; of a pair, with the other end."""
    if len(nodes) == 1:
        return words
    other = 1 - place
    node_type = problem.task.target_types[other]
    return f"{words} with {node_type} {id_of(problem.graph, node_type, nodes[other])}"


def _leaves(one: Opened, nodes: tuple[int, ...]) -> list[Tensor]:
    """What comes before the norm of each tower, one row, to be differentiated by."""
    several = zip(one.towers, nodes, strict=False)
    return [tower.result[node : node + 1].detach().clone().requires_grad_() for tower, node in several]


def _rows(one: Opened, leaves: Sequence[Tensor], nodes: tuple[int, ...]) -> tuple[Tensor, ...]:
    """The outputs of one voter for these nodes."""
    network = one.voter.network
    if not isinstance(network, DerivedModel):
        return tuple(z[node : node + 1] for z, node in zip(one.outputs, nodes, strict=True))
    rows = (slice(node, node + 1) for node in nodes)
    return tuple(network.finished(n, z, row) for n, (z, row) in enumerate(zip(leaves, rows, strict=True)))


@torch.no_grad()
def _split(one: Opened, number: int, node: int, z: Tensor, slope: Tensor | None, weight: float, total: Total) -> None:
    """Add the parts of one tower of one voter."""
    tower, (levels, complete) = one.towers[number], one.levels[number]
    along = z * weight / float(z @ z) if z.any() else torch.zeros_like(z)
    steep = torch.zeros_like(z) if slope is None else slope[0]
    rest = z.clone()
    for arrival in arrivals(tower, node, levels):
        vector, key = arrival.values.sum(dim=0), ("", arrival.path)
        rest -= vector
        total.add(key, float(vector @ along), float(vector @ steep))
        shares = (arrival.values @ along).double().numpy(force=True)
        total.sources.setdefault(key, []).append((arrival.node_type, arrival.nodes, shares))
    if tower.readout.constant is not None:
        rest -= tower.readout.constant[node]
        constant = tower.readout.constant[node]
        total.add((CONSTANT, ()), float(constant @ along), float(constant @ steep))
    if not complete:
        total.add((OTHERS, ()), float(rest @ along), float(rest @ steep))
    else:
        _check_sum(rest, z, tower.graph.engine.storage)


def _check_sum(rest: Tensor, z: Tensor, storage: str) -> None:
    """Raise if the parts do not sum to what the model computed, up to rounding."""
    allowed = (1e-4 if storage == "float32" else 0.1) * max(1.0, float(z.abs().max()))
    if float(rest.abs().max()) > allowed:
        raise DiffmgError(
            f"the parts of an explanation must sum to the model's state to {allowed:.1g}, but got a difference of "
            f"{float(rest.abs().max()):.3g}; this is a fault of diffmg, please report it"
        )


def _note(opened: Sequence[Opened]) -> str:
    """What is frozen, summed up or not explained."""
    frozen = sorted({tower.frozen for one in opened for tower in one.towers if tower.frozen})
    lines = [f"frozen at this answer: {', '.join(frozen)}"] if frozen else []
    if not all(complete for one in opened for _, complete in one.levels):
        lines.append(f"there are too many meta paths: the longest are summed up as {OTHERS}")
    silent = [one for one in opened if not one.towers]
    if len(opened) > 1:
        lines.append(f"an ensemble of {len(opened)} models: shares are averaged by their votes")
    if silent:
        part = sum(one.share for one in silent) / sum(one.share for one in opened)
        names = ", ".join(sorted({one.voter.name for one in silent}))
        lines.append(f"{part:.0%} of the votes are of models without a meta graph ({names}) and are not explained")
    return "; ".join(lines)
