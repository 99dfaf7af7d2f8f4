"""Descriptions in TOML: settings of the wrong type, unknown ones, odd names, damaged text."""

from __future__ import annotations

from random import Random
from typing import Any

from diffmg.core.codec import to_toml
from fuzz import odd
from fuzz.case import Case
from fuzz.damage import damaged
from fuzz.library import library
from fuzz.oracles import open_net
from fuzz.writers import NET, as_csv

SETTINGS = (
    "metric", "label", "split", "shares", "seed", "positive", "class_weight", "kind", "id", "features", "encode",
    "where", "time", "time_of", "delay", "weight", "both", "name", "source", "target", "file", "table", "database",
    "on_unknown", "encoding", "as_of", "moments", "windows", "triples", "notes", "format", "nodes", "relations",
    "task",
)  # fmt: skip


def cases(seed: int) -> Case:
    """Right files, and a description with a few things wrong."""
    rng = Random(f"toml {seed}")
    world = library(rng)
    files, _ = as_csv(world)
    described = _files_named(world.described)
    words = [_change(described, rng) for _ in range(rng.choice((1, 1, 1, 2)))]
    try:
        files[NET] = to_toml(described).encode("utf-8", "replace")
    except (ValueError, TypeError):  # what TOML cannot write, such as null
        files[NET] = to_toml(_writable(described)).encode("utf-8", "replace")
    if rng.random() < 0.25:
        files[NET], kind = damaged(files[NET], rng)
        words.append(kind)
    return Case(", ".join(words), files, (("describe", NET), open_net), terminal=rng.random() < 0.3)


def _files_named(described: dict[str, Any]) -> dict[str, Any]:
    for part in (*described["nodes"].values(), *described["relations"].values()):
        if "file" in part:
            part["file"] += ".csv"
    return described


def _change(data: dict[str, Any], rng: Random) -> str:
    """Change something at a random place."""
    place, path = data, []
    while True:
        inner = [k for k, v in place.items() if isinstance(v, dict) and v]
        if not inner or rng.random() < 0.3:
            break
        path.append(rng.choice(inner))
        place = place[path[-1]]
    if rng.random() < 0.4:
        return _right(data, rng)
    kind = rng.choice(("set", "set", "drop", "add", "add", "rename"))
    key = rng.choice([*place] or ["x"])
    if kind == "set":
        place[key] = rng.choice((odd.plain(rng), odd.name(rng)))
    elif kind == "drop":
        place.pop(key, None)
    elif kind == "add":
        key = rng.choice((*SETTINGS, odd.name(rng)))
        place[key] = odd.plain(rng)
    elif key in place:
        place[odd.name(rng)] = place.pop(key)
    return f"{kind} {'.'.join([*path, key])!r}"


def _right(data: dict[str, Any], rng: Random) -> str:
    """A setting that is right, at its place."""
    task, nodes, relations = data.get("task"), data.get("nodes"), data.get("relations")
    if not all(isinstance(part, dict) for part in (task, nodes, relations)):
        return "nothing"
    task |= rng.choice(
        (
            {"metric": "accuracy"},
            {"seed": 7},
            {"shares": [0.5, 0.3, 0.2]},
            {"class_weight": "balanced"},
            {"kind": "classification"},
        )
    )
    for node in nodes.values():
        if isinstance(node, dict) and node.get("file") == "authors.csv" and rng.random() < 0.5:
            node |= rng.choice(
                ({"features": ["age"]}, {"features": []}, {"where": {"town": "Ulm"}}, {"features": ["age", "town"]})
            )
    for relation in relations.values():
        if isinstance(relation, dict) and rng.random() < 0.3:
            relation |= rng.choice(({"both": False}, {"where": {"paper": "p0"}}, {"split": "|"}, {"name": "other"}))
    return "right settings"


def _writable(data: Any) -> Any:
    """Without what TOML has no word for."""
    if isinstance(data, dict):
        return {k: _writable(v) for k, v in data.items() if v is not None}
    return [_writable(v) for v in data if v is not None] if isinstance(data, list) else data
