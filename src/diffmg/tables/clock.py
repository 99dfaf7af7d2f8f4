"""When each row of a timed network is known, and who may hear whom: messages only go forward in time."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from diffmg.core import DiffmgError, Part, Relation
from diffmg.tables.description import Description
from diffmg.tables.network import Edges, Ints, Network
from diffmg.tables.times import NEVER, moment, moments, period, row_times
from diffmg.tables.windows import Moments
from diffmg.tasks.labels import split_numbers

Parts = Mapping[Part, Ints]


@dataclass(frozen=True)
class Clock:
    """The times of rows in microseconds, by node type in node order; types that are not here are static."""

    times: Mapping[str, Ints]
    target: str
    """The type of the predictions; its times say until when they see."""
    made: Ints
    """When the predictions are made."""
    parts: Parts
    """The predictions of each part."""
    boundary: int
    """The first moment of validation: statistics of columns know nothing later."""

    @classmethod
    def of(cls, network: Network) -> Clock:
        """The clock of a network whose description has [moments]."""
        given = network.description.moments
        assert given is not None, "only timed networks have a clock"
        made = moments(network.node_column(given.target, given.column), f"{given.target}.{given.column}")
        parts = _parts(network, given, made)
        boundary = _check_forward(made, parts, given)
        times = _times_of_rows(network, boundary)
        for node_type in past_labels(network.description):
            times[node_type][parts["test"]] = NEVER
        until = made if given.history == "fresh" else _frozen(made, parts, _draws(network.ids[given.target]))
        return cls({**times, given.target: until}, given.target, made, parts, boundary)

    def forward(self, edges: Edges) -> Edges:
        """The edges that carry a message forward in time.

        To a prediction from rows before its moment; between other rows from those that are not later; to static rows
        from static ones alone. Predictions are heard by nobody, and nor are rows without a time.
        """
        source, target = edges.relation.source, edges.relation.target
        if not self.may_carry(edges.relation):
            return edges.only(np.zeros(len(edges.rows), bool))
        if source not in self.times:
            return edges
        then, now = self.times[source][edges.index[0]], self.times[target][edges.index[1]]
        heard = then < now if target == self.target else then <= now
        return edges.only(heard & (then != NEVER))

    def may_carry(self, relation: Relation) -> bool:
        """Whether any edge of a relation can go forward in time."""
        return relation.source != self.target and (relation.source not in self.times or relation.target in self.times)

    def known_early(self, node_type: str) -> NDArray[np.bool_] | None:
        """Which rows were known before the validation part; None where they have no time."""
        if node_type not in self.times:
            return None
        times = self.times[node_type]
        return np.asarray((times < self.boundary) & (times != NEVER))


def _times_of_rows(network: Network, boundary: int) -> dict[str, Ints]:
    """The times of all dated types; undated children inherit the latest of their parents' times."""
    found: dict[str, Ints] = {}

    def time_of(node_type: str, above: tuple[str, ...] = ()) -> Ints:
        node = network.description.nodes[node_type]
        if node_type in above:
            raise DiffmgError(f"times must be inherited from other rows, but got a circle: {[*above, node_type]}")
        if node_type not in found:
            latest = np.full(network.count(node_type), NEVER)
            if node.time is not None:
                latest = row_times(network.node_column(node_type, node.time), f"{node_type}.{node.time}", boundary)
            for name in node.time_of:
                relation, (child, parent) = network.edges(name)
                other = relation.target if relation.source == node_type else relation.source
                own, theirs = (child, parent) if relation.source == node_type else (parent, child)
                np.maximum.at(latest, own, time_of(other, (*above, node_type))[theirs])
            found[node_type] = latest if node.delay is None else _later(latest, period(node.delay))
        return found[node_type]

    for node_type, node in network.description.nodes.items():
        if node.time is not None or node.time_of:
            time_of(node_type)
    return found


def _later(times: Ints, delay: int) -> Ints:
    return np.where(times == NEVER, NEVER, times + delay)


