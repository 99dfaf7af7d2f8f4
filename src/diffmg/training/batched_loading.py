"""From a trial to the values of a slot: parameters, operations, switches, dropout draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from diffmg.core import MetaGraph, Settings, compile_program, derive_seed
from diffmg.engine.backend import fused
from diffmg.engine.batched_device import drawing_threads, staged
from diffmg.engine.batched_programs import CellProgram, cell_program, encoded
from diffmg.engine.batched_sharing import heavy_relations
from diffmg.engine.batched_slots import Shape
from diffmg.engine.batched_tables import operation_numbers
from diffmg.engine.device import on_host
from diffmg.engine.layout import KernelTables
from diffmg.engine.randomness import generator
from diffmg.graph.network import HeteroGraph
from diffmg.nn.batched import Place, places
from diffmg.nn.batched_plain import Occupant
from diffmg.tasks.problem import Problem
from diffmg.training.training import build_model

FOREVER = 2**62
"""The patience of a training that has no early stopping."""
ACTIVATIONS = {"none": 0, "relu": 1, "gelu": 2}


@dataclass(frozen=True)
class Trial:
    """One training of a batch."""

    metagraphs: tuple[MetaGraph, ...]
    settings: Settings
    seed: int = 0


@dataclass(frozen=True)
class Prepared:
    """A trial with its first parameters, on the device."""

    trial: Trial
    """Its meta graphs in the order of the task's target types."""
    parameters: dict[str, Tensor]
    places: dict[str, Place]
    node_types: tuple[tuple[str, ...], ...]
    """For each tower, the types with parameters of its own."""
    values: dict[str, Tensor] = field(default_factory=dict)
    """What the slot's switches and programs are set to."""

    @property
    def settings(self) -> Settings:
        """The trial's settings."""
        return self.trial.settings


def prepare(problem: Problem, trial: Trial, device: torch.device) -> Prepared:
    """Draw the first parameters as a single model would, on the host, where `problem` is."""
    model = build_model(problem, trial.metagraphs, trial.settings, trial.seed)
    arranged = Trial(problem.arranged(trial.metagraphs), trial.settings, trial.seed)
    node_types = tuple(tower.node_types for tower in model.encoders)
    parameters = {n: staged(p.detach(), device).to(device, non_blocking=True) for n, p in model.named_parameters()}
    return Prepared(arranged, parameters, places(list(parameters), node_types), node_types)


def one_draw(trial: Trial) -> bool:
    """Whether the fused kernels' model draws the dropout of all towers and types at once."""
    s = trial.settings
    return s.shared_map and not s.shared_tables and len({m.depth for m in trial.metagraphs}) == 1


def occupant(problem: Problem, prepared: Prepared) -> Occupant:
    """What the plain program needs of a trial."""
    s, metagraphs = prepared.settings, prepared.trial.metagraphs
    graph = problem.graph.aggregated(s.aggregate, self_loops=s.self_loops)
    mean = s.links == "mean" and any(len(operations) > 1 for m in metagraphs for _, operations in m.items())
    draw = generator(graph.device, prepared.trial.seed, "dropout")
    return Occupant(graph, metagraphs, mean, prepared.node_types, s.dropout, draw)


def slot_values(prepared: Prepared, shape: Shape, graph: HeteroGraph) -> dict[str, Tensor]:
    """Switches and numbers of a slot, except its programs."""
    s, trial = prepared.settings, prepared.trial
    draws, increment = _draws(prepared, shape, graph)
    numbers = {
        "lr": s.lr, "decay": s.weight_decay, "step": 0, "level": 1 - s.dropout,
        "scale": 1 / (1 - s.dropout) if s.dropout > 0 else 0.0, "seed": derive_seed(trial.seed, "dropout"),
        "increment": increment, "tanh": s.tanh, "norm": s.layer_norm, "activation": ACTIVATIONS[s.activation],
        "mapped": s.shared_map, "by_loss": s.select == "loss", "max_epochs": s.max_epochs,
        "patience": FOREVER if s.patience is None else s.patience,
    }  # fmt: skip
    values = {name: torch.tensor(number) for name, number in numbers.items()}
    values["draws"] = draws
    values["owner"] = torch.zeros(shape.towers) if s.shared_tables else torch.arange(shape.towers)
    read = [compile_program(m).inputs for m in trial.metagraphs]
    values |= {f"live.{t}": torch.tensor([t in types for types in read]) for t in shape.rows}
    return values | _present(prepared, shape)


def program_values(
    prepared: Prepared, shape: Shape, graph: HeteroGraph, tables: KernelTables, variants: Sequence[tuple[str, bool]]
) -> dict[str, Tensor]:
    """The programs of a slot's towers."""
    s = prepared.settings
    programs = programs_of(prepared.trial, shape.depth, graph)
    numbers = operation_numbers(tables, variants.index((s.aggregate, s.self_loops)))
    return encoded(programs, list(shape.rows), numbers, shape.parts)


def programs_of(trial: Trial, depth: int, graph: HeteroGraph) -> list[CellProgram]:
    """The programs of a trial's towers, their last states numbered `depth`."""
    mean, heavy = trial.settings.links == "mean", heavy_relations(graph)
    return [cell_program(m, depth, mean=mean, heavy=heavy) for m in trial.metagraphs]


def _present(prepared: Prepared, shape: Shape) -> dict[str, Tensor]:
    """Which parameters of a slot its model has."""
    found = set(prepared.places.values())
    return {
        f"there.{name}": torch.tensor(
            [(name, t) in found for t in range(shape.towers)] if towers else (name, None) in found
        )
        for name, (_, towers) in shape.leaves().items()
    }


def _draws(prepared: Prepared, shape: Shape, graph: HeteroGraph) -> tuple[Tensor, int]:
    """The draws of an epoch's dropout: first entry, entries, torch's threads, the generator's position; the total.

    They follow the single model's calls of `bernoulli_`, so that both draw the same numbers.
    """
    draws = torch.zeros(shape.draws, 4, dtype=torch.int64)
    if prepared.settings.dropout == 0 or not fused(graph) or on_host(graph.device):
        return draws, 0
    width, position = shape.dim, 0
    for n, (first, count) in enumerate(_ranges(prepared, shape)):
        threads = drawing_threads(count * width, graph.device)
        draws[n] = torch.tensor([first * width, count * width, threads, position])
        position += (count * width - 1) // (4 * threads) + 1
    return draws, position


def _ranges(prepared: Prepared, shape: Shape) -> list[tuple[int, int]]:
    """First row and number of rows of each draw, all towers numbered on."""
    s = prepared.settings
    if one_draw(prepared.trial):
        return [(0, shape.towers * shape.nodes)]
    if s.shared_map and not s.shared_tables:
        return [(n * shape.nodes, shape.nodes) for n in range(shape.towers)]
    return [
        (n * shape.nodes + shape.start(t), shape.rows[t]) for n, types in enumerate(prepared.node_types) for t in types
    ]
