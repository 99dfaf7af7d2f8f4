"""A bank in tables whose customers leave for no single reason; leaks are planted into it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from diffmg.tables.description import description_from_dict
from diffmg.tables.problem import problem_from_tables
from diffmg.tasks.problem import Problem

CUSTOMERS = 400
Tables = dict[str, dict[str, Any]]
Described = dict[str, Any]
Plant = Callable[[Tables, Described, np.ndarray, np.random.Generator], None]


def bank(plant: Plant | None = None, seed: int = 0) -> Problem:
    """The network of the bank with what is planted, and the task: who has left?"""
    rng = np.random.default_rng(seed)
    left = rng.random(CUSTOMERS) < 0.4
    owner = rng.integers(0, CUSTOMERS, 900)
    tables: Tables = {
        "customers": {
            "id": [f"c{n}" for n in rng.permutation(10 * CUSTOMERS)[:CUSTOMERS]],
            "age": np.round(rng.normal(45 - 6 * left, 12)),
            "city": rng.choice(["Ulm", "Bonn", "Kiel"], CUSTOMERS),
            "left": left.astype(int),
        },
        "accounts": {
            "no": np.arange(900),
            "balance": np.round(rng.lognormal(6, 1, 900) * (1 - 0.5 * left[owner]), 2),
            "branch": rng.integers(0, 30, 900),
        },
        "branches": {"branch": np.arange(30), "size": np.round(rng.normal(50, 10, 30))},
    }
    tables["accounts"]["owner"] = np.array(tables["customers"]["id"])[owner]
    described: Described = {
        "nodes": {"customer": {"file": "customers"}, "account": {"file": "accounts"}, "branch": {"file": "branches"}},
        "relations": {
            "owns": {"file": "accounts", "source": ["account", "no"], "target": ["customer", "owner"]},
            "at": {"file": "accounts", "source": ["account", "no"], "target": ["branch", "branch"]},
        },
        "task": {"target": "customer", "label": "left"},
    }
    if plant is not None:
        plant(tables, described, left, rng)
    return problem_from_tables(description_from_dict(described), tables)


def owners(tables: Tables) -> np.ndarray:
    """The number of each account's customer."""
    place = {name: n for n, name in enumerate(tables["customers"]["id"])}
    return np.array([place[name] for name in tables["accounts"]["owner"]])


def child(tables: Tables, described: Described, name: str, of: np.ndarray, **columns: Any) -> None:
    """A further table whose rows each belong to a customer."""
    ids = np.array(tables["customers"]["id"])[of]
    tables[name] = {"row": np.arange(len(of)), "customer": ids, **columns}
    described["nodes"][name] = {"file": name}
    described["relations"][f"{name}_of"] = {"file": name, "source": [name, "row"], "target": ["customer", "customer"]}
