"""Makes a table of predictions from a question: who, when, and what came of it within a period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from diffmg.core import Checked, DiffmgError, Part, unknown
from diffmg.core.options import Count
from diffmg.tables.catalogue import read_catalogue
from diffmg.tables.connecting import connected
from diffmg.tables.facts import Counted, Entities, Facts, Floats, Mask, Reader, combined
from diffmg.tables.predictions import entity_keys
from diffmg.tables.question import Aggregate, Expression, Formula, aggregates, is_yes_no, parse_question
from diffmg.tables.rows import Tables, split_name
from diffmg.tables.schedule import all_moments, day, split_moments, written
from diffmg.tables.time_columns import time_columns
from diffmg.tables.times import DAY, NEVER, Ints, moment, period

if TYPE_CHECKING:
    from sqlalchemy import Connection

MOST_ROWS = 50_000_000
MOMENT, LABEL, SPLIT = "moment", "label", "split"


@dataclass(frozen=True)
class Ask(Checked):
    """A question to a database: what will be, of whom, within which period."""

    predict: str
    """Such as `count(orders) > 0`."""
    of: str
    """The table of the entities."""
    within: str
    """How long after its moment a label is known: rows dated in (moment, moment + within] are asked of."""
    every: str | None = None
    """The period between two moments; by default `within`."""
    since: str | None = None
    """The first moment may not be earlier."""
    until: str | None = None
    """Where the data end; by default with the last row that is asked of."""
    held: Count | None = None
    """Moments of the test part, and of validation; by default a sixth of all, one at least."""
    everyone: bool = False
    """Whether undated entities are asked of before they are seen in the tables of the question."""
    times: tuple[str, ...] = ()
    """Time columns, as TABLE.COLUMN, where others than the recognised ones are meant."""
    static: tuple[str, ...] = ()
    """Tables whose rows were known from the beginning, whatever their dates."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for text in filter(None, (self.within, self.every)):
            period(text)


@dataclass(frozen=True)
class Asked:
    """The table of predictions that a question gives, and how it is used."""

    table: pa.Table
    entity: str
    """What `--by entity=` is given."""
    kind: str
    """The kind of the task."""
    horizon: str
    notes: tuple[str, ...]


def ask(address: str, asked: Ask) -> Asked:
    """The predictions of a question on a database: entity, moment, label and split a row.

    Moments go back from the end of the data, as far as rows of the question do. The last ones are the test part, those
    before them validation, the others training; moments whose horizon reaches into the next part are left out.
    """
    question = parse_question(asked.predict)
    with connected(address) as connection:
        tables = read_catalogue(connection)
        reader = Reader(connection, tables, _times(connection, asked, question, tables))
        entities = reader.entities(asked.of)
        facts = {one: reader.facts(one, entities) for one in aggregates(question)}
    data = _Data(asked, question, entities, facts)
    parts = split_moments(data.moments(), data.within, asked.held)
    found = data.table(parts)
    column, entity = _names(asked.of, next(iter(facts)), tables)
    labels = _labels(found.label, is_yes_no(question))
    columns = [
        entities.ids.values.take(pa.array(found.who)),
        pa.array(written(found.made)),
        labels,
        pa.array(found.part),
    ]
    table = pa.table(columns, names=[column, *(_free(name, column) for name in (MOMENT, LABEL, SPLIT))])
    notes = (*(f"{t} dated by {reader.times[t]}" for t in dict.fromkeys(one.table for one in facts)), *found.notes)
    return Asked(table, entity, "classification" if is_yes_no(question) else "regression", asked.within, notes)


