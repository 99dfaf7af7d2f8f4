"""Keys of databases that declare none, guessed from names and values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from diffmg.core.arrow import plain
from diffmg.tables.catalogue import DatabaseTable, ForeignKey
from diffmg.tables.naming import source_of
from diffmg.tables.rows import Tables, counts_of, read_rows

if TYPE_CHECKING:
    from sqlalchemy import Connection

CONTAINED = 0.95
"""The share of a column's values that must be in the key it refers to."""
SAME = 0.2
"""The share that is enough where the column has the very name of the key, and the name says whose key it is.

Tables of facts about some, such as customers who answered, hold a part of the ids that other tables have.
"""
NEAR = 0.5
"""The share from which a column that is called like a key, but is none, is told of."""
SUFFIX = re.compile(r"(^|_)(id|key|fk|code|no|nr|uuid)$|(?<=[a-z])id$")
"""What a column is called after that refers to something."""
GENERIC = {"id", "key", "code", "no", "nr", "uuid", "pk", "rowid", "index", "name", "number"}
"""Names of keys that do not say whose key they are."""
KINDS = ("integer", "number", "text", "any")
"""Kinds of columns that may be keys; numbers if they are whole."""
LONGEST = 64
"""Texts that are longer, or have blanks, are no keys."""


@dataclass(frozen=True)
class PrimaryGuess:
    """A primary key that is not declared: a column with as many different values as rows."""

    table: str
    column: str
    rows: int

    @property
    def exact(self) -> bool:
        """Always: it was chosen since it holds for all rows."""
        return True

    def is_in(self, tables: Tables) -> bool:
        """Whether these tables have the key."""
        return self.table in tables and tables[self.table].primary == (self.column,)

    def __str__(self) -> str:
        """The evidence in words."""
        return f"{self.table}.{self.column}: {_spaced(self.rows)} rows, all different, guessed"


@dataclass(frozen=True)
class Guess:
    """A foreign key that is not declared, and how many of its values are in the key it refers to."""

    table: str
    key: ForeignKey
    values: int
    found: int

    @property
    def share(self) -> float:
        """The share of values that are found."""
        return self.found / self.values

    @property
    def enough(self) -> float:
        """The share from which on it is a key."""
        name = words_of(self.key.columns[0])
        same = name == words_of(self.key.refers[0]) and name not in GENERIC and SUFFIX.search(name) is not None
        return SAME if same else CONTAINED

    @property
    def missed(self) -> bool:
        """Whether too few values are found for a key: it is told, and not used."""
        return self.share < self.enough

    @property
    def exact(self) -> bool:
        """Whether every value is found, or it is no key; others have to be dropped."""
        return self.missed or self.found == self.values

    def is_in(self, tables: Tables) -> bool:
        """Whether these tables have the key, or one of them might have had it."""
        if self.missed:
            return self.table in tables or self.key.table in tables
        return self.table in tables and self.key in tables[self.table].foreign

    def __str__(self) -> str:
        """The evidence in words."""
        share = "100" if self.found == self.values else f"{min(99.9, 100 * self.share):.1f}"
        ends = f"{self.table}.{self.key.columns[0]} -> {self.key.table}.{self.key.refers[0]}"
        end = f"not a key: it would take {100 * self.enough:.0f} %" if self.missed else "guessed"
        return f"{ends}: {share} % of {_spaced(self.values)} values, {end}"


Guesses = tuple[PrimaryGuess | Guess, ...]


def with_guessed_keys(
    connection: Connection, tables: Tables, labels: Collection[tuple[str, str]] = ()
) -> tuple[dict[str, DatabaseTable], Guesses]:
    """The tables with keys guessed, and the evidence; as they are where the database declares any foreign key.

    A table without a primary key gets one if a column is unique and is called like a key and other tables have a column
    of its name, or is called id, TABLE_id or TABLEId, or is the first one, or is called like a key. A column refers to
    such a key if it is called like it or like its table, and nearly all of its values are in it; if only most of them
    are, that is told, unless it has the very name of the key. `labels`, each a table and a column, are no keys.
    """
    if any(table.foreign for table in tables.values()):
        return dict(tables), ()
    free = {name: [c for c in table.columns if (name, c) not in labels] for name, table in tables.items()}
    own = [
        g for n, t in tables.items() if not t.primary and (g := _primary(connection, t, free[n], tables)) is not None
    ]
    keyed = dict(tables)
    for primary in own:
        keyed[primary.table] = replace(keyed[primary.table], primary=(primary.column,))
    foreign = [g for n, table in keyed.items() for g in _foreign(connection, table, free[n], keyed)]
    for guess in (g for g in foreign if not g.missed):
        table = keyed[guess.table]
        keyed[guess.table] = replace(table, foreign=(*table.foreign, guess.key))
    return keyed, (*own, *foreign)


def words_of(name: str) -> str:
    """A name in lower case with underscores: `customerId` and `Customer ID` are customer_id."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", name)
    return apart.lower().strip("_")


def names_of(table: str) -> set[str]:
    """What a table's rows may be called: its name, in the singular too."""
    name = words_of(table)
    single = [re.sub(end, new, name) for end, new in (("ies$", "y"), ("(?<=[sxzh])es$", ""), ("(?<!s)s$", ""))]
    return {name, *single}


