"""The search for leaks before a fit; what it finds is added to the notes of the network."""

from dataclasses import replace
from pathlib import Path

from diffmg.core import Source
from diffmg.core.steps import step
from diffmg.leaks import leak_notes
from diffmg.tables.description import read_description
from diffmg.tasks.problem import Problem


def guarded(problem: Problem) -> Problem:
    """The same problem with notes on what knows its answers."""
    step("looking for leaks")
    graph = problem.graph
    found = [note for note in leak_notes(problem, label_names(problem.source)) if note not in graph.notes]
    return replace(problem, graph=replace(graph, notes=(*graph.notes, *found))) if found else problem


def label_names(source: Source) -> tuple[str, ...]:
    """What the labels are called where the data come from; nothing for data sets and networks from Python."""
    if source.is_database:
        return (source.target.rpartition(".")[2],) if source.target else ()
    if not source.is_described or not Path(source.name).exists():
        return ()
    task = read_description(Path(source.name)).task
    return () if task is None else task.label_names
