"""The command that estimates the memory of a run."""

from dataclasses import replace

from rich.table import Table

from diffmg.cli import common
from diffmg.cli.common import console, say
from diffmg.core import Engine


def plan(
    name: common.Name,
    device: common.Device = "auto",
    engine: common.Switches = None,
    setting: common.Settings = None,
    depth: common.Depth = None,
    target: common.Target = None,
    as_of: common.AsOf = None,
    on_unknown: common.OnUnknown = None,
    data_root: common.DataRoot = None,
    data_seed: common.DataSeed = 0,
) -> None:
    """Say how much memory a search and a training would take, and whether they fit, without starting either."""
    from diffmg.engine.device import describe_device, free_bytes, resolve_device
    from diffmg.engine.memory import fit_engine_to_memory, in_words, needs
    from diffmg.runs.sources import make_plan, open_problem
    from diffmg.tasks.problem import Problem

    source = common.source(name, target, as_of, on_unknown, data_seed)
    chosen = make_plan(source, None, common.method_options(None, depth=depth), common.parse_pairs(setting))
    settings, states = chosen.settings, chosen.method.make().depth
    problem = open_problem(source, root=data_root)
    place = resolve_device(device)
    graph = replace(problem.graph, engine=Engine().changed(common.parse_pairs(engine)))
    estimates = {
        what: needs(Problem(graph, problem.task), settings, states, place, search=search)
        for what, search in (("search", True), ("training", False))
    }
    nodes, edges = sum(graph.num_nodes.values()), sum(a.nnz for a in graph.adjacency.values())
    table = Table("memory", *estimates, title=f"{nodes} nodes, {edges} edges, d = {settings.dim}, K = {states}")
    for part in next(iter(estimates.values())).parts:
        table.add_row(part, *(in_words(e.parts[part]) for e in estimates.values()))
    table.add_section()
    table.add_row("together, about", *(in_words(e.total) for e in estimates.values()))
    console.print(table)
    free = free_bytes(place)
    say(f"{describe_device(place)}: {'unknown' if free is None else in_words(free)} free")
    for what in estimates:
        wanted = {"search": what == "search", "training": what == "training"}
        columns = fit_engine_to_memory(Problem(graph, problem.task), settings, states, place, **wanted).columns
        way = f"{columns} columns at a time, recomputed for the backward pass" if columns else "all columns at once"
        say(f"{what}: fits, {way}")
