"""Oracles on what commands wrote: scores, predictions, and the network behind them."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from diffmg.core import Source
from diffmg.runs.sources import open_problem
from fuzz.case import Answer, Oracle, all_done
from fuzz.expected import UnclearError, complaints, keys
from fuzz.library import World
from fuzz.writers import NET

QUICK = ("-s", "max_epochs=1", "-s", "dim=4")
RUN, TABLE = "run", "answers.csv"
PREDICT = (("predict", RUN), ("predict", RUN, "--out", TABLE))


def fit(data: str, *options: str, method: str = "mlp") -> tuple[str, ...]:
    """The arguments of a quick fit."""
    return ("fit", data, "--method", method, *QUICK, "--out", RUN, *options)


def joined(*oracles: Oracle) -> Oracle:
    """All complaints, if no step was refused."""

    def found(answers: Sequence[Answer]) -> Iterator[str]:
        if all_done(answers):
            for oracle in oracles:
                yield from oracle(answers)

    return found


def network(world: World, source: str = NET) -> Oracle:
    """The network is that of the tables."""

    def found(_: Sequence[Answer]) -> Iterator[str]:
        yield from complaints(open_problem(Source(source)), world)

    return found


def open_net() -> None:
    """Open the problem."""
    open_problem(Source(NET))


def table(text: str) -> list[list[str]]:
    """The rows of a table of answers, its head first."""
    return [*csv.reader(io.StringIO(text, newline=""))]


def written() -> str:
    """The text of the table that a command wrote."""
    return Path(TABLE).read_bytes().decode("utf-8")


def finite_scores(_: Sequence[Answer]) -> Iterator[str]:
    """Scores in `run.json` are finite numbers."""
    run = json.loads((Path(RUN) / "run.json").read_text(encoding="utf-8"))
    for training in run["trained"]:
        for part in ("val", "test"):
            odd = {k: v for k, v in training[part].items() if not isinstance(v, int | float) or not math.isfinite(v)}
            if odd:
                yield f"scores of {part} are {odd}"


def same_both_ways(answers: Sequence[Answer]) -> Iterator[str]:
    """What is printed is what is written; the last two steps printed and wrote."""
    if not answers[-2].terminal and answers[-2].out != written():
        yield "the table that is printed is not the one that is written"


def probable(_: Sequence[Answer]) -> Iterator[str]:
    """Probabilities add up to one, and the class is the most probable one; numbers are finite."""
    head, *rows = table(written())
    chances = [i for i, name in enumerate(head) if name.startswith("p(")]
    for row in rows:
        values = [float(row[i]) for i in chances]
        if not all(map(math.isfinite, values)) or any(cell.lower() in ("nan", "inf", "-inf") for cell in row[2:]):
            yield f"the answer for {row[0]!r} is {row[1:]}"
            return
        if values and len(row) == 2 + len(values):
            told = head[chances[values.index(max(values))]]
            if abs(sum(values) - 1) > 1e-3 or (told != f"p({row[1]})" and sorted(values)[-2] < max(values)):
                yield f"the answer for {row[0]!r} is {row[1]!r} with {dict(zip(head[2:], row[2:], strict=True))}"
                return


def every_row(world: World) -> Oracle:
    """Every row of the target's table has its answer."""

    def found(_: Sequence[Answer]) -> Iterator[str]:
        node = world.described["nodes"][world.described["task"]["target"]]
        own = world.tables[node["file"]]
        columns = node.get("id") or [*own][:1]
        try:
            wanted = keys(own, [columns] if isinstance(columns, str) else columns, world.text)
        except UnclearError:
            return
        got = [row[0] for row in table(written())[1:]]
        if sorted(got) != sorted(map(str, wanted)):
            odd = sorted({*got} ^ {*map(str, wanted)})[:3]
            yield f"{len(wanted)} rows in, {len(got)} answers out, such as {odd}"

    return found


def one_by_one(answers: Sequence[Answer]) -> Iterator[str]:
    """The answer for a single id is its row in the table of all; that step comes between fit and the others."""
    rows, single = table(written()), table(answers[1].out)
    if not answers[1].terminal and single[1:] and single[1] not in rows:
        yield f"alone the answer is {single[1]}, not as in the table"


def usual(world: World) -> Oracle:
    """The oracles on a fit and its predictions."""
    return joined(network(world), finite_scores, same_both_ways, one_by_one, probable, every_row(world))


def steps_on(rng: Any, world: World, data: str = NET) -> tuple[tuple[Any, ...], Oracle]:
    """Describe and open the tables; in some cases fit them and predict."""
    if rng.random() < 0.6:
        return (("describe", data), open_net), joined(network(world))
    method = rng.choice(("mlp", "features", "gcn", "label_propagation", "random"))
    method = "mlp" if isinstance(_label(world), float) and method == "label_propagation" else method
    return (fit(data, method=method), ("predict", RUN, "--id", str(_some_id(rng, world))), *PREDICT), usual(world)


def _some_id(rng: Any, world: World) -> Any:
    ids = [v for v in next(iter(world.tables.get("authors", {}).values()), []) if isinstance(v, str | int)]
    return rng.choice([v for v in ids if "\x00" not in str(v) and not str(v).startswith("-")] or ["none"])


def _label(world: World) -> Any:
    return next(iter(world.tables.get("authors", {}).get("field", [])), None)
