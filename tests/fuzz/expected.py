"""What a network must be, computed slowly from the cells: ids, edges, weights, labels and numbers, all by id."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from diffmg.core import Relation
from diffmg.tasks.problem import Problem
from fuzz.library import Table, World

Pairs = dict[tuple[str, str], float]


class UnclearError(Exception):
    """Cells that may rightly be read in more than one way, such as ids that are dates."""


def complaints(problem: Problem, world: World) -> Iterator[str]:
    """Where a problem differs from the world it was read from."""
    parts, task = world.described, world.described["task"]
    ids: dict[str, set[str]] = {}
    for node_type, node in parts["nodes"].items():
        try:
            ids[node_type] = set(_nodes(world, node_type, node))
        except UnclearError:
            continue
        found = texts(problem, node_type)
        if sorted(found) != sorted(ids[node_type]):
            odd = sorted({*found} ^ ids[node_type])[:3]
            yield f"ids of {node_type!r}: {len(ids[node_type])} in, {len(found)} out, such as {odd}"
    for name, relation in parts["relations"].items():
        yield from _edges(problem, world, name, relation, ids)
    yield from _labels(problem, world, task)
    yield from _years(problem, world)


def texts(problem: Problem, node_type: str) -> list[str]:
    """The ids of a type as text."""
    return [str(value) for value in problem.graph.ids_of(node_type).tolist()]


def keys(table: Table, columns: Sequence[str], text: bool) -> list[str | None]:
    """Ids in some columns, None where any is missing."""
    parts = [[_key(v, text) for v in table[c]] for c in columns]
    if text:
        for cells in parts:
            _check_clear([v for v in cells if v is not None])
    if len(parts) == 1:
        return parts[0]
    joined = zip(*parts, strict=True)
    return [None if None in row else "/".join(re.sub(r"([/\\])", r"\\\1", str(v)) for v in row) for row in joined]


def _key(value: Any, text: bool) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise UnclearError
    return str(value)


def _check_clear(cells: list[str]) -> None:
    """In text files, a column of whole numbers or of words is clear; one of dates, fractions, yes and no is not."""
    if all(re.fullmatch(r"-?\d+", v) for v in cells):
        return
    if all(re.fullmatch(r"\s*[-+\d.:TZxXa-fA-FiIntfy_\s]*|\s*(true|false|True|False)\s*", v) for v in cells):
        raise UnclearError


def _nodes(world: World, node_type: str, node: Mapping[str, Any]) -> Iterator[str]:
    if "file" in node:
        table = world.tables[node["file"]]
        columns = node.get("id") or [*table][:1]
        found = keys(table, [columns] if isinstance(columns, str) else columns, world.text)
        yield from (key for key in found if key is not None)
        return
    for relation in world.described["relations"].values():
        for end in ("source", "target"):
            if relation[end][0] == node_type:
                found = keys(world.tables[relation["file"]], relation[end][1:], world.text)
                yield from (key for key in found if key is not None)


def _edges(
    problem: Problem, world: World, name: str, relation: Mapping[str, Any], ids: Mapping[str, set[str]]
) -> Iterator[str]:
    source, target = relation["source"][0], relation["target"][0]
    if source not in ids or target not in ids:
        return
    try:
        wanted = _pairs(world, relation, ids)
    except UnclearError:
        return
    yield from _told(problem, world, name, relation, ids)
    found = pairs_of(problem, Relation(source, name, target)) if name and wanted else {}
    if found.keys() != wanted.keys():
        odd = sorted(found.keys() ^ wanted.keys())[:3]
        yield f"edges of {name!r}: {len(wanted)} in, {len(found)} out, such as {odd}"
    elif any(abs(found[pair] - wanted[pair]) > 1e-4 * max(1, abs(wanted[pair])) for pair in found):
        yield f"weights of {name!r} are not those of the table"
    back = Relation(target, f"rev_{name}", source)
    if back in problem.graph.adjacency and pairs_of(problem, back).keys() != {(t, s) for s, t in found}:
        yield f"the reverse of {name!r} is not its reverse"


def _told(
    problem: Problem, world: World, name: str, relation: Mapping[str, Any], ids: Mapping[str, set[str]]
) -> Iterator[str]:
    """Rows that are no edges are told in a note; those with unknown ids are refused, unless they may be dropped."""
    table = world.tables[relation["file"]]
    for end in ("source", "target"):
        found = keys(table, relation[end][1:], world.text)
        missing = found.count(None)
        lost = sum(key is not None and key not in ids[relation[end][0]] for key in found)
        if lost and not world.dropping:
            yield f"{lost} rows of {name!r} with unknown ids are left out unasked"
        for count in (missing, lost):
            if count and not any(f"{count} rows" in note for note in problem.graph.notes):
                yield f"nobody is told that {count} rows of {name!r} are no edges"


def _pairs(world: World, relation: Mapping[str, Any], ids: Mapping[str, set[str]]) -> Pairs:
    """The weight of each edge: those of rows that repeat it are added up, without weights they count once."""
    table = world.tables[relation["file"]]
    ends = [keys(table, relation[end][1:], world.text) for end in ("source", "target")]
    weights = table.get(relation["weight"]) if "weight" in relation else None
    found: Pairs = {}
    for row, (source, target) in enumerate(zip(*ends, strict=True)):
        known = source in ids[relation["source"][0]] and target in ids[relation["target"][0]]
        if source is None or target is None or not known:
            continue
        if weights is None:
            found[source, target] = 1.0
        else:
            found[source, target] = found.get((source, target), 0.0) + _number(weights[row])
    return found


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError) as error:
        raise UnclearError from error


def pairs_of(problem: Problem, relation: Relation) -> Pairs:
    """The edges of a relation of a network, by ids."""
    if relation not in problem.graph.adjacency:
        return {}
    matrix = problem.graph.adjacency[relation].tocoo()
    sources, targets = texts(problem, relation.source), texts(problem, relation.target)
    found = zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True)
    return {(sources[col], targets[row]): value for row, col, value in found}


def _labels(problem: Problem, world: World, spec: Mapping[str, Any]) -> Iterator[str]:
    """Labels of a classification, and the parts that a column says, by id."""
    task: Any = problem.task
    node = world.described["nodes"][task.target_types[0]]
    table = world.tables[node["file"]]
    columns = node.get("id") or [*table][:1]
    try:
        own = keys(table, [columns] if isinstance(columns, str) else columns, world.text)
    except UnclearError:
        return
    place = {text: i for i, text in enumerate(texts(problem, task.target_types[0]))}
    if task.kind == "classification" and task.labels.ndim == 1 and isinstance(spec["label"], str):
        cells = table[spec["label"]]
        if all(v is None or isinstance(v, str) for v in cells) and any(v and v[0].isalpha() for v in cells if v):
            names = [None if n < 0 else str(task.classes[n]) for n in task.labels.tolist()]
            wrong = [k for k, v in zip(own, cells, strict=True) if k in place and names[place[k]] != v]
            if wrong:
                yield f"labels of {wrong[:3]} are not those of the table"
    if isinstance(spec.get("split"), str):
        for part, nodes in task.parts.items():
            said = {k for k, v in zip(own, table[spec["split"]], strict=True) if v == part}
            there = {text for text, i in place.items() if i in set(nodes.tolist())}
            if not there <= said:
                yield f"{part} has {sorted(there - said)[:3]}, which the split says are elsewhere"


def _years(problem: Problem, world: World) -> Iterator[str]:
    """The one number of papers, standardised; missing ones are the mean."""
    papers = world.tables.get("papers", {})
    if "paper" not in world.described["nodes"] or [*papers] != ["paper", "year", "venue"] or world.text:
        return
    years = papers["year"]
    known = [float(v) for v in years if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(known) != sum(v is not None for v in years) or len({*known}) < 2 or not all(map(math.isfinite, known)):
        return
    if max(map(abs, known)) > 1e100 or "paper" not in problem.graph.features:
        return
    mean, deviation = np.mean(known), np.std(known)
    wanted = {str(k): 0.0 if v is None else (v - mean) / deviation for k, v in zip(papers["paper"], years, strict=True)}
    found = problem.graph.features["paper"]
    values = (found if hasattr(found, "numpy") else found.dense()).numpy()[:, 0].tolist()
    if any(abs(wanted.get(k, 1e9) - v) > 1e-3 for k, v in zip(texts(problem, "paper"), values, strict=True)):
        yield "years of papers are not those of the table, standardised"
