"""Which signals know the label: nearly perfect alone, and far above all that do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from diffmg.core import Relation
from diffmg.graph.network import HeteroGraph
from diffmg.leaks.finding import Finding
from diffmg.leaks.labels import Kind, Labels, Strength
from diffmg.leaks.signals import FEWEST, Signal, signals_of

NEARLY_ALL: dict[Kind, float] = {"class": 0.98, "number": 0.99}
"""Strength from which a signal may know the label; of numbers higher, since last year's are often close."""
AT_LEAST = 0.8
"""Lower confidence bound that it must have too."""
BY_NAME = 0.5
"""Lower confidence bound that is enough for a column with the label's name."""
FAR = 3
"""How many times fewer errors than the best honest signal."""
Named = Callable[[str], bool]


def telling_signals(graph: HeteroGraph, target: str, labels: Labels, named: Named) -> list[Finding]:
    """Columns and relations that know the labels of a node type; `named`: whether a column has the label's name."""
    if len(labels.values) < FEWEST:
        return []
    suspects: list[Signal] = []
    honest: list[Signal] = []
    for group in signals_of(graph, target, labels):
        for signal in group:
            if not _told_before(signal, suspects):
                suspected = _suspected(signal, labels.kind) or (named(signal.name) and signal.strength.lower >= BY_NAME)
                (suspects if suspected else honest).append(signal)
    best = max(honest, key=lambda s: s.strength.value, default=None)
    found = [s for s in suspects if _far_above(s.strength, best) or named(s.name)]
    return [Finding(s.what, _evidence(s.strength, best, labels.kind), _step(graph, s)) for s in found]


def _suspected(signal: Signal, kind: Kind) -> bool:
    return signal.strength.value >= NEARLY_ALL[kind] and signal.strength.lower >= AT_LEAST


def _told_before(signal: Signal, suspects: Sequence[Signal]) -> bool:
    """Whether a suspect explains it: the same column nearer by, or the relation that it is reached by."""
    for other in suspects:
        if signal.column and signal.column == other.column:
            return True
        if not other.column and other.relations and _ends_with(signal.relations, other.relations):
            return True
    return False


def _ends_with(relations: tuple[Relation, ...], others: tuple[Relation, ...]) -> bool:
    return relations[-len(others) :] == others


def _far_above(found: Strength, best: Signal | None) -> bool:
    """Whether it errs far less than the best signal that is not nearly perfect."""
    return best is None or FAR * (1 - found.value) <= 1 - max(best.strength.value, 0.0)


def _evidence(found: Strength, best: Signal | None, kind: Kind) -> str:
    if kind == "class":
        alone = f"alone is right for {found.score:.1%} of {found.rows} labels it was not fitted to"
        constant = f"the commonest class: {found.constant:.1%}"
    else:
        alone = f"alone explains {found.score:.1%} of the order of {found.rows} labels it was not fitted to"
        constant = "a constant: 0 %"
    beside = "" if best is None else f"; next best, {best.what}: {best.strength.score:.1%}"
    return f"{alone} ({constant}{beside})"


def _step(graph: HeteroGraph, signal: Signal) -> str:
    known = "if it is not known before the label is decided, leave it out"
    if not signal.column:
        return f"{known}: take the relation '{signal.relations[-1].name}' out of the network"
    if signal.node_type in graph.encoders:
        return f"{known}: without it in `features` of [nodes.{signal.node_type}], or in `drop` in Python"
    return f"{known} of the features of {signal.node_type!r}"