@dataclass(frozen=True)
class _Rows:
    """Predictions by column."""

    who: Ints
    made: Ints
    label: Floats
    part: list[Part]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Data:
    """What a question is answered from."""

    asked: Ask
    question: Expression
    entities: Entities
    facts: Mapping[Aggregate, Facts]
    counted: dict[Aggregate, Counted] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.counted.update({one: facts.counted() for one, facts in self.facts.items()})

    @property
    def within(self) -> int:
        """The horizon in microseconds."""
        return period(self.asked.within)

    def moments(self) -> Ints:
        """All moments whose horizon lies in the data."""
        known = [facts.time for facts in self.facts.values() if len(facts.time)]
        if not known:
            names = ", ".join(dict.fromkeys(one.table for one in self.facts))
            raise DiffmgError(f"some rows of {names} must have a date and refer to {self.asked.of!r}, but got none")
        first, last = min(int(t[0]) for t in known), max(int(t[-1]) for t in known)
        end = last + 1 if last % DAY == DAY - 1 else last
        end = end if self.asked.until is None else moment(self.asked.until, "--until")
        begin = first + 1 if self.asked.since is None else max(first + 1, moment(self.asked.since, "--since"))
        return all_moments(begin, end, self.asked.within, self.asked.every or self.asked.within)

    def exist(self, made: int) -> Mask:
        """Which entities are known before a moment: by their own date, or seen in a table of the question."""
        if self.entities.known is not None:
            return np.asarray((self.entities.known < made) & (self.entities.known != NEVER))
        if self.asked.everyone:
            return np.ones(len(self.entities), bool)
        seen = np.zeros(len(self.entities), bool)
        for facts in self.facts.values():
            seen[facts.who[: np.searchsorted(facts.time, made)]] = True
        return seen

    def value(self, part: Expression, made: int) -> Floats:
        """What comes of a part of the question after a moment, for each entity."""
        if isinstance(part, Formula):
            return combined(part.sign, self.value(part.left, made), self.value(part.right, made))
        if isinstance(part, Aggregate):
            return self.counted[part].within(made, made + self.within, len(self.entities))
        return np.full(len(self.entities), part)

    def table(self, parts: Mapping[Part, Ints]) -> _Rows:
        """The predictions at all moments of the parts; those without a label are left out."""
        who, made, label, part, lost = [], [], [], [], 0
        for name, times in parts.items():
            for time in times.tolist():
                exist, values = self.exist(time), self.value(self.question, time)
                chosen = np.flatnonzero(exist & ~np.isnan(values))
                lost += int(exist.sum()) - len(chosen)
                who.append(chosen)
                made.append(np.full(len(chosen), time))
                label.append(values[chosen])
                part += [name] * len(chosen)
                _check_size(len(part))
        joined = [np.concatenate(columns) for columns in (who, made, label)]
        rows = _Rows(joined[0], joined[1], joined[2], part, (*_words(parts), *_without_label(lost)))
        _check_labels(rows, self.asked.predict)
        return rows


def _times(connection: Connection, asked: Ask, question: Expression, tables: Tables) -> dict[str, str]:
    """The time column of each table of the question: the recognised one, or the one that is named."""
    names = {asked.of, *(one.table for one in aggregates(question))}
    for name in asked.static:
        if name not in names:
            raise unknown("table of --static:", name, names)
    named = [text.partition(".")[0] for text in asked.times]
    own = {name: table for name, table in tables.items() if name in names}
    found = time_columns(connection, own, (*asked.static, *named))
    for text in asked.times:
        place = split_name(text, tables)
        if place is None or place[0] not in names:
            raise unknown("table of --time, written TABLE.COLUMN,", place[0] if place else text, names)
        if place[1] not in tables[place[0]].columns:
            raise unknown(f"column of table {place[0]!r}:", place[1], tables[place[0]].columns)
        found[place[0]] = place[1]
    return found


def _names(entity: str, asked: Aggregate, tables: Tables) -> tuple[str, str]:
    """The name of the column of entities, and how it is told to `fit`."""
    keys = [key for key in tables[asked.table].foreign if key.table == entity and asked.key in (None, *key.columns)]
    (primary,), key = tables[entity].primary, keys[0]
    name = key.columns[0] if key.refers == (primary,) else primary
    return name, name if entity_keys(tables).get(name) == {entity} else f"{entity}.{name}"


def _labels(values: Floats, yes_no: bool) -> pa.Array:
    return pa.array(values.astype(np.int64) if yes_no else values)


def _free(name: str, taken: str) -> str:
    return f"{name}_" if name == taken else name


def _check_size(rows: int) -> None:
    if rows > MOST_ROWS:
        raise DiffmgError(f"at most {MOST_ROWS} predictions are made, but got more; use a longer --every, or --since")


def _check_labels(rows: _Rows, question: str) -> None:
    """There is something to predict, in the part that is learned from too."""
    part = np.array(rows.part)
    for where, label in (("all", rows.label), ("train", rows.label[part == "train"])):
        values = np.unique(label)
        if len(values) < 2:
            got = f"{values[0]:g} in all {len(label)} rows" if len(values) else "no row at all"
            place = " of train" if where == "train" and len(values) else ""
            raise DiffmgError(
                f"a label must differ between predictions, but got {got}{place} for {question!r}; "
                "ask another question, or with another --within"
            )


def _words(parts: Mapping[Part, Ints]) -> list[str]:
    return [f"{name}: {len(made)} moments, {day(made[0])} to {day(made[-1])}" for name, made in parts.items()]


def _without_label(count: int) -> list[str]:
    return [f"{count} predictions without a label (a mean of no rows, a division by 0) left out"] if count else []
