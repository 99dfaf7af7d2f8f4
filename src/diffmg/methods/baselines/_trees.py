"""Boosted decision trees as tensors: saved with a network, walked without the library that grew them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor

CHUNK = 2**22
"""Rows times trees that are walked at once."""
LARGEST = float(np.finfo(np.float64).max)


class Tree(NamedTuple):
    """The nodes of one tree, the root first; children are node numbers, and a leaf is its own child."""

    feature: NDArray[Any]
    """The column a node asks for."""
    threshold: NDArray[Any]
    """A row goes left where its value is at most this."""
    missing_left: NDArray[Any]
    """Whether a row without a value (NaN) goes left."""
    left: NDArray[Any]
    right: NDArray[Any]
    value: NDArray[Any]
    """What a leaf adds to a score."""


KINDS = Tree(np.int32, np.float64, bool, np.int32, np.int32, np.float64)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Trees:
    """The nodes of many trees in one list, in the columns of a `Tree`."""

    feature: Tensor
    threshold: Tensor
    missing_left: Tensor
    left: Tensor
    right: Tensor
    value: Tensor
    roots: Tensor
    """The first node of each tree, (trees,)."""
    outputs: Tensor
    """The score each tree adds to, (trees,)."""
    start: Tensor
    """The scores before any tree, (C,)."""

    @classmethod
    def join(cls, grown: Sequence[tuple[int, Tree]], start: Sequence[float]) -> Self:
        """From trees, each with the score it adds to, and the scores before any tree."""
        ends = np.cumsum([0, *(len(tree.value) for _, tree in grown)])
        moved = [t._replace(left=t.left + e, right=t.right + e) for (_, t), e in zip(grown, ends, strict=False)]
        nodes = [np.concatenate([np.empty(0), *(t[n] for t in moved)]).astype(kind) for n, kind in enumerate(KINDS)]
        outputs = np.array([output for output, _ in grown], np.int64)
        return cls(*map(torch.from_numpy, (*nodes, ends[:-1].astype(np.int64), outputs, np.array(start, np.float64))))

    def buffers(self) -> dict[str, Tensor]:
        """All tensors by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def scores(self, x: Tensor) -> Tensor:
        """The sum of the leaves that each row falls into, (rows, C), in double precision; x is (rows, columns)."""
        size = max(1, CHUNK // max(1, len(self.roots)))
        which = F.one_hot(self.outputs, len(self.start)).double()
        starts = range(0, len(x), size)
        sums = [self.value[self.leaves(x[start : start + size].double())] @ which for start in starts]
        return self.start + torch.cat(sums)

    def leaves(self, x: Tensor) -> Tensor:
        """The leaf of each row in each tree, (rows, trees)."""
        nodes = self.roots.expand(len(x), -1)
        while True:
            values = x.gather(1, self.feature[nodes].long())
            goes_left = torch.where(values.isnan(), self.missing_left[nodes], values <= self.threshold[nodes])
            children = torch.where(goes_left, self.left[nodes], self.right[nodes]).long()
            if torch.equal(children, nodes):
                return nodes
            nodes = children


def tree_from_sklearn(nodes: NDArray[Any]) -> Tree:
    """A tree from the structured array of a histogram-based gradient boosting predictor.

    A node that tells missing values from all others has an infinite threshold there. The largest number does the same,
    and is finite, as all weights of a model file must be.
    """
    leaf, own = nodes["is_leaf"].astype(bool), np.arange(len(nodes))
    left, right = (np.where(leaf, own, nodes[side]) for side in ("left", "right"))
    value = np.where(leaf, nodes["value"], 0.0)
    threshold = np.clip(nodes["num_threshold"], -LARGEST, LARGEST)
    return Tree(nodes["feature_idx"], threshold, nodes["missing_go_to_left"], left, right, value)


def tree_from_lightgbm(root: Mapping[str, Any]) -> Tree:
    """A tree from the `tree_structure` of LightGBM's `dump_model`.

    Without missing values in training a node's `missing_type` is not NaN, and LightGBM reads a missing value as 0.
    """
    rows: list[list[float]] = []

    def add(node: Mapping[str, Any]) -> int:
        own = len(rows)
        if "split_feature" not in node:
            rows.append([0, 0.0, 0, own, own, node["leaf_value"]])
            return own
        missing_left = node["default_left"] if node["missing_type"] == "NaN" else node["threshold"] >= 0
        rows.append([node["split_feature"], node["threshold"], missing_left, 0, 0, 0.0])
        rows[own][3:5] = [add(node["left_child"]), add(node["right_child"])]
        return own

    add(root)
    return Tree(*np.array(rows, np.float64).T)
