"""Tables of predictions with dates: odd dates, entities and options; nothing later than a moment is heard."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from diffmg.core import Predictions, Source
from diffmg.runs.sources import open_problem
from fuzz import odd
from fuzz.case import Answer, Case
from fuzz.damage import damaged
from fuzz.expected import pairs_of
from fuzz.library import Table, World
from fuzz.oracles import PREDICT, RUN, finite_scores, fit, joined, probable, same_both_ways, table
from fuzz.shop import DAYS, day, shop, shop_statements
from fuzz.writers import duckdb_bytes, sqlite_bytes, stored

TASK = ("--task", "churn.csv", "--label", "gone")


def cases(seed: int) -> Case:
    """A shop, a file of predictions, and up to two things wrong with them."""
    rng = Random(f"predictions {seed}")
    world = shop(rng)
    options: list[str] = []
    words = [_mutate(world, options, rng) for _ in range(rng.choice((0, 1, 1, 2)))]
    seen = stored(world)
    file, to_bytes = rng.choice((("shop.db", sqlite_bytes), ("shop.db", sqlite_bytes), ("shop.duckdb", duckdb_bytes)))
    try:
        data = to_bytes(shop_statements(world), {n: t for n, t in seen.tables.items() if n != "churn"})
    except Exception:  # rows that break a key
        data = to_bytes(shop_statements(shop(Random(0))), stored(shop(Random(0))).tables)
    files = {file: data, "churn.csv": _csv(seen.tables["churn"])}
    if not words and rng.random() < 0.7:
        return _newer(rng, world, files, file, to_bytes)
    if rng.random() < 0.15:
        name = rng.choice([*files])
        files[name], kind = damaged(files[name], rng)
        return Case(f"{name}: {kind}", files, (("describe", file, *TASK),))
    forward = joined(_forward(file, world, options))
    if rng.random() < 0.6:
        return Case(", ".join(words), files, (("describe", file, *TASK, *options), _opened(file, options)), forward)
    at = ("predict", RUN, "--at", rng.choice((*odd.DATES, "2024-02-10", "2024-03-05")))
    steps = (
        (fit(file, *TASK, *options, method="features"), *PREDICT)
        if rng.random() < 0.6
        else (fit(file, *TASK, *options, method="features"), at)
    )
    oracle = joined(forward, finite_scores, same_both_ways, probable) if len(steps) == 3 else forward
    return Case(", ".join(words), files, steps, oracle, terminal=rng.random() < 0.2)


def _newer(rng: Random, world: World, files: dict[str, bytes], file: str, to_bytes: Any) -> Case:
    """Later orders and new customers change no answer on what was asked before them."""
    later = world.copy()
    people, orders = later.tables["customers"], later.tables["orders"]
    count, new = len(orders["order_id"]), len(people["customer_id"])
    for cells, values in zip(people.values(), ([*range(new, new + 9)], [*"CCCCCCCCC"]), strict=True):
        cells.extend(values)
    for i in range(20):
        row = (count + i, rng.randrange(new + 1), day(DAYS + i), 1e4 * rng.random())
        for cells, value in zip(orders.values(), row, strict=True):
            cells.append(value)
    grown = to_bytes(shop_statements(later), {n: t for n, t in stored(later).tables.items() if n != "churn"})

    def rewrite() -> None:
        Path(file).write_bytes(grown)

    command = ("predict", RUN, "--data", file)
    steps = (fit(file, *TASK, method=rng.choice(("features", "random"))), ("predict", RUN), rewrite, command)
    return Case("newer data", files, steps, _as_before)


def _as_before(answers: Sequence[Answer]) -> Iterator[str]:
    if answers[-1].code:
        yield f"newer rows are refused: {answers[-1].err.strip()}"
        return
    before, after = table(answers[1].out), {tuple(row) for row in table(answers[-1].out)}
    changed = [row for row in before if tuple(row) not in after]
    if changed:
        yield f"{len(changed)} of {len(before)} answers changed with later rows, such as {changed[:2]}"


def _mutate(world: World, options: list[str], rng: Random) -> str:
    """Odd dates, labels, parts or options."""
    kind = rng.choice(("date", "date", "order date", "label", "split", "entity", "option", "name", "clock"))
    churn, orders = world.tables["churn"], world.tables["orders"]
    if kind == "option":
        key = rng.choice(("entity", "time", "split", "validation", "test", "history", "horizon", "static", "kind", "x"))
        options += ["--by", f"{key}={rng.choice((*odd.DATES, *odd.PERIODS, 'date', 'split', 'frozen', 'customer_id'))}"]
    elif kind == "clock":
        churn["date"] = [f"{v}T12:30:00" for v in churn["date"]]
    elif kind == "name":
        churn[odd.name(rng) or "x"] = churn.pop(rng.choice([*churn]))
    else:
        table, column = {
            "date": (churn, "date"), "order date": (orders, "ordered_at"), "label": (churn, "gone"),
            "split": (churn, "split"), "entity": (churn, "customer_id"),
        }[kind]  # fmt: skip
        cells = table.get(column, [])
        for _ in range(rng.choice((1, 3))):
            if cells:
                cells[rng.randrange(len(cells))] = rng.choice((rng.choice(odd.DATES), odd.value(rng)))
    return kind


def _csv(table: Table) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    cells = [["" if v is None else v for v in column] for column in table.values()]
    writer.writerows([[*table], *zip(*cells, strict=True)])
    return out.getvalue().encode("utf-8", "replace")


def _source(file: str, options: Sequence[str]) -> Source:
    given: dict[str, Any] = dict(text.split("=", 1) for text in options if text != "--by")
    return Source(file, predictions=Predictions("churn.csv", label="gone", **given))


def _opened(file: str, options: Sequence[str]) -> Any:
    def step() -> None:
        if not any(text.startswith("x=") for text in options):
            open_problem(_source(file, options))

    return step


def _forward(file: str, world: World, options: Sequence[str]) -> Any:
    """A prediction hears from all orders of its customer dated before its moment, within the window, and no others."""

    def found(_: Sequence[Answer]) -> Iterator[str]:
        if options or {"date", "ordered_at", "customer_id"} - {*world.tables["churn"], *world.tables["orders"]}:
            return
        dates = dict(
            zip(map(str, world.tables["orders"]["order_id"]), world.tables["orders"]["ordered_at"], strict=True)
        )
        owner = dict(zip(dates, world.tables["orders"]["customer_id"], strict=True))
        problem = open_problem(_source(file, options))
        for relation in problem.graph.adjacency:
            if relation.source == "orders" and relation.target == problem.task.target_types[0]:
                for order, asked in pairs_of(problem, relation):
                    customer, moment = asked.split("/")[:2]
                    if not _clear(dates[order], moment):
                        continue
                    if str(owner[order]) != customer or not _ended(str(dates[order])) < moment.replace("T", " "):
                        yield f"{asked} hears of order {order} of {owner[order]} at {dates[order]}"
                        return
        if not any(r.source == "orders" for r in problem.graph.adjacency):
            yield "predictions hear of no orders"

    return found


def _clear(*dates: Any) -> bool:
    return all(isinstance(v, str) and v[:3] == "202" and len(v) >= 10 and v[4] == v[7] == "-" for v in dates)


def _ended(date: str) -> str:
    """The end of the day of a bare date."""
    return f"{date} 23:59:59" if len(date) == 10 else date.replace("T", " ")
