"""Meta graphs that are hard to draw: deep, wide, with long and strange names, with windows."""

from __future__ import annotations

import random

from diffmg.core.importance import PathImportance
from diffmg.core.metagraph import Link, MetaGraph
from diffmg.core.schema import Relation, Schema
from diffmg.core.space import SearchSpace

TYPES = tuple(f"table_{letter}" for letter in "abcdefgh")
FORTY = Schema(
    TYPES,
    tuple(
        Relation(TYPES[5 * n % 8], f"relation_number_{n}", TYPES[(3 * n + 1) % 8 if n % 2 else 0]) for n in range(40)
    ),
)
LONG = (
    "a_very_long_table_name_with_many_words_from_an_erp_system",
    "顧客注文明細テーブルの名前がとても長い場合",
    "🚀🚀 <script>alert(1)</script> & more",
    "x" * 80,
)
LONG_RELATIONS = (
    Relation(LONG[1], "注文_商品_関係_とても長い名前_注文_商品_関係_とても長い名前", LONG[0]),
    Relation(LONG[2], "<script>alert('x')</script>", LONG[0]),
    Relation(LONG[3], "y" * 90, LONG[1]),
    Relation(LONG[0], "rev_has_ordered_many_times_from_this_supplier_in_the_past", LONG[2]),
)
WINDOWS = (
    Relation("standings", "last 5 of the driver", "predictions"),
    Relation("standings", "last 1 of the driver", "predictions"),
    Relation("results", "last 365d of the driver", "predictions"),
    Relation("results", "last 5 of the constructor", "results"),
    Relation("races", "rev_race", "results"),
)


def deep(seed: int) -> MetaGraph:
    return SearchSpace.dag(FORTY, TYPES[0], 8).sample(random.Random(seed))


def hard_cases() -> dict[str, MetaGraph]:
    timed = {Link(1, 0): WINDOWS[3:], Link(2, 0): WINDOWS[:2], Link(2, 1): WINDOWS[2]}
    found = {f"deep {seed}": deep(seed) for seed in range(6)}
    found |= {f"K = {k}": SearchSpace.dag(FORTY, TYPES[0], k).everything() for k in range(2, 9)}
    found["long"] = MetaGraph(LONG[0], tuple(LONG_RELATIONS for _ in range(6)))
    return found | {"windows": MetaGraph.of("predictions", timed)}


def importances(metagraph: MetaGraph) -> list[PathImportance]:
    rng = random.Random(0)
    paths = (*metagraph.longest_paths(12), ())
    return [PathImportance(metagraph.target, path, rng.uniform(-0.01, 0.1), 0.01) for path in paths]


CASES = hard_cases()
