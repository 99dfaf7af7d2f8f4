"""Tables of predictions from a question, against counting row by row."""

import math
import random
import sqlite3
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffmg.core import DiffmgError, Predictions
from diffmg.tables.answering import Ask, _words
from diffmg.tables.asking import ask
from diffmg.tables.predictions import describe_predictions
from diffmg.tables.times import DAY

SCHEMA = """
CREATE TABLE people (id INTEGER PRIMARY KEY {});
CREATE TABLE orders (order_id INTEGER PRIMARY KEY, person_id INTEGER REFERENCES people, at {}, amount REAL, kind TEXT);
CREATE TABLE visits (visit_id INTEGER PRIMARY KEY, person_id INTEGER REFERENCES people, date TEXT);
CREATE TABLE products (product_id INTEGER PRIMARY KEY, price REAL);
CREATE TABLE calls (call_id INTEGER PRIMARY KEY, caller INTEGER REFERENCES people, called INTEGER REFERENCES people,
                    date TEXT);
CREATE TABLE notes (note_id INTEGER PRIMARY KEY, person_id INTEGER REFERENCES people, text TEXT);
"""
START = datetime(2024, 1, 1)
PEOPLE = 5
US = timedelta(microseconds=1)
QUESTIONS = {
    "count(orders) > 0": lambda o, v: len(o) > 0,
    "exists(orders where amount >= 2)": lambda o, v: any(a is not None and a >= 2 for a, _ in o),
    "count(orders where kind == 'a' and amount != 1 or kind = 'b')": lambda o, v: sum(
        (k == "a" and a is not None and a != 1) or k == "b" for a, k in o
    ),
    "count(distinct orders.amount)": lambda o, v: len({a for a, _ in o if a is not None}),
    "count distinct (orders.kind)": lambda o, v: len({k for _, k in o if k is not None}),
    "count(orders.amount)": lambda o, v: len(amounts(o)),
    "sum(orders.amount)": lambda o, v: sum(amounts(o)),
    "avg(orders.amount)": lambda o, v: sum(amounts(o)) / len(amounts(o)) if amounts(o) else None,
    "min(orders.amount) < 1": lambda o, v: min(amounts(o)) < 1 if amounts(o) else None,
    "max(orders.amount)": lambda o, v: max(amounts(o)) if amounts(o) else None,
    "count(visits) / count(orders)": lambda o, v: len(v) / len(o) if o else None,
    "2 * count(orders) - (count(visits) + 1) >= 0": lambda o, v: 2 * len(o) - (len(v) + 1) >= 0,
    "-count(orders) * 0.5": lambda o, v: -len(o) * 0.5,
}


def amounts(orders):
    return [a for a, _ in orders if a is not None]


class World:
    """Random tables with ties, missing dates and missing keys; dates are bare or have a time of day."""

    def __init__(self, seed, *, bare, dated):
        rng = random.Random(seed)
        self.bare, self.dated = bare, dated

        def at():
            if rng.random() < 0.1:
                return None
            return START + timedelta(days=rng.randrange(40), hours=0 if bare else rng.choice([0, 0, 6, 12]))

        def who():
            return rng.choice([None, 99, *range(PEOPLE), *range(PEOPLE)])

        self.people = [(i, at()) for i in range(PEOPLE)]
        self.orders = [
            (i, who(), at(), rng.choice([None, 0.0, 1.0, 2.0, 3.5]), rng.choice([None, "a", "b", "c"]))
            for i in range(40)
        ]
        self.visits = [(i, rng.randrange(PEOPLE), START + timedelta(days=rng.randrange(40))) for i in range(20)]
        self.orders[0] = (0, 0, START + timedelta(hours=0 if bare else 1), 1.0, "a")
        self.orders[1] = (1, 1, START + timedelta(days=39, hours=0 if bare else 7), 1.0, "a")

    def text(self, at):
        return None if at is None else str(at.date()) if self.bare else at.isoformat(" ")

    def write(self, path):
        with sqlite3.connect(path) as db:
            db.executescript(SCHEMA.format(", joined TEXT" if self.dated else "", "TEXT"))
            rows = [(i, self.text(at)) if self.dated else (i,) for i, at in self.people]
            db.executemany(f"INSERT INTO people VALUES ({'?, ?' if self.dated else '?'})", rows)
            db.executemany(
                "INSERT INTO orders VALUES (?, ?, ?, ?, ?)",
                [(i, w, self.text(t), a, k) for i, w, t, a, k in self.orders],
            )
            db.executemany("INSERT INTO visits VALUES (?, ?, ?)", [(i, w, str(t.date())) for i, w, t in self.visits])
            db.execute("INSERT INTO notes VALUES (0, 0, 'x')")
            db.execute("INSERT INTO calls VALUES (99, 0, 99, '2024-01-01')")
        db.close()
        return str(path)

    def known(self, at, *, bare):
        """When a row is known."""
        return None if at is None else at + timedelta(days=1) - US if bare else at

    def rows(self, both):
        """Who and when, of the tables of the question."""
        found = [(w, self.known(t, bare=self.bare), (a, k)) for _, w, t, a, k in self.orders]
        visits = [(w, self.known(t, bare=True), None) for _, w, t in self.visits]
        return [r for r in found if r[0] in range(PEOPLE) and r[1]], visits if both else []


