"""The command that says what a run would take."""

from __future__ import annotations

from dataclasses import replace

from rich.table import Table

from diffmg.cli import common
from diffmg.cli.common import console, say
from diffmg.cli.running import defaults


def plan(
    name: common.Name,
    device: common.Device = "auto",
    engine: common.Switches = None,
    setting: common.Settings = None,
    depth: common.Depth = 4,
    target: common.Target = None,
    as_of: common.AsOf = None,
    on_unknown: common.OnUnknown = None,
    data_root: common.DataRoot = None,
    data_seed: common.DataSeed = 0,
) -> None:
    """Say how much memory a search and a training would take, and whether they fit, without starting either."""
    from diffmg.core.metagraph import links_of
    from diffmg.core.plan import engine_from
    from diffmg.engine.device import describe_device, resolve_device
    from diffmg.engine.memory import fit_engine_to_memory, free_bytes, in_words, needs
    from diffmg.runs.sources import open_problem
    from diffmg.tasks.problem import Problem

    links_of(depth)
    _, settings = defaults(name, "diffmg", None, setting)
    given = common.data_options(target, as_of, on_unknown)
    problem = open_problem(name, root=data_root, seed=data_seed, options=given)
    place = resolve_device(device)
    graph = replace(problem.graph, engine=engine_from(common.parse_pairs(engine)))
    estimates = {
        what: needs(Problem(graph, problem.task), settings, depth, place, search=search)
        for what, search in (("search", True), ("training", False))
    }
    nodes, edges = sum(graph.num_nodes.values()), sum(a.nnz for a in graph.adjacency.values())
    table = Table("memory", *estimates, title=f"{nodes} nodes, {edges} edges, d = {settings.dim}, K = {depth}")
    for part in next(iter(estimates.values())).parts:
        table.add_row(part, *(in_words(e.parts[part]) for e in estimates.values()))
    table.add_section()
    table.add_row("together, about", *(in_words(e.total) for e in estimates.values()))
    console.print(table)
    free = free_bytes(place)
    say(f"{describe_device(place)}: {'unknown' if free is None else in_words(free)} free")
    for what in estimates:
        wanted = {"search": what == "search", "training": what == "training"}
        columns = fit_engine_to_memory(Problem(graph, problem.task), settings, depth, place, **wanted).columns
        way = f"{columns} columns at a time, recomputed for the backward pass" if columns else "all columns at once"
        say(f"{what}: fits, {way}")
