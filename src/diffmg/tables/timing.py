"""Makes a network timed: edges that go forward in time, relations by window, and totals of a prediction's history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from diffmg.core import DiffmgError, Relation
from diffmg.tables.clock import Clock
from diffmg.tables.columns._base import finite, is_number
from diffmg.tables.encoding import FeatureEncoder, is_code
from diffmg.tables.history import History, Timed
from diffmg.tables.keys import Keys, in_one_type
from diffmg.tables.network import Edges, Ints, Network
from diffmg.tables.times import is_time, period, row_times
from diffmg.tables.totals import totals
from diffmg.tables.windows import WindowTable
from diffmg.tasks.node_task import LabelTimes

SHOWN = 3
"""Empty windows that a note names."""
Ends = tuple[tuple[str, ...], tuple[str, ...]]
"""The ends of a window: who is heard and who hears, each with the columns of the key."""


@dataclass(frozen=True)
class Timing:
    """What time adds to a network, and what it takes away."""

    network: Network
    """With edges that go forward in time, and those of windows."""
    clock: Clock
    columns: Mapping[str, pa.ChunkedArray]
    """Further columns of the predictions: counts, recency, means and sums of their whole history."""
    later: Mapping[str, tuple[str, ...]]
    """By type, columns of dates that lie after the time of their row: they were filled in later, and are not used."""

    @classmethod
    def of(cls, network: Network, *, fitted: bool = False) -> Timing:
        """Of a network whose description has [moments].

        For a model that is `fitted` already, nothing is decided anew: relations without an edge stay, and its encoders
        know which columns they use.
        """
        clock = Clock.of(network)
        histories = {ends: _history(network, clock, ends) for ends in _ends(network)}
        edges = _forward(network, clock, keep_empty=fitted) | _windowed(network, histories, keep_empty=fitted)
        _check_heard(edges, clock)
        into = {ends: pair for ends, pair in histories.items() if ends[1][0] == clock.target}
        columns: dict[str, pa.ChunkedArray] = {}
        for ends, (history, hearing) in into.items():
            numbers = _numbers(network, ends[0][0], fitted=fitted)
            columns |= totals(_words(ends[0]), history, hearing, clock.made, numbers)
        asked = () if fitted else [t for t in clock.times if t != clock.target]
        later = {t: _filled_in_later(network, t, clock) for t in asked}
        notes = [
            *_empty([name for name in network.description.windows if name not in edges]),
            *_without_history(list(into.values()), clock),
            *(f"{t}.{c}: left out (dates after the time of their row)" for t, cs in later.items() for c in cs),
        ]
        horizon = network.description.moments.horizon if network.description.moments else None
        when = LabelTimes(clock.made, period(horizon) if horizon else 0)
        dated = replace(network, timed=frozenset(clock.times), when=when, parts=clock.parts)
        return cls(replace(dated, found=edges, notes=(*network.notes, *notes)), clock, columns, later)

    def prepared(self, node_type: str, table: pa.Table, fitting: pa.Array) -> tuple[pa.Table, pa.Array]:
        """The table of a type with its further columns, and the rows that encoders may be fitted to."""
        if node_type == self.clock.target:
            for name, values in self.columns.items():
                table = table.append_column(name, values)
        for name in self.later.get(node_type, ()):
            table = table.set_column(table.column_names.index(name), name, pa.nulls(table.num_rows))
        early = self.clock.known_early(node_type)
        return table, fitting if early is None else fitting.filter(pa.array(early[fitting.to_numpy()]))

    def notes(self, encoder: FeatureEncoder, table: pa.Table, node_type: str) -> list[str]:
        """How each column is encoded; totals are told together, and columns that were filled in later are not used."""
        told = self.columns if node_type == self.clock.target else self.later.get(node_type, ())
        heads = tuple(f"{node_type}.{name}: " for name in told)
        own = [note for note in encoder.notes(table, node_type) if not note.startswith(heads)]
        if node_type != self.clock.target:
            return own
        histories = list(dict.fromkeys(name.rpartition(": ")[0] for name in self.columns))
        kinds = "count, days since the last, means and sums"
        return [*own, f"{node_type}: {kinds} of {', '.join(histories)}, {len(self.columns)} columns"]


def _forward(network: Network, clock: Clock, *, keep_empty: bool) -> dict[str, Edges]:
    """The edges of all relations that go forward in time, each direction for itself."""
    edges: dict[str, Edges] = {}
    for name, found in network.found.items():
        both = {name: found}
        if network.description.relations[name].both:
            back = Relation(found.relation.target, f"rev_{found.relation.name}", found.relation.source)
            both[f"rev_{name}"] = replace(found, relation=back, index=found.index[::-1])
        able = {n: clock.forward(e) for n, e in both.items() if clock.may_carry(e.relation)}
        edges |= {n: e for n, e in able.items() if len(e.rows) or keep_empty}
    return edges


def _windowed(
    network: Network, histories: Mapping[Ends, tuple[History, Timed]], *, keep_empty: bool
) -> dict[str, Edges]:
    """The edges of all windows."""
    edges = {}
    for name, window in network.description.windows.items():
        history, hearing = histories[window.source, window.target]
        found = history.edges(hearing, window.window)
        if found.shape[1] or keep_empty:
            relation = Relation(window.source[0], window.name or name, window.target[0])
            edges[name] = Edges(relation, found, None, np.arange(found.shape[1]))
    return edges


def _ends(network: Network) -> dict[Ends, WindowTable]:
    """Windows that differ only in how far they reach share their ends."""
    return {(w.source, w.target): w for w in network.description.windows.values()}


def _history(network: Network, clock: Clock, ends: Ends) -> tuple[History, Timed]:
    """The rows that are heard, and those that hear, by the number of their key."""
    (source, *own), (target, *theirs) = ends
    tables = {t: network.tables[str(network.description.nodes[t].table)] for t in (source, target)}
    given = [
        Keys.read(tables[t].take(network.rows[t]), names, f"nodes {t!r}")
        for t, names in ((source, own), (target, theirs))
    ]
    heard, hearing = in_one_type(f"the key {', '.join(own)} of {source} and {target}", given)
    known = pc.unique(heard.drop_null())
    numbers = [_numbered(values, known) for values in (heard, hearing)]
    return History(Timed(numbers[0], clock.times[source])), Timed(numbers[1], clock.times[target])


def _numbered(values: pa.ChunkedArray, known: pa.Array) -> Ints:
    return np.asarray(pc.index_in(values, value_set=known).fill_null(-1).to_numpy(), np.int64)


def _numbers(network: Network, node_type: str, *, fitted: bool) -> dict[str, NDArray[np.float64]]:
    """The columns of numbers of a type, NaN where missing; keys, times and labels are none.

    For a model that is `fitted` already, codes and columns without a value are among them: its encoders know which they
    use.
    """
    table = network.tables[str(network.description.nodes[node_type].table)]
    found = {}
    for name in network.description.features_of(node_type, table.column_names):
        values = finite(network.node_column(node_type, name))
        if fitted and values.null_count == len(values):
            found[name] = np.full(len(values), np.nan)
        elif (is_number(values.type) and (fitted or not is_code(name, values))) or pa.types.is_boolean(values.type):
            plain = values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values
            found[name] = np.asarray(plain.cast(pa.float64(), safe=False).to_numpy())
    return found


def _empty(windows: list[str]) -> list[str]:
    """A note on windows that hold no rows."""
    shown = "; ".join(windows[:SHOWN]) + ("; ..." if len(windows) > SHOWN else "")
    return [f"windows that hold no rows, left out: {len(windows)} ({shown})"] if windows else []


def _filled_in_later(network: Network, node_type: str, clock: Clock) -> tuple[str, ...]:
    """Columns of dates with a value after the time of its row, among rows known before the validation part."""
    times, early = clock.times[node_type], clock.known_early(node_type)
    assert early is not None, "only types with a time are asked"
    columns = network.tables[str(network.description.nodes[node_type].table)].column_names
    found = []
    for name in network.description.features_of(node_type, columns):
        values = network.node_column(node_type, name)
        if is_time(values, name):
            dates = row_times(values, f"{node_type}.{name}")
            if ((dates > times) & early).any():
                found.append(name)
    return tuple(found)


def _check_heard(edges: Mapping[str, Edges], clock: Clock) -> None:
    if not any(e.relation.target == clock.target for e in edges.values()):
        raise DiffmgError(
            f"predictions must hear from other rows, but got no relation or window into {clock.target!r} with edges; "
            "add [windows.NAME], and compare the moments with the times of the tables"
        )


def _without_history(heard: list[tuple[History, Timed]], clock: Clock) -> list[str]:
    """A note on predictions before which nothing happened, by part; an error if nothing did before any."""
    if not heard:
        return []
    seen = np.any(
        [(history.ends(hearing) > history.starts(hearing)) & (hearing.key >= 0) for history, hearing in heard], axis=0
    )
    if not seen.any():
        days = np.array([clock.made.min(), clock.made.max()], "datetime64[us]").astype("datetime64[D]")
        raise DiffmgError(
            f"some rows must be dated before the predictions of {clock.target!r} and share their key, but got none "
            f"before any of their moments, {days[0]} to {days[1]}; compare these with the times of the tables"
        )
    empty = {part: int((~seen[index]).sum()) for part, index in clock.parts.items() if len(index)}
    words = [f"{count} of {len(clock.parts[part])} of {part}" for part, count in empty.items() if count]
    return [f"predictions without any dated row of their key before their moment: {', '.join(words)}"] if words else []


def _words(end: tuple[str, ...]) -> str:
    return f"{end[0]} by {', '.join(end[1:])}"
