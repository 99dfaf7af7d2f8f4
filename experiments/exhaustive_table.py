"""A table of really trained programs as one small Parquet file, and looking scores up in it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from diffmg.core.errors import DiffmgError
from diffmg.core.files import make_folder, write_atomically
from diffmg.core.metagraph import MetaGraph
from diffmg.core.schema import Relation, Schema
from diffmg.core.space import SearchSpace
from experiments.exhaustive_programs import Picks, program_key

ABOUT = b"diffmg.exhaustive"
"""The key of the file's metadata."""


@dataclass(frozen=True)
class Row:
    """A program: the first meta graph that has it, how many do, and what its trainings came to."""

    key: str
    operations: Picks
    """For each link, tower by tower, the number of its candidate."""
    metagraphs: int
    """How many meta graphs, or pairs of them, have this program."""
    score: float
    """On validation, in the metric's own direction; NaN if the training failed."""
    loss: float
    best_epoch: int
    second: float = math.nan
    """The score from the second seed, for the best tenth."""


@dataclass(frozen=True)
class ExhaustiveTable:
    """Rows, and everything needed to use them without the data."""

    rows: tuple[Row, ...]
    about: Mapping[str, Any]
    """Data set, depth, schema, targets, metric, its sign, settings, seeds, device, command."""

    @property
    def name(self) -> str:
        """Data set and depth."""
        return f"{self.about['data']}-depth{self.about['depth']}"

    @property
    def sign(self) -> int:
        """1 if higher scores are better."""
        return int(self.about["sign"])

    @property
    def complete(self) -> bool:
        """Whether it holds every program, not a sample."""
        return bool(len(self.rows) == self.about["programs"])

    @cached_property
    def schema(self) -> Schema:
        """The network's schema."""
        types, relations = self.about["node_types"], self.about["relations"]
        return Schema(tuple(types), tuple(Relation(*triple) for triple in relations))

    @cached_property
    def spaces(self) -> tuple[SearchSpace, ...]:
        """The space of each target type."""
        return tuple(SearchSpace.dag(self.schema, t, self.about["depth"]) for t in self.about["targets"])

    @cached_property
    def by_key(self) -> dict[str, Row]:
        """Rows by the key of their program."""
        return {row.key: row for row in self.rows}

    @cached_property
    def best(self) -> Row:
        """The program with the best score from the first seed."""
        return max((r for r in self.rows if math.isfinite(r.score)), key=lambda r: self.sign * r.score)

    def row(self, metagraphs: Sequence[MetaGraph]) -> Row:
        """What meta graphs came to; one per target type, in any order."""
        by_target = {m.target: m for m in metagraphs}
        key = program_key([by_target[t] for t in self.about["targets"] if t in by_target])
        if key not in self.by_key:
            raise DiffmgError(f"a meta graph must be one of {self.name}, but got {[m.to_dict() for m in metagraphs]}")
        return self.by_key[key]

    def metagraphs(self, row: Row) -> tuple[MetaGraph, ...]:
        """The first meta graphs with the program of a row."""
        found, rest = [], list(row.operations)
        for space in self.spaces:
            here, rest = rest[: len(space.candidates)], rest[len(space.candidates) :]
            found.append(space.metagraph(tuple(here)))
        return tuple(found)

    def regret(self, score: float) -> float:
        """How much worse a score is than the best one of the table."""
        return self.sign * (self.best.score - score)


def write_table(path: Path, table: ExhaustiveTable) -> None:
    """Write a table; numbers of operations are those of the candidates of each link, in the metadata's legend."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {
        "key": pa.string(), "operations": pa.list_(pa.uint8()), "metagraphs": pa.int32(), "score": pa.float32(),
        "loss": pa.float32(), "best_epoch": pa.int16(), "second": pa.float32(),
    }  # fmt: skip
    columns = {name: [_plain(getattr(row, name)) for row in table.rows] for name in types}
    legend = {space.target: [[str(o) for o in c] for c in space.candidates] for space in table.spaces}
    about = {ABOUT: json.dumps({**table.about, "legend": legend}).encode()}
    made = pa.table(columns, schema=pa.schema(list(types.items()), metadata=about))
    make_folder(path.parent)
    write_atomically(path, lambda p: pq.write_table(made, p, compression="zstd"))


def read_table(path: Path) -> ExhaustiveTable:
    """Read what `write_table` wrote."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        made = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise DiffmgError(f"a table of programs must be a Parquet file, but got {str(path)!r}: {error}") from error
    about = (made.schema.metadata or {}).get(ABOUT)
    if about is None:
        raise DiffmgError(f"a table of programs has metadata {ABOUT.decode()!r}, but got {str(path)!r} without it")
    return ExhaustiveTable(tuple(_row(plain) for plain in made.to_pylist()), json.loads(about))


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return list(value) if isinstance(value, tuple) else value


def _row(plain: dict[str, Any]) -> Row:
    numbers = {name: math.nan if plain[name] is None else plain[name] for name in ("score", "loss", "second")}
    return Row(**{**plain, **numbers, "operations": tuple(plain["operations"])})
