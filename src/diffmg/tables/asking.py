"""Makes a table of predictions from a question: who, when, and what came of it within a period."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from diffmg.core import unknown
from diffmg.tables.answering import Answering, Ask
from diffmg.tables.catalogue import read_catalogue
from diffmg.tables.connecting import connected
from diffmg.tables.facts import Reader
from diffmg.tables.guessing import Guess, Guesses, guess_notes, with_guessed_keys
from diffmg.tables.parsing import parse_question
from diffmg.tables.question import Aggregate, Expression, aggregates, is_yes_no
from diffmg.tables.roles import entity_keys
from diffmg.tables.rows import Tables, split_name
from diffmg.tables.schedule import split_moments, written
from diffmg.tables.time_columns import time_columns

if TYPE_CHECKING:
    from sqlalchemy import Connection

MOMENT, LABEL, SPLIT = "moment", "label", "split"


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
        tables, guesses = with_guessed_keys(connection, read_catalogue(connection))
        reader = Reader(connection, tables, _times(connection, asked, question, tables))
        entities = reader.entities(asked.of)
        facts = {one: reader.facts(one, entities) for one in aggregates(question)}
    data = Answering(asked, question, entities, facts)
    found = data.table(split_moments(data.moments(), data.within, asked.held))
    column, entity = _names(asked.of, next(iter(facts)), tables)
    table = {
        column: entities.ids.values.take(pa.array(found.who)),
        _free(MOMENT, column): pa.array(written(found.made)),
        _free(LABEL, column): pa.array(found.label.astype(np.int64) if is_yes_no(question) else found.label),
        _free(SPLIT, column): pa.array(found.part),
    }
    kind = "classification" if is_yes_no(question) else "regression"
    notes = (*_keys(asked, guesses, facts), *_dated(asked, reader, facts), *found.notes)
    return Asked(pa.table(table), entity, kind, asked.within, notes)


def _keys(asked: Ask, guesses: Guesses, facts: Iterable[Aggregate]) -> tuple[str, ...]:
    """Notes on guessed keys from the tables of the question to the entities."""
    names = {one.table for one in facts}
    return guess_notes(
        tuple(g for g in guesses if isinstance(g, Guess) and g.table in names and g.key.table == asked.of)
    )


def _dated(asked: Ask, reader: Reader, facts: Iterable[Aggregate]) -> list[str]:
    """Notes on the times of the tables."""
    notes = [f"{table} dated by {reader.times[table]}" for table in dict.fromkeys(one.table for one in facts)]
    if asked.times:
        notes.append("`fit` recognises times by itself; to have those of --time, `describe` it and set `time` there")
    return notes


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


def _free(name: str, taken: str) -> str:
    return f"{name}_" if name == taken else name
