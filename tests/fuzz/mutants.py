"""Puts faults into the program, one at a time: the oracles must find each of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

from fuzz.case import GOOD
from fuzz.faults import MUTANTS, Mutant
from fuzz.inputs import generator
from fuzz.running import run_case


@dataclass(frozen=True)
class Found:
    """The first case in which a fault showed."""

    input: str
    seed: int
    tried: int
    detail: str


def find(mutant: Mutant, most: int = 60) -> Found | None:
    """Run cases with the fault until one fails that is good without it."""
    tried = 0
    for seed in range(most):
        for name in mutant.inputs:
            tried += 1
            case = generator(name)(seed)
            with tempfile.TemporaryDirectory() as folder, faulty(mutant):
                result = run_case(case, Path(folder) / "case")
            if result.outcome not in GOOD and _right(name, seed):
                return Found(name, seed, tried, f"{result.outcome}: {result.detail}")
    return None


def _right(name: str, seed: int) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        return run_case(generator(name)(seed), Path(folder) / "case").outcome in GOOD


def faulty(mutant: Mutant) -> ExitStack:
    """A context in which the fault is there."""
    stack = ExitStack()
    for place in mutant.place.split():
        module, _, path = place.partition(":")
        *owners, name = path.split(".")
        owner: Any = import_module(module)
        for part in owners:
            owner = getattr(owner, part)
        kind = owner.__dict__[name]
        function = kind.__func__ if isinstance(kind, staticmethod | classmethod) else kind
        changed: Any = mutant.change(function)
        stack.enter_context(mock.patch.object(owner, name, type(kind)(changed) if function is not kind else changed))
    return stack


def report(most: int = 60) -> Iterator[tuple[Mutant, Found | None]]:
    """Every mutant, and where it was found."""
    for mutant in MUTANTS:
        yield mutant, find(mutant, most)
