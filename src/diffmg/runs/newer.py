"""A model of a timed task on newer data: rows and entities that were not there when it was fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from diffmg.core import DiffmgError
from diffmg.core.files import is_file_name
from diffmg.nn.encoder import Encoder
from diffmg.tables.building import Encoders
from diffmg.tables.catalogue import read_catalogue
from diffmg.tables.connecting import connected
from diffmg.tables.description import Description, description_from_dict
from diffmg.tables.keys import Keys
from diffmg.tables.problem import problem_from_tables, read_tables
from diffmg.tables.schedule import day
from diffmg.tables.times import NEVER, moment, row_times, written_like
from diffmg.tasks.problem import Problem

if TYPE_CHECKING:
    from diffmg.runs.model import Recipe

HISTORY = "history before"
"""How the note begins that says where the history of predictions at a moment ends."""
UNKNOWN = "rows with unknown "
"""What notes on rows that refer to no node have in common."""


def newer_problem(
    recipe: Recipe, data: str | None, at: str | None, on_unknown: str | None = None
) -> tuple[Problem, NDArray[np.str_] | None]:
    """The problem on newer data, with a prediction of every entity at a moment; and the ids of those predictions."""
    if recipe.description is None:
        raise DiffmgError(
            "newer data and a moment are for a task of predictions with moments, "
            f"but got a model of {recipe.data.task} without; fit it with --task"
        )
    description = description_from_dict(recipe.description)
    if data is not None:
        description = replace(description, database=data if "://" in data else str(Path(data).resolve()))
    if on_unknown is not None:
        description = replace(description, on_unknown=on_unknown)  # type: ignore[arg-type]  # checked by the description
    check_same_schema(description, recipe.encoders)
    tables, wanted, notes = read_tables(description, Path()), None, list[str]()
    if at is not None:
        notes += _history_notes(description, tables, at)
        tables, wanted = _with_predictions(description, tables, at)
    problem = with_relations(
        problem_from_tables(description, tables, recipe.encoders), list(recipe.data.facts["edges"])
    )
    return replace(problem, graph=replace(problem.graph, notes=(*problem.graph.notes, *notes))), wanted


def newer_notes(problem: Problem) -> list[str]:
    """Where the history ends that predictions at a moment are made from, and rows left out for their unknown ids."""
    return [note for note in problem.graph.notes if note.startswith(HISTORY) or UNKNOWN in note]


def _history_notes(description: Description, tables: Mapping[str, pa.Table], at: str) -> list[str]:
    """The day of the last row before a moment; an error if there is none, nothing where all other rows are static."""
    asked, own = moment(at, "a moment"), description.moments and description.nodes[description.moments.target].table
    dated = [(str(n.table), n.time) for n in description.nodes.values() if n.time and n.table != own]
    if not dated:
        return []
    times = np.concatenate([row_times(tables[name].column(time), f"{name}.{time}") for name, time in dated])
    before = times[(times < asked) & (times != NEVER)]
    if not len(before):
        first = day(times[times != NEVER].min()) if (times != NEVER).any() else "none has a date"
        raise DiffmgError(
            f"rows must be dated before the moment of a prediction, but got {at!r}, and the first: {first}; "
            "give a later moment"
        )
    return [f"{HISTORY} {at} ends {day(before.max())}"]


def check_same_schema(description: Description, encoders: Encoders) -> None:
    """Raise, listing all differences, if a table or column is not there any more."""
    if description.database is None:
        return
    with connected(description.database) as connection:
        tables = read_catalogue(connection)
    lost = []
    for node_type, node in description.nodes.items():
        name = str(node.table)
        if is_file_name(name) or description.query_of(name) is not None:
            continue
        fitted = {column["name"] for column in encoders.get(node_type, {}).get("columns", ())}
        wanted = (fitted | description.keys_of(name)) - {"row number"}
        if name not in tables:
            lost.append(f"table {name!r} is gone")
        else:
            gone = sorted(c for c in wanted if c not in tables[name].columns and "." not in c and ": " not in c)
            lost += [f"column {column!r} of {name!r} is gone" for column in gone]
    if lost:
        raise DiffmgError(
            f"newer data must have the tables and columns that the model was fitted on, but got: {'; '.join(lost)}; "
            "rename them back, or fit again"
        )


def _with_predictions(
    description: Description, tables: Mapping[str, pa.Table], at: str
) -> tuple[dict[str, pa.Table], NDArray[np.str_]]:
    """The tables with a prediction of every entity at a moment, without a label."""
    moments = description.moments
    assert moments is not None, "only a timed task has a description here"
    name = str(description.nodes[moments.target].table)
    relation = next(r for r in description.relations.values() if r.table == name and r.target[0] == moments.target)
    entity, key = relation.source[0], relation.source[1]
    node = description.nodes[entity]
    entities = tables[str(node.table)]
    ids = entities.column((node.id or entities.column_names[:1])[0])
    made = tables[name].column(moments.column)
    same = pa.repeat(written_like(at, made, f"the moments of {name}"), len(ids)).cast(made.type)
    added = pa.table({key: ids.cast(tables[name].schema.field(key).type), moments.column: same})
    columns = description.nodes[moments.target].id
    known = Keys.read(tables[name], columns, name).values.cast(pa.string())
    wanted = Keys.read(added, columns, name).values.cast(pa.string())
    fresh = added.filter(pa.compute.invert(pa.compute.is_in(wanted, value_set=known.combine_chunks())))
    joined = pa.concat_tables([tables[name], fresh], promote_options="default")
    return {**tables, name: joined}, np.asarray(wanted.to_pylist(), str)


def with_relations(problem: Problem, fitted: list[str]) -> Problem:
    """The problem with exactly the relations that the model was fitted on, in their order."""
    graph = problem.graph
    known = {str(relation): relation for relation in graph.schema.relations}
    lost = [name for name in fitted if name not in known]
    if lost:
        raise DiffmgError(f"data must have the relations that the model was fitted on, but got none of {lost[:5]}")
    return replace(problem, graph=graph.with_relations([known[name] for name in fitted]))


def moved_weights(
    weights: Mapping[str, Tensor], network: nn.Module, old: Mapping[str, NDArray[Any]], problem: Problem
) -> dict[str, Tensor]:
    """Weights for other nodes: learned vectors go with the ids, and a node that was not there gets their mean."""
    found = dict(weights)
    for prefix, module in network.named_modules():
        if isinstance(module, Encoder):
            for name, node_type in module.rows_of_nodes(problem.graph).items():
                key = f"{prefix}.{name}" if prefix else name
                found[key] = _moved(weights[key], old[node_type], problem.graph.ids_of(node_type))
    return found


def _moved(rows: Tensor, old: NDArray[Any], new: NDArray[Any]) -> Tensor:
    places = {value: place for place, value in enumerate(old.tolist())}
    index = [places.get(value, -1) for value in new.tolist()]
    mean = rows.mean(dim=0, keepdim=True)
    return torch.cat([rows, mean])[torch.tensor(index)]
