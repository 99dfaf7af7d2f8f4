"""What tasks on the nodes of one type share: the type, and the parts of its nodes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffmg.core import DiffmgError, Part, Task
from diffmg.core.task import RESAMPLES, Folds
from diffmg.graph.fingerprint import fingerprint
from diffmg.graph.network import HeteroGraph
from diffmg.tasks.answers import Answers, free_names, inverse, split_ids
from diffmg.tasks.labels import fold_numbers
from diffmg.tasks.resampling import Resampled, resamples

Order = NDArray[np.int64]


@dataclass(frozen=True)
class LabelTimes:
    """When the labels of nodes are predicted, in microseconds, and how much later they are known."""

    made: Order
    horizon: int = 0

    def periods(self, nodes: Order, count: int, size: int) -> list[Order]:
        """The last nodes in `count` periods, earliest first, of about `size` nodes each; moments are not divided."""
        found: list[Order] = []
        rest = nodes[np.argsort(self.made[nodes], kind="stable")]
        while size and len(found) < count and len(rest) > size:
            start = np.searchsorted(self.made[rest], self.made[rest[-size]])
            if not start:
                break
            found.insert(0, np.sort(rest[start:]))
            rest = rest[:start]
        return found

    def known_before(self, nodes: Order, period: Order) -> Order:
        """The nodes whose label is known when a period begins."""
        known = self.made[nodes] + self.horizon <= self.made[period].min()
        return np.asarray(nodes[known])

    def permuted(self, order: Order) -> LabelTimes:
        """After reordering: node j was node `order[j]`."""
        return replace(self, made=self.made[order])


def with_keys(found: Answers, graph: HeteroGraph, node_type: str) -> Answers:
    """Answers with the columns that the ids of a type are joined of beside the ids."""
    names, ids = graph.keys.get(node_type, ()), found[node_type]
    parts = dict(zip(free_names(names, found.columns), split_ids(ids, len(names)), strict=True))
    return replace(found, columns={node_type: ids, **parts, **found.columns})


class NodeTask(Task):
    """Something is known of nodes of `target`, and predicted for all of them; a subclass is a frozen dataclass."""

    missing: ClassVar[str]
    """How a label that is not known is given."""
    target: str
    parts: Mapping[Part, Tensor]
    """Node numbers of each part."""
    when: LabelTimes | None
    """When each node's label is predicted and known, where that matters."""

    @property
    @abstractmethod
    def nodes(self) -> int:
        """All nodes of the type, labelled or not."""

    @property
    def target_types(self) -> tuple[str, ...]:
        """The labelled type."""
        return (self.target,)

    def size(self, part: Part) -> int:
        """Labelled nodes of a part."""
        return len(self.parts[part])

    def check(self, graph: HeteroGraph) -> None:
        """The labelled type must exist, with as many nodes as labels."""
        graph.schema.check_type(self.target)
        if graph.num_nodes[self.target] != self.nodes:
            raise DiffmgError(
                f"there must be one label (or {self.missing}) per {self.target!r} node, "
                f"{graph.num_nodes[self.target]} in all, but got {self.nodes}"
            )

    def strata(self, index: Tensor) -> NDArray[np.int64]:
        """Numbers of the groups of nodes that each fold gets its share of; one group, unless a task says otherwise."""
        return np.zeros(len(index), np.int64)

    def folds(self, count: int, seed: int) -> Folds | None:
        """Training and validation nodes divided among the folds at random, each stratum evenly.

        Where nodes have moments, folds go forward: each is judged on a period, and trained on what was known before.
        """
        if self.when is not None:
            return self._forward_folds(count, self.when)
        known = torch.cat([self.parts["train"], self.parts["val"]]).sort().values
        number = fold_numbers(self.strata(known), count, seed)
        places = tuple(torch.from_numpy(np.flatnonzero(number == k)).to(known.device) for k in range(count))
        rest = (torch.from_numpy(np.flatnonzero(number != k)).to(known.device) for k in range(count))
        tasks = tuple(self.with_parts(train=known[r], val=known[p]) for p, r in zip(places, rest, strict=True))
        return Folds(tasks, self.with_parts(val=known), places)

    def _forward_folds(self, count: int, when: LabelTimes) -> Folds | None:
        """The own split, and before it periods of as many nodes, in no more than half of the training part."""
        train, val = (self.parts[part].numpy(force=True) for part in ("train", "val"))
        periods = when.periods(train, count - 1, min(len(val), len(train) // (2 * max(1, count - 1))))
        if len(periods) < count - 1:
            return None
        judged = np.sort(np.concatenate([*periods, val]))
        device = self.parts["val"].device
        tasks = [
            self.with_parts(train=_tensor(when.known_before(train, period), device), val=_tensor(period, device))
            for period in periods
        ]
        places = tuple(_tensor(np.searchsorted(judged, nodes), device) for nodes in (*periods, val))
        return Folds((*tasks, self), self.with_parts(val=_tensor(judged, device)), places, forward=True)

    def resample_votes(self, votes: Tensor, part: Part, most: int = RESAMPLES) -> Resampled | None:
        """Nodes are drawn, each by itself."""
        task, index, rows = self.to("cpu"), self.parts[part].cpu(), votes.detach().cpu()
        if not len(index):
            return None
        drawn = ((task.with_parts(**{part: index[some]}), rows[some]) for some in resamples(len(index), most))
        found = [float(one.score_votes(own, part)) for one, own in drawn]
        return Resampled(np.array(found), len(index), self.target)

    def dated(self, when: LabelTimes | None) -> Self:
        """The same task with the moments of its nodes."""
        return self if when is None else replace(self, when=when)  # type: ignore[type-var]  # a dataclass, as above

    def joined(self, *, test: bool = False) -> Self:
        """Training on every labelled node, or on all but the test part."""
        kept: tuple[Part, ...] = ("train", "val", "test") if test else ("train", "val")
        return self.with_parts(train=torch.cat([self.parts[part] for part in kept]))

    def known_nodes(self) -> tuple[Order, NDArray[np.bool_]]:
        """The nodes of training and validation, and which of them are of validation."""
        train, val = (self.parts[part].numpy(force=True) for part in ("train", "val"))
        nodes = np.concatenate([train, val])
        return nodes, np.arange(len(nodes)) >= len(train)

    def with_parts(self, **parts: Tensor) -> Self:
        """The same with other nodes in some parts."""
        changed: Any = {part: parts.get(part, index) for part, index in self.parts.items()}
        return replace(self, parts=changed)  # type: ignore[type-var]  # subclasses are dataclasses

    def placed(self, rows: Tensor, part: Part) -> Tensor:
        """Rows of a part as rows of all nodes; zeros elsewhere."""
        found = rows.new_zeros(self.nodes, rows.shape[1])
        found[self.parts[part]] = rows
        return found

    def judged(self, part: Part) -> tuple[Tensor, ...]:
        """The nodes of the part."""
        return (self.parts[part],)

    def when_in(self, order: Order) -> LabelTimes | None:
        """The moments after reordering."""
        return None if self.when is None else self.when.permuted(order)

    def parts_in(self, order: Order) -> dict[Part, Tensor]:
        """The parts after reordering: node j was node `order[j]`."""
        places = {part: torch.from_numpy(inverse(order)).to(index.device) for part, index in self.parts.items()}
        return {part: places[part][index] for part, index in self.parts.items()}

    def split_digests(self, order: Order | None) -> dict[str, str]:
        """Each part of the split, with nodes in this order."""
        places = np.arange(self.nodes) if order is None else inverse(order)
        dated = {}
        if self.when is not None:
            made = self.when.made if order is None else self.when.made[order]
            dated["moments"] = f"{len(made)} moments, labels known {self.when.horizon} later #{fingerprint(made)}"
        return dated | {
            f"split, {part}": f"{len(index)} nodes #{fingerprint(np.sort(places[index.numpy(force=True)]))}"
            for part, index in self.parts.items()
        }

    def split_column(self) -> NDArray[Any]:
        """For each node the name of its part, or None."""
        split = np.full(self.nodes, None, object)
        for part, index in self.parts.items():
            split[index.numpy(force=True)] = part
        return split


def _tensor(nodes: Order, device: torch.device) -> Tensor:
    return torch.from_numpy(nodes).to(device)
