"""Simplifying a trained meta graph: operations that its validation score does not need are left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from diffmg.core import EMPTY, Link, MetaGraph, Operation, compile_program
from diffmg.core.candidate import Candidate
from diffmg.methods.given import Given
from diffmg.nn import DerivedModel
from diffmg.race.board import Board
from diffmg.race.choice import Pick
from diffmg.tasks.problem import Problem
from diffmg.training.training import build_model


@torch.no_grad()
def simplified(problem: Problem, model: DerivedModel, tolerance: float) -> tuple[MetaGraph, ...]:
    """The meta graphs without the operations that a trained model scores as well without.

    Operations are left out one by one, the least needed first, while the score stays within `tolerance` of the whole
    model's. Those that reach no target go first.
    """
    task, sign = problem.task, problem.task.sign
    weights = [w.clone() for w in model.choice_weights()]
    live = [_live(m) for m in model.metagraphs]

    def score() -> float:
        return sign * float(task.evaluate(model.eval()(problem.graph), "val")[1])

    with model.weighted(weights):
        least = score() - tolerance
        places = [(n, c) for n, m in enumerate(model.metagraphs) for c in range(len(m.choices)) if c in live[n]]
        needed = {place: _without(weights, place, score) for place in places}
        for place in sorted(places, key=lambda p: (-needed[p], p)):
            kept = _switch(weights, place, 0.0)
            if score() < least or not _reaches(model.metagraphs, weights, live):
                _switch(weights, place, kept)
    return tuple(_only(m, weights[n], live[n]) for n, m in enumerate(model.metagraphs))


def _without(weights: Sequence[Tensor], place: tuple[int, int], score: Callable[[], float]) -> float:
    kept = _switch(weights, place, 0.0)
    value = score()
    _switch(weights, place, kept)
    return value


def _switch(weights: Sequence[Tensor], place: tuple[int, int], value: float) -> float:
    """Set one weight; returns what it was."""
    number, choice = place
    before = float(weights[number][choice])
    weights[number][choice] = value
    return before


def _live(metagraph: MetaGraph) -> set[int]:
    """The choices that reach the target."""
    steps = compile_program(metagraph).steps
    through = {term.weight for step in steps for product in step.products for term in product.terms}
    return through | {term.weight for step in steps for term in step.passed}


def _reaches(metagraphs: Sequence[MetaGraph], weights: Sequence[Tensor], live: Sequence[set[int]]) -> bool:
    """Whether something still reaches every target."""
    several = zip(metagraphs, weights, live, strict=True)
    return all(compile_program(_only(m, w, keep)).steps for m, w, keep in several)


def _only(metagraph: MetaGraph, weights: Tensor, live: set[int]) -> MetaGraph:
    """The meta graph with the choices that are live and have a weight; EMPTY where a link has none left."""
    links: dict[Link, list[Operation]] = {link: [] for link, _ in metagraph.items()}
    for number, (link, operation) in enumerate(metagraph.choices):
        if number in live and float(weights[number]) != 0:
            links[link].append(operation)
    found = MetaGraph.of(metagraph.target, {link: tuple(o) or (EMPTY,) for link, o in links.items()})
    again = _live(found)
    if len(again) == sum(map(len, links.values())):
        return found
    return _only(found, torch.ones(len(found.choices)), again)  # what was left out has made others useless


def simpler_candidate(problem: Problem, board: Board, pick: Pick, allowed: float) -> Candidate | None:
    """A candidate with the meta graphs of a trained one, without what they do not need; None where nothing can go."""
    entry, outcome = board.entries[pick.number], board.models[pick.number, pick.turn]
    settings = entry.candidate.settings
    if not outcome.metagraphs:
        return None
    model = build_model(problem, outcome.metagraphs, settings, seed=0)
    model.load_state_dict(dict(outcome.weights))
    found = simplified(problem, model, allowed)
    return None if found == outcome.metagraphs else Candidate(Given(found), settings)
