"""Labels and parts that are given by node number, and what must hold for them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from diffmg.core import DiffmgError, Part


def node_numbers(part: Part, given: ArrayLike, count: int) -> NDArray[np.int64]:
    """Node numbers of a part, which may be given as a mask."""
    index = np.asarray(given)
    if index.dtype == bool and index.shape == (count,):
        return np.flatnonzero(index)
    if index.size and (index.ndim != 1 or not np.issubdtype(index.dtype, np.integer)):
        raise DiffmgError(
            f"{part} must be node numbers or a mask over all {count} nodes, "
            f"but got {index.dtype} of shape {index.shape}"
        )
    if index.size and (index.min() < 0 or index.max() >= count):
        raise DiffmgError(f"`0 <= node < {count}` must hold in {part}, but got {index.min()} to {index.max()}")
    return index.astype(np.int64).ravel()


def class_names(labels: NDArray[Any], classes: Sequence[Any] | None) -> tuple[Any, ...]:
    """One name per class; for several labels a node, one per column of zeros and ones."""
    if labels.ndim == 2 and labels.max(initial=0) > 1:
        raise DiffmgError(f"labels (n, C) must be zeros and ones (or -1 for unknown), but got {labels.max()}")
    count = labels.shape[1] if labels.ndim == 2 else int(labels.max(initial=-1)) + 1
    names = tuple(range(count) if classes is None else classes)
    if len(names) < count or (labels.ndim == 2 and len(names) != count):
        raise DiffmgError(f"every class needs a name, {count} in all, but got {len(names)}: {list(names)[:5]}")
    return names


def check_parts(target: str, known: NDArray[np.bool_], parts: Mapping[Part, NDArray[np.int64]]) -> None:
    """Training and validation have nodes, every node of a part has a label (is `known`), and parts do not overlap."""
    for part, index in parts.items():
        if part != "test" and not index.size:
            raise DiffmgError(f"the split needs {target!r} nodes in train and in val, but got none in {part}")
        bad = index[~known[index]]
        if len(bad):
            raise DiffmgError(
                f"every {target!r} node of {part} must have a label, but got none for {bad[:3].tolist()}; "
                "leave their split empty, or leave them out"
            )
    pairs: tuple[tuple[Part, Part], ...] = (("train", "val"), ("train", "test"), ("val", "test"))
    for a, b in pairs:
        both = np.intersect1d(parts[a], parts[b])
        if len(both):
            raise DiffmgError(
                f"the parts of a split must not overlap, but got {len(both)} {target!r} nodes in both {a} and {b}, "
                f"such as {both[:3].tolist()}"
            )


def check_training_classes(labels: NDArray[Any], classes: tuple[Any, ...]) -> None:
    """There are two or more classes, each with a training node."""
    seen = np.asarray(labels.any(axis=0) if labels.ndim == 2 else np.isin(np.arange(len(classes)), labels))
    if len(classes) < 2 or not seen.all():
        absent = [c for c, s in zip(classes, seen, strict=True) if not s]
        raise DiffmgError(
            f"there must be two or more classes, each with a training node, but got {len(classes)} classes "
            f"and none for {absent[:5]}; drop the class or move a node of it to train"
        )


def label_columns(labels: NDArray[Any], classes: Sequence[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Columns of a table with these labels, None where there is none, and the classes as they are written there."""
    names = [c.item() if isinstance(c, np.generic) else c for c in classes]
    if len({type(c) for c in names}) > 1 or not isinstance(names[0], str | int | float):
        names = [str(c) for c in names]
    if labels.ndim == 2:
        return {f"label{i}": [None if v < 0 else int(v) for v in marks] for i, marks in enumerate(labels.T)}, names
    return {"label": [None if number < 0 else names[number] for number in labels]}, names


def class_counts(labels: Tensor, classes: Sequence[Any]) -> dict[str, int]:
    """How many of these nodes have each class."""
    each = labels.sum(dim=0) if labels.ndim == 2 else torch.bincount(labels, minlength=len(classes))
    return dict(zip(map(str, classes), each.tolist(), strict=True))


def no_order(metric: str, part: Part, labels: Tensor, classes: Sequence[Any]) -> DiffmgError:
    """The error for a part whose nodes all have the same labels, so that they have no order."""
    (one,) = set(map(tuple, labels.view(len(labels), -1).tolist()))
    return DiffmgError(
        f"{metric} needs nodes of more than one class in each part, but got {len(labels)} nodes of "
        f"{part} that are all {_label_words(one, classes)}; move some there, or use another metric, such as macro_f1"
    )


def _label_words(labels: tuple[int, ...], classes: Sequence[Any]) -> str:
    """The class with this number, or the classes that are marked."""
    if len(labels) == 1:
        return repr(classes[labels[0]])
    return repr([name for name, mark in zip(classes, labels, strict=True) if mark])
