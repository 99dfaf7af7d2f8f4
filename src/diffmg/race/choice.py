"""Choosing the single model of a race: the simplest meta graph among those that validation cannot tell apart."""

from __future__ import annotations

from dataclasses import dataclass

from diffmg.core import compile_program
from diffmg.race.board import OWN, Board, Entry, Turn
from diffmg.race.field import Field

TOLERANCE = 0.5
"""Standard errors of a validation score within which the simpler one of two meta graphs is taken."""


@dataclass(frozen=True)
class Pick:
    """One trained model of a race, and its weight in an ensemble."""

    number: int
    turn: Turn
    weight: float = 1.0
    share: float = 1.0
    """Its part of the ensemble, whatever the scale of its votes."""


def best_single(board: Board, field: Field) -> Pick:
    """The best candidate with a meta graph (or of all, where none has one), on the task's own split.

    One that came of simplifying the best is taken where its value is within the tolerance.
    """
    kept = {number for number, turn in board.models if turn.fold == 0}
    least = max(len(board.entries[n].values) for n in kept)
    ranked = [n for n in (*board.ranked(least=least), *board.ranked()) if n in kept]
    drawn = [n for n in ranked if board.entries[n].has_metagraph] or ranked
    level = board.entries[drawn[0]].value - tolerance(board, field)
    simpler = [n for n in drawn if board.entries[n].origin == "simpler" and board.entries[n].value >= level]
    number = min(simpler, key=lambda n: (size_of(board.entries[n]), n)) if simpler else drawn[0]
    own = [turn for n, turn in board.models if n == number and turn.fold == 0]
    return Pick(number, max(own, key=lambda turn: (board.entries[number].values[turn], -turn.repeat)))


def complete_candidates(board: Board, field: Field) -> list[int]:
    """Candidates with a model of every fold, best first; none where there are no folds."""
    turns = {OWN, *field.turns}
    return [n for n in board.ranked(least=len(turns)) if field.count and all((n, t) in board.models for t in turns)]


def tolerance(board: Board, field: Field) -> float:
    """Half a standard error of the best score on the task's own validation part."""
    return TOLERANCE * field.problem.task.standard_error(board.best())


def size_of(entry: Entry) -> int:
    """Sparse products of its meta graphs."""
    return sum(compile_program(m).products for m in entry.metagraphs)