def past_labels(description: Description) -> list[str]:
    """Types whose rows are the predictions' own, heard once their labels are known; those of test never are."""
    moments_of = description.moments
    assert moments_of is not None, "only timed networks have predictions"
    table = description.nodes[moments_of.target].table
    return [t for t, node in description.nodes.items() if node.table == table and t != moments_of.target]


def _parts(network: Network, given: Moments, made: Ints) -> Parts:
    """The predictions of each part, by column or by two dates."""
    split = split_column(network.description)
    if split is not None:
        return split_numbers(network.node_column(given.target, split), f"the split column {split!r}")
    if given.validation is None or given.test is None:
        raise DiffmgError(
            f"a timed task is split by a column or by two dates, but got neither for {given.target!r}; give "
            "`validation` and `test`, their first moments, in [moments], or --by validation=DATE --by test=DATE"
        )
    return parts_by_date(made, given.validation, given.test)


def parts_by_date(made: Ints, validation: str, test: str) -> Parts:
    """Predictions before the first date, from it on, and from the second date on."""
    first, second = moment(validation, "`validation`"), moment(test, "`test`")
    part = np.searchsorted([first, second], made, side="right")
    names: tuple[Part, ...] = ("train", "val", "test")
    return {name: np.flatnonzero(part == number) for number, name in enumerate(names)}


def split_column(description: Description) -> str | None:
    """The column with the split of a description's task."""
    return getattr(description.task, "split", None)


def _check_forward(made: Ints, parts: Parts, given: Moments) -> int:
    """The parts follow one another in time; labels of training rows are known when validation begins."""
    for earlier, later in (("train", "val"), ("val", "test")):
        if not len(parts[earlier]):  # type: ignore[index]
            raise _no_predictions(earlier, made)
        if len(parts[later]) and made[parts[earlier]].max() >= made[parts[later]].min():  # type: ignore[index]
            raise DiffmgError(
                f"a timed split goes forward, but got predictions of {earlier} at {_day(made[parts[earlier]].max())} "  # type: ignore[index]
                f"and of {later} at {_day(made[parts[later]].min())}; mend the column, or split by dates"  # type: ignore[index]
            )
    if not len(parts["val"]):
        raise _no_predictions("val", made)
    boundary = int(made[parts["val"]].min())
    late = made[parts["train"]] + (period(given.horizon) if given.horizon else 0) > boundary
    if late.any():
        raise DiffmgError(
            f"a label of train must be known when validation begins ({_day(boundary)}), but got {int(late.sum())} "
            f"predictions whose label is known later, {given.horizon} after their moment; leave them out of train, or "
            "begin validation later"
        )
    return boundary


def _no_predictions(part: str, made: Ints) -> DiffmgError:
    return DiffmgError(
        f"a timed task needs predictions in train and in val, but got none in {part} of {len(made)} from "
        f"{_day(made.min())} to {_day(made.max())}; look at the split column, or at the dates of the split"
    )


def _frozen(made: Ints, parts: Parts, draws: NDArray[np.float64]) -> Ints:
    """Until when predictions see, with validation as stale as test.

    So is training: each of its predictions lags behind its moment as much as one of validation does, drawn by its id.
    """
    until = made.copy()
    for part in ("val", "test"):
        index = parts[part]
        if len(index):
            until[index] = made[index].min()
    lags = np.sort(made[parts["val"]] - until[parts["val"]])
    until[parts["train"]] -= lags[(draws[parts["train"]] * len(lags)).astype(np.int64)]
    return until


def _draws(ids: pa.Array) -> NDArray[np.float64]:
    """A number from 0 to 1 for each id, the same wherever it occurs."""
    return np.array([zlib.crc32(str(i).encode()) for i in ids.to_pylist()], np.float64) / 2**32


def _day(time: int) -> str:
    return str(np.datetime64(int(time), "us").astype("datetime64[D]"))
