"""Answers a question at many moments: who was known by then, and what came within a period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from diffmg.core import Checked, DiffmgError, Part
from diffmg.core.options import Count
from diffmg.tables.counting import Counted, Facts, Floats, Mask, combined
from diffmg.tables.facts import Entities
from diffmg.tables.question import Aggregate, Expression, Formula
from diffmg.tables.schedule import all_moments, day
from diffmg.tables.times import DAY, NEVER, Ints, moment, period

MOST_ROWS = 50_000_000


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
class Rows:
    """Predictions by column."""

    who: Ints
    made: Ints
    label: Floats
    part: list[Part]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Answering:
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

    def table(self, parts: Mapping[Part, Ints]) -> Rows:
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
        rows = Rows(joined[0], joined[1], joined[2], part, (*_words(parts), *_without_label(lost)))
        _check_labels(rows, self.asked.predict)
        return rows


def _check_size(rows: int) -> None:
    if rows > MOST_ROWS:
        raise DiffmgError(f"at most {MOST_ROWS} predictions are made, but got more; use a longer --every, or --since")


def _check_labels(rows: Rows, question: str) -> None:
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
    return [
        f"{name}: {len(made)} moments, {day(made[0])} to {day(made[-1])}"
        if len(made) > 1
        else f"{name}: 1 moment, {day(made[0])}"
        for name, made in parts.items()
    ]


def _without_label(count: int) -> list[str]:
    return [f"{count} predictions without a label (a mean of no rows, a division by 0) left out"] if count else []
