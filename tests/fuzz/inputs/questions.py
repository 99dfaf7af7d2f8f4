"""Questions of `ask`: odd words, brackets, numbers, periods and dates; labels counted slowly."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

from fuzz import odd
from fuzz.case import Answer, Case, all_done
from fuzz.library import World
from fuzz.shop import shop, shop_statements
from fuzz.writers import sqlite_bytes, stored

WORDS = (
    "count", "exists", "sum", "mean", "min", "max", "distinct", "(", ")", "orders", "orders.amount", "customers",
    "where", "and", "or", "by", "amount", ">", "<", "==", "!=", "+", "-", "*", "/", "10", "1e400", "'x'", '"orders"',
    ".", "'", "--", ";", "customer_id",
)  # fmt: skip
QUESTIONS = (
    "count(orders)", "count(orders) > 0", "sum(orders.amount)", "exists(orders)", "count(orders where amount > 40)",
    "mean(orders.amount)", "count(distinct orders.amount) / count(orders)",
)  # fmt: skip


def cases(seed: int) -> Case:
    """A question to a shop, and what is written."""
    rng = Random(f"question {seed}")
    world = shop(rng)
    seen = stored(world)
    data = sqlite_bytes(shop_statements(world), {n: t for n, t in seen.tables.items() if n != "churn"})
    question, within, options = rng.choice(QUESTIONS), "7d", []
    plain = rng.random() < 0.3
    if not plain:
        question = _mutated(question, rng)
        if rng.random() < 0.3:
            within = rng.choice(odd.PERIODS)
        if rng.random() < 0.4:
            flag = rng.choice(("--since", "--until", "--every", "--held", "--time", "--static"))
            options = [flag, rng.choice((*odd.DATES, *odd.PERIODS, "3", "orders.ordered_at", "orders"))]
    words = (
        "ask",
        "shop.db",
        "--predict",
        question,
        "--of",
        "customers",
        "--within",
        within,
        "--out",
        "t.csv",
        *options,
    )
    oracle = _counted(world, question) if plain else None
    return Case(question[:100], {"shop.db": data}, (words,), oracle, terminal=rng.random() < 0.2)


def _mutated(question: str, rng: Random) -> str:
    kind = rng.choice(("words", "insert", "cut", "deep", "none"))
    if kind == "words":
        return " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 12)))
    if kind == "insert":
        at = rng.randrange(len(question) + 1)
        return question[:at] + rng.choice((odd.name(rng).replace("\x00", ""), rng.choice(WORDS))) + question[at:]
    if kind == "cut":
        return question[: rng.randrange(len(question))]
    return "(" * 3000 + question if kind == "deep" else question


def _counted(world: World, question: str) -> Any:
    """The label of every row is what a loop over all orders counts; an order is known at the end of its day."""

    def found(answers: Sequence[Answer]) -> Iterator[str]:
        if not all_done(answers):
            if "a label must differ" in answers[-1].err:
                return
            yield f"a plain question is refused: {answers[-1].err}"
            return
        orders = [*zip(*world.tables["orders"].values(), strict=True)]
        with Path("t.csv").open(encoding="utf-8", newline="") as file:
            for customer, moment, label, _ in [*csv.reader(file)][1:]:
                first = date.fromisoformat(moment[:10])
                last = first + timedelta(days=7)
                amounts = [a for _, c, at, a in orders if str(c) == customer and first <= date.fromisoformat(at) < last]
                wanted = _answer(question, amounts)
                if wanted is None and label == "":
                    continue
                if wanted is None or label == "" or abs(float(_number(label)) - wanted) > 1e-6:
                    yield f"{question} of {customer} after {moment} is {label}, not {wanted}"
                    return

    return found


def _number(label: str) -> str:
    return {"true": "1", "false": "0"}.get(label, label)


def _answer(question: str, amounts: list[float]) -> float | None:
    several = {
        "count(orders)": len(amounts),
        "count(orders) > 0": int(bool(amounts)),
        "sum(orders.amount)": sum(amounts),
    }
    several |= {"exists(orders)": int(bool(amounts)), "count(orders where amount > 40)": sum(a > 40 for a in amounts)}
    if question in several:
        return several[question]
    if not amounts:
        return None
    return sum(amounts) / len(amounts) if question.startswith("mean") else len({*amounts}) / len(amounts)
