"""The command that estimates the memory and the seconds of a run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from diffmg.cli import common, output
from diffmg.cli.common import console, say
from diffmg.core import DiffmgError, Engine, Method, Plan, Settings

if TYPE_CHECKING:
    import torch

    from diffmg.engine.memory import Needs
    from diffmg.tasks.problem import Problem

PROBE = "Epochs to run for the estimate of seconds; 0 for none."
Epochs = Annotated[int, typer.Option("--probe", min=0, help=PROBE)]


def plan(
    name: common.Name,
    device: common.Device = "auto",
    engine: common.Switches = None,
    method: common.MethodName = None,
    option: common.Options = None,
    setting: common.Settings = None,
    depth: common.Depth = None,
    target: common.Target = None,
    as_of: common.AsOf = None,
    on_unknown: common.OnUnknown = None,
    data_root: common.DataRoot = None,
    data_seed: common.DataSeed = 0,
    budget: common.Spend = None,
    epochs: Epochs = 3,
) -> output.Value:
    """Say how much memory and about how many seconds a run would take, and whether it fits, without starting it.

    For a race: its largest candidate, and how many trainings its budget is worth. For one method: its search and its
    training. Seconds are known from a few epochs that are really run.
    """
    from diffmg.engine.device import describe_device, free_bytes, resolve_device
    from diffmg.engine.memory import fit_engine_to_memory, in_words, needs
    from diffmg.runs.sources import make_plan, open_problem

    source = common.source(name, target, as_of, on_unknown, data_seed)
    chosen = make_plan(
        source, method, common.method_options(option, depth=depth), common.parse_pairs(setting), budget=budget
    )
    made, place = chosen.method.make(), resolve_device(device)
    _check(made)
    problem = open_problem(source, root=data_root)
    problem = problem.to(problem.graph.device, Engine().changed(common.parse_pairs(engine)))
    settings = _largest(made, problem, chosen.settings, place) if made.races else chosen.settings
    phases = _phases(made)
    estimates = {what: needs(problem, settings, made.depth, place, search=s) for what, s in phases.items()}
    _show(estimates, problem, settings, made.depth)
    free, columns = free_bytes(place), {}
    say(f"{describe_device(place)}: {'unknown' if free is None else in_words(free)} free")
    for what, search in phases.items():
        wanted = {"search": search, "training": not search}
        few = columns[what] = fit_engine_to_memory(problem, settings, made.depth, place, **wanted).columns
        way = f"{few} columns at a time, recomputed for the backward pass" if few else "all columns at once"
        say(f"{what}: fits, {way}")
    memory = {what: {**e.parts, "total": e.total} for what, e in estimates.items()}
    return {"memory": memory, "free": free, "columns": columns, "seconds": _seconds(chosen, problem, device, epochs)}


def _seconds(plan: Plan, problem: Problem, device: str, epochs: int) -> dict[str, float]:
    """What a few real epochs say about the time, in words and as values; nothing for no epochs."""
    from diffmg.runs.probing import probe

    if not epochs:
        return {}
    found = probe(replace(plan, device=device, engine=problem.graph.engine), problem, epochs)
    for line in found.lines():
        say(line)
    return found.values()


def _check(method: Method) -> None:
    if not method.has_metagraph:
        raise DiffmgError(f"memory is estimated for methods with a meta graph, but got {method.name!r}")


def _phases(method: Method) -> dict[str, bool]:
    """What is estimated, and whether it is a search."""
    if method.races:
        return {"largest candidate": False}
    return {"search": True, "training": False} if method.needs_search_memory else {"training": False}


def _largest(method: Method, problem: Problem, settings: Settings, device: torch.device) -> Settings:
    """Each setting that a race varies, at the value that takes most memory."""
    from diffmg.engine.memory import needs
    from diffmg.methods._wide import WideSpace

    def total(settings: Settings) -> int:
        return needs(problem, settings, method.depth, device, search=False).total

    for name, values in WideSpace.of(problem, settings, method.depth, 1).values.items():
        settings = max((settings.changed({name: value}) for value in (getattr(settings, name), *values)), key=total)
    return settings


def _show(estimates: dict[str, Needs], problem: Problem, settings: Settings, states: int) -> None:
    from diffmg.engine.memory import in_words

    graph = problem.graph
    nodes, edges = sum(graph.num_nodes.values()), sum(a.nnz for a in graph.adjacency.values())
    table = Table("memory", *estimates, title=f"{nodes} nodes, {edges} edges, d = {settings.dim}, K = {states}")
    for part in dict.fromkeys(part for e in estimates.values() for part in e.parts):
        table.add_row(part, *(in_words(e.parts.get(part, 0)) for e in estimates.values()))
    table.add_section()
    table.add_row("together, about", *(in_words(e.total) for e in estimates.values()))
    console.print(table)
