"""Parquet files: columns of all types, odd names, damaged files."""

from __future__ import annotations

from random import Random

from fuzz.case import Case
from fuzz.damage import damaged
from fuzz.library import library
from fuzz.mutations import mutate
from fuzz.oracles import open_net, steps_on
from fuzz.writers import as_parquet


def cases(seed: int) -> Case:
    """Tables with a few things wrong, as Parquet files."""
    rng = Random(f"parquet {seed}")
    files, seen = as_parquet(mutate(library(rng), rng))
    if rng.random() < 0.3:
        name = rng.choice([n for n in files if n.endswith(".parquet")])
        files[name], kind = damaged(files[name], rng)
        return Case(f"{name}: {kind}", files, (("describe", "net.toml"), open_net))
    steps, oracle = steps_on(rng, seen)
    return Case(", ".join(seen.changes), files, steps, oracle, terminal=rng.random() < 0.3)
