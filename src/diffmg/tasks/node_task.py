"""What tasks on the nodes of one type share: the type, and the parts of its nodes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffmg.core import DiffmgError, Part, Task
from diffmg.core.task import Folds
from diffmg.graph.fingerprint import fingerprint
from diffmg.graph.network import HeteroGraph
from diffmg.tasks.answers import inverse
from diffmg.tasks.labels import fold_numbers

Order = NDArray[np.int64]


class NodeTask(Task):
    """Something is known of nodes of `target`, and predicted for all of them; a subclass is a frozen dataclass."""

    missing: ClassVar[str]
    """How a label that is not known is given."""
    target: str
    parts: Mapping[Part, Tensor]
    """Node numbers of each part."""

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
        """Training and validation nodes divided among the folds at random, each stratum evenly."""
        known = torch.cat([self.parts["train"], self.parts["val"]]).sort().values
        number = fold_numbers(self.strata(known), count, seed)
        places = tuple(torch.from_numpy(np.flatnonzero(number == k)).to(known.device) for k in range(count))
        rest = (torch.from_numpy(np.flatnonzero(number != k)).to(known.device) for k in range(count))
        tasks = tuple(self.with_parts(train=known[r], val=known[p]) for p, r in zip(places, rest, strict=True))
        return Folds(tasks, self.with_parts(val=known), places)

    def joined(self, *, test: bool = False) -> Self:
        """Training on every labelled node, or on all but the test part."""
        kept: tuple[Part, ...] = ("train", "val", "test") if test else ("train", "val")
        return self.with_parts(train=torch.cat([self.parts[part] for part in kept]))

    def with_parts(self, **parts: Tensor) -> Self:
        """The same with other nodes in some parts."""
        changed: Any = {part: parts.get(part, index) for part, index in self.parts.items()}
        return replace(self, parts=changed)  # type: ignore[type-var]  # subclasses are dataclasses

    def placed(self, rows: Tensor, part: Part) -> Tensor:
        """Rows of a part as rows of all nodes; zeros elsewhere."""
        found = rows.new_zeros(self.nodes, rows.shape[1])
        found[self.parts[part]] = rows
        return found

    def parts_in(self, order: Order) -> dict[Part, Tensor]:
        """The parts after reordering: node j was node `order[j]`."""
        places = {part: torch.from_numpy(inverse(order)).to(index.device) for part, index in self.parts.items()}
        return {part: places[part][index] for part, index in self.parts.items()}

    def split_digests(self, order: Order | None) -> dict[str, str]:
        """Each part of the split, with nodes in this order."""
        places = np.arange(self.nodes) if order is None else inverse(order)
        return {
            f"split, {part}": f"{len(index)} nodes #{fingerprint(np.sort(places[index.numpy(force=True)]))}"
            for part, index in self.parts.items()
        }

    def split_column(self) -> NDArray[Any]:
        """For each node the name of its part, or None."""
        split = np.full(self.nodes, None, object)
        for part, index in self.parts.items():
            split[index.numpy(force=True)] = part
        return split