def oracle(world, question, within, every, everyone):
    """Each entity at each moment, one row after another."""
    orders, visits = world.rows("visits" in question)
    first = min(t for _, t, _ in orders + visits)
    last = max(t for _, t, _ in orders + visits)
    end = last + US if (last + US).time() == START.time() else last
    moment = datetime.combine((end - within).date(), START.time())
    moments = []
    while moment > first:
        moments.insert(0, moment)
        moment -= every
    held = max(1, len(moments) // 6)
    test = moments[-held:]
    val = [m for m in moments if m + within <= test[0]][-held:]
    train = [m for m in moments if val and m + within <= val[0]]
    if not train:
        return None
    found = []
    for part, made in [("train", m) for m in train] + [("val", m) for m in val] + [("test", m) for m in test]:
        for person, joined in world.people:
            mine = [(t, x) for w, t, x in orders if w == person]
            seen = [(t, x) for w, t, x in visits if w == person]
            if world.dated:
                known = world.known(joined, bare=world.bare)
                if known is None or known >= made:
                    continue
            elif not everyone and not any(t < made for t, _ in mine + seen):
                continue
            values = ([x for t, x in rows if made < t <= made + within] for rows in (mine, seen))
            label = QUESTIONS[question](*values)
            if label is not None:
                found.append((person, str(made.date()), float(label), part))
    return found


@settings(max_examples=120, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    question=st.sampled_from(list(QUESTIONS)),
    within=st.integers(1, 9),
    every=st.integers(1, 9),
    bare=st.booleans(),
    dated=st.booleans(),
    everyone=st.booleans(),
)
def test_labels_are_those_counted_row_by_row(seed, question, within, every, bare, dated, everyone):
    world = World(seed, bare=bare, dated=dated)
    expected = oracle(world, question, timedelta(days=within), timedelta(days=every), everyone)
    asked = Ask(question, "people", f"{within}d", f"{every}d", everyone=everyone)
    with TemporaryDirectory() as folder:
        address = world.write(Path(folder) / "world.db")
        if expected is None:
            with pytest.raises(DiffmgError, match="moments must suffice for train, val and test"):
                ask(address, asked)
        elif min(len({r[2] for r in expected if part in ("", r[3])}) for part in ("", "train")) < 2:
            with pytest.raises(DiffmgError, match="a label must differ between predictions"):
                ask(address, asked)
        else:
            table = ask(address, asked).table
            assert table.column_names == ["person_id", "moment", "label", "split"]
            found = list(zip(*(table.column(c).to_pylist() for c in table.column_names), strict=True))
            assert [(w, m, s) for w, m, _, s in found] == [(w, m, s) for w, m, _, s in expected]
            assert all(
                math.isclose(a[2], b[2], rel_tol=1e-12, abs_tol=1e-12) for a, b in zip(found, expected, strict=True)
            )


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return World(3, bare=True, dated=False).write(tmp_path_factory.mktemp("asked") / "world.db")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"of": "peple"}, "unknown table of --of: 'peple'; did you mean 'people'"),
        ({"predict": "count(order) > 0"}, "unknown table of the question: 'order'; did you mean 'orders'"),
        ({"predict": "sum(orders.amuont)"}, "unknown column of table 'orders': 'amuont'; did you mean 'amount'"),
        ({"predict": "count(orders where knd == 'a')"}, "unknown column of table 'orders': 'knd'"),
        (
            {"predict": "count(products)"},
            "refer to 'people' by a foreign key, but got 'products' without one; .* notes",
        ),
        ({"predict": "count(notes)"}, "must be dated, but got 'notes' without .* --time notes.COLUMN"),
        ({"predict": "count(calls)"}, "by one key, but got several in 'calls': caller, called; name it: count"),
        ({"predict": "count(calls by caled)"}, "unknown key from 'calls' to 'people': 'caled'; did you mean 'called'"),
        (
            {"predict": "count(calls by called)"},
            "some rows of calls must have a date and refer to 'people', but got none",
        ),
        ({"predict": "count(orders) > 1000"}, "a label must differ between predictions, but got 0 in all .* rows"),
        (
            {"within": "60d"},
            "moments from 2024-01-02 on, data until 2024-02-10 and a period of 60d; use a shorter --within",
        ),
        ({"within": "15d"}, "moments must suffice for train, val and test, 1 each .* but got 2 from"),
        ({"every": "1s"}, "at most 10000 moments are asked at, but got .* use a longer --every"),
        (
            {"since": "2025-01-01"},
            "moments from 2025-01-01 on, data until .* use a shorter --within, an earlier --since or a later --until",
        ),
        ({"since": "2024-13-01"}, "--since is written 2024-01-31 or 2024-01-31T12:30, but got '2024-13-01'"),
        ({"within": "0d"}, "a period is a number from 1 on .* but got '0d'"),
        ({"within": "5 days"}, "a period is a number from 1 on and one of s, min, h, d, w"),
        ({"times": ("orders.amount",)}, "times that are numbers must be days .* in orders.amount"),
        ({"times": ("orders.amnt",)}, "unknown column of table 'orders': 'amnt'; did you mean 'amount'"),
        ({"times": ("visits.date",)}, "unknown table of --time, written TABLE.COLUMN, 'visits'"),
        ({"predict": "sum(orders.kind)"}, "sum is of numbers, but got 'orders.kind', a column of string"),
        ({"predict": "count(orders where kind > 1)"}, "'orders.kind', a column of string, with a 'text', but got 1.0"),
        ({"predict": "count(orders where amount == 'a')"}, "a column of double, with a number, but got 'a'"),
    ],
)
def test_questions_that_cannot_be_answered(world, changes, words):
    with pytest.raises(DiffmgError, match=words):
        ask(world, Ask(**{"predict": "count(orders) > 0", "of": "people", "within": "5d", **changes}))


