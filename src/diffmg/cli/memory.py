"""The command that estimates the memory of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from diffmg.cli import common
from diffmg.cli.common import console, say
from diffmg.core import DiffmgError, Engine, Method, Settings

if TYPE_CHECKING:
    import torch

    from diffmg.engine.memory import Needs
    from diffmg.tasks.problem import Problem


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
) -> None:
    """Say how much memory a run would take, and whether it fits, without starting it.

    For a race: its largest candidate. For one method: its search and its training.
    """
    from diffmg.engine.device import describe_device, free_bytes, resolve_device
    from diffmg.engine.memory import fit_engine_to_memory, in_words, needs
    from diffmg.runs.sources import make_plan, open_problem

    source = common.source(name, target, as_of, on_unknown, data_seed)
    chosen = make_plan(source, method, common.method_options(option, depth=depth), common.parse_pairs(setting))
    made, place = chosen.method.make(), resolve_device(device)
    _check(made)
    problem = open_problem(source, root=data_root)
    problem = problem.to(problem.graph.device, Engine().changed(common.parse_pairs(engine)))
    settings = _largest(made, problem, chosen.settings, place) if made.races else chosen.settings
    phases = _phases(made)
    estimates = {what: needs(problem, settings, made.depth, place, search=s) for what, s in phases.items()}
    _show(estimates, problem, settings, made.depth)
    free = free_bytes(place)
    say(f"{describe_device(place)}: {'unknown' if free is None else in_words(free)} free")
    for what, search in phases.items():
        wanted = {"search": search, "training": not search}
        columns = fit_engine_to_memory(problem, settings, made.depth, place, **wanted).columns
        way = f"{columns} columns at a time, recomputed for the backward pass" if columns else "all columns at once"
        say(f"{what}: fits, {way}")


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
