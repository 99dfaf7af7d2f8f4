"""CSV files: odd names and cells, damaged and packed files."""

from __future__ import annotations

import gzip
from random import Random

from fuzz.case import Case
from fuzz.damage import damaged
from fuzz.library import library
from fuzz.mutations import mutate
from fuzz.oracles import open_net, steps_on
from fuzz.writers import as_csv


def cases(seed: int) -> Case:
    """Tables with a few things wrong, as text files."""
    rng = Random(f"csv {seed}")
    files, seen = as_csv(mutate(library(rng), rng))
    if rng.random() < 0.25:
        return _damaged(files, rng)
    if rng.random() < 0.15:
        files = {_packed(name): _pack(name, data) for name, data in files.items()}
    steps, oracle = steps_on(rng, seen)
    return Case(", ".join(seen.changes), files, steps, oracle, terminal=rng.random() < 0.3)


def _damaged(files: dict[str, bytes], rng: Random) -> Case:
    name = rng.choice([n for n in files if n.endswith(".csv")])
    files[name], kind = damaged(files[name], rng)
    return Case(f"{name}: {kind}", files, (("describe", "net.toml"), open_net), terminal=rng.random() < 0.3)


def _packed(name: str) -> str:
    return f"{name}.gz" if name.endswith(".csv") else name


def _pack(name: str, data: bytes) -> bytes:
    return gzip.compress(data, mtime=0) if name.endswith(".csv") else data.replace(b'.csv"', b'.csv.gz"')