def _primary(
    connection: Connection, table: DatabaseTable, columns: Sequence[str], tables: Tables
) -> PrimaryGuess | None:
    for column in [*_shared(table, columns, tables), *_candidates(table, columns)]:
        rows, known, different = counts_of(connection, table, column)
        if rows and rows == known == different and _is_key(_values(connection, table, column)):
            return PrimaryGuess(table.name, column, rows)
    return None


def _candidates(table: DatabaseTable, columns: Sequence[str]) -> list[str]:
    """Those of the columns that may be a primary key, the likeliest first."""
    own = {f"{n}{end}" for n in names_of(table.name) for end in ("id", "_id", "_key", "_code", "_no", "_uuid")}
    possible = [c for c in columns if table.columns[c] in KINDS]
    called = [c for c in possible if words_of(c) == "id"] + [c for c in possible if words_of(c) in own]
    others = [c for c in possible if SUFFIX.search(words_of(c))]
    first = [c for c in possible if c == next(iter(table.columns))]
    return list(dict.fromkeys([*called, *first, *others]))


def _shared(table: DatabaseTable, columns: Sequence[str], tables: Tables) -> list[str]:
    """Columns that are called like a key, after no table, and by which other tables may refer to this one.

    None where another table has a column that is called like this one.
    """
    elsewhere = {words_of(c) for other in tables.values() if other is not table for c in other.columns}
    if any(_ends(SUFFIX.sub("", c), name) for c in elsewhere for name in names_of(table.name)):
        return []
    named = {name for other in tables for name in names_of(other)}
    found = [c for c in columns if table.columns[c] in KINDS and words_of(c) in elsewhere - GENERIC]
    return [c for c in found if SUFFIX.search(words_of(c)) and SUFFIX.sub("", words_of(c)) not in named]


def _foreign(connection: Connection, table: DatabaseTable, columns: Sequence[str], tables: Tables) -> Iterator[Guess]:
    """The best guess for each column that is called like another table's key."""
    for column in columns:
        others = _called_like(column, table, tables) if table.columns[column] in KINDS else []
        guesses = [g for other in others if (g := _guess(connection, table, column, other)) is not None]
        if guesses:
            yield max(guesses, key=lambda guess: guess.share)


def _called_like(column: str, table: DatabaseTable, tables: Tables) -> list[DatabaseTable]:
    """Tables whose key or name a column is called like; by the longest name where there are several."""
    keyed = [other for other in tables.values() if len(other.primary) == 1]
    own = table.primary == (column,)
    itself = own or SUFFIX.sub("", words_of(column)) in names_of(table.name)  # the number of a row, not of another one
    lengths = {other.name: _match(column, other, own=own) for other in keyed if not (itself and other is table)}
    best = max(lengths.values(), default=0)
    return [other for other in keyed if best and lengths.get(other.name) == best]


def _match(column: str, other: DatabaseTable, *, own: bool) -> int:
    """How many letters of a table's name, or of its key, a column ends with; 0 if none.

    A column that is itself a key refers to a table that it is called like, not to one that has a key of its name.
    """
    name, key = words_of(column), words_of(other.primary[0])
    stem = SUFFIX.sub("", name)
    wanted = {n for n in names_of(other.name) if _ends(stem, n)}
    longest = max(map(len, wanted), default=0)
    if longest or own or key in GENERIC:
        return 2 * longest
    return 2 * len(key) - 1 if _ends(name, key) else 0


def _ends(text: str, end: str) -> bool:
    return text == end or text.endswith(f"_{end}")


def _guess(connection: Connection, table: DatabaseTable, column: str, other: DatabaseTable) -> Guess | None:
    values = _values(connection, table, column).drop_null()
    known = _values(connection, other, other.primary[0])
    if not len(values) or values.type != known.type:
        return None
    found = pc.sum(pc.is_in(values, value_set=known.combine_chunks())).as_py()
    guess = Guess(table.name, ForeignKey((column,), other.name, other.primary), len(values), found)
    return (
        guess
        if guess.share >= min(guess.enough, NEAR) and (table is not other or guess.key.columns != other.primary)
        else None
    )


def _values(connection: Connection, table: DatabaseTable, column: str) -> pa.ChunkedArray:
    import sqlalchemy as sa

    statement = sa.select(source_of(table).c[column])
    return plain(read_rows(connection, statement, [column], [table.columns[column]]).column(0))


def _is_key(values: pa.ChunkedArray) -> bool:
    """Whole numbers, or short texts without blanks."""
    if pa.types.is_integer(values.type):
        return True
    if not pa.types.is_string(values.type):
        return False
    longest, blank = pc.max(pc.utf8_length(values)).as_py(), pc.any(pc.match_substring(values, " ")).as_py()
    return bool(longest <= LONGEST and not blank)


def kept_guesses(guesses: Guesses, tables: Tables) -> Guesses:
    """The guesses that are keys of these tables, or nearly."""
    return tuple(guess for guess in guesses if guess.is_in(tables))


def guess_notes(guesses: Guesses) -> tuple[str, ...]:
    """The evidence, for people."""
    return tuple(f"key {guess}" for guess in guesses)


def are_exact(guesses: Guesses) -> bool:
    """Whether every value of the guessed keys is found; others have to be dropped."""
    return all(guess.exact for guess in guesses)


def _spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")