def test_one_of_several_keys_is_named(tmp_path):
    path = World(0, bare=True, dated=False).write(tmp_path / "world.db")
    with sqlite3.connect(path) as db:
        calls = [(i, i % 3 % 2, 2, f"2024-01-{1 + i % 25:02}") for i in range(50)]
        db.executemany("INSERT INTO calls VALUES (?, ?, ?, ?)", calls)
    db.close()
    found = ask(path, Ask("count(calls by caller)", "people", "4d", "3d"))
    assert found.table.column_names[0] == found.entity == "caller"
    assert set(found.table.column("caller").to_pylist()) == {0, 1}
    assert found.kind == "regression"


def test_the_data_may_be_said_to_begin_and_end_elsewhere(world):
    question = Ask("count(orders) > 0", "people", "5d", "5d", since="2024-01-08", until="2024-02-05", held=1)
    made = sorted(set(ask(world, question).table.column("moment").to_pylist()))
    assert made == ["2024-01-11", "2024-01-16", "2024-01-21", "2024-01-26", "2024-01-31"]


def test_moments_may_have_a_time_of_day(tmp_path):
    path = World(0, bare=False, dated=False).write(tmp_path / "world.db")
    made = ask(path, Ask("count(orders) > 0", "people", "60h")).table.column("moment").to_pylist()
    assert made[-1] == "2024-02-06T19:00:00"


def test_one_moment_is_one():
    parts = {"train": np.array([0, DAY]), "val": np.array([2 * DAY])}
    assert _words(parts) == ["train: 2 moments, 1970-01-01 to 1970-01-02", "val: 1 moment, 1970-01-03"]


def test_entities_have_one_key(tmp_path):
    path = tmp_path / "keys.db"
    with sqlite3.connect(path) as db:
        db.executescript("""
            CREATE TABLE shops (region TEXT, no INTEGER, PRIMARY KEY (region, no));
            CREATE TABLE sales (at TEXT, region TEXT, no INTEGER, FOREIGN KEY (region, no) REFERENCES shops);
            CREATE TABLE asked (region TEXT, no INTEGER, at TEXT, label INTEGER, split TEXT);
            INSERT INTO shops VALUES ('a', 1);
            INSERT INTO sales VALUES ('2024-01-01', 'a', 1);
            INSERT INTO asked VALUES ('a', 1, '2024-02-01', 1, 'train');
        """)
    db.close()
    words = r"a primary key of one column, but got \['region', 'no'\] in 'shops'; give it one"
    with pytest.raises(DiffmgError, match=words):
        ask(str(path), Ask("count(sales)", "shops", "5d"))
    with pytest.raises(DiffmgError, match=words):
        describe_predictions(str(path), Predictions("asked", label="label"))
