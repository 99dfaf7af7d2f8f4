"""Unbalanced classes: which of two is the positive one, how much each weighs in the loss, which are rare."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from diffmg.core import DiffmgError, unknown

ClassWeight = Literal["balanced"] | tuple[float, ...] | None
"""Weights that balance the training labels, or one weight per class, or none."""
UNEVEN = 0.25
"""Share of the nodes below which a label, of several that a node may have, is seldom the likelier answer."""
RARE = 0.1
"""Share of the labels below which a class is rare, unless there are so many classes that half an even share is less."""


def class_number(given: Any, classes: Sequence[Any], what: str) -> int:
    """The number of a class by its name, which may be given as text."""
    for number, name in enumerate(classes):
        if given == name or str(given) in _spellings(name):
            return number
    raise unknown(what, given, map(str, classes))


def positive_class(given: Any, labels: Tensor, classes: Sequence[Any]) -> int | None:
    """The number of the positive one of two classes: the given one, or the rarer in these labels, or the second."""
    if labels.ndim == 2 or len(classes) != 2:
        if given is not None:
            kind = "several labels a node" if labels.ndim == 2 else f"{len(classes)} classes"
            raise DiffmgError(f"`positive` is one of two classes, but got positive={given!r} with {kind}; leave it out")
        return None
    if given is not None:
        return class_number(given, classes, "positive class")
    return rarer(labels)


def rarer(labels: Tensor) -> int:
    """The rarer one of two classes; the second of equal ones."""
    return int((labels == 1).sum() <= (labels == 0).sum())


def check_weights(given: Any) -> None:
    """Raise unless weights are none, `balanced`, or a table of positive numbers."""
    if given is not None and given != "balanced" and not isinstance(given, Mapping):
        raise DiffmgError(f"`class_weight` must be 'balanced' or a table of class = weight, but got {given!r}")
    for name, weight in given.items() if isinstance(given, Mapping) else ():
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
            raise DiffmgError(f"`weight > 0` must hold for every class in class_weight, but got {name} = {weight!r}")


def checked_class_weight(given: Any, classes: Sequence[Any]) -> ClassWeight:
    """Weights as they are given, `balanced` or by class; a class that is not named has the weight 1."""
    check_weights(given)
    if not isinstance(given, Mapping):
        return "balanced" if given else None
    found = [1.0] * len(classes)
    for name, weight in given.items():
        found[class_number(name, classes, "class in class_weight:")] = float(weight)
    return tuple(found)


def weights_of(given: ClassWeight, labels: Tensor, classes: int) -> Tensor | None:
    """The weight of each class in the loss, (C,), from training labels.

    Balanced: all classes weigh the same in total, and the mean over nodes is 1. Of several labels a node it is the
    weight of a node that has the label: as many as there are nodes without for each one with it.
    """
    if given is None:
        return None
    if given != "balanced":
        return torch.tensor(given, device=labels.device)
    return evening_weights(labels, classes, 1.0)


def evening_weights(labels: Tensor, classes: int, balance: float) -> Tensor:
    """Weights as 1 / n ** balance for classes of n nodes; their mean over nodes is 1.

    Of several labels a node, the weight of a node that has one is a power of the number of nodes without for each one
    with it.
    """
    if labels.ndim == 2:
        with_it = labels.sum(dim=0)
        return ((len(labels) - with_it).clamp(min=1) / with_it.clamp(min=1)) ** balance
    counts = torch.bincount(labels, minlength=classes).clamp(min=1)
    shares = counts**-balance
    return len(labels) * shares / (counts * shares).sum()


def check_weighed_once(balance: float, given: ClassWeight) -> None:
    """Raise where a training would even out classes that have weights."""
    if given is not None:
        raise DiffmgError(
            "`balance` or `class_weight` says how much classes weigh, "
            f"but got both, balance={balance:g} and class_weight={given!r}; leave one of them out"
        )


def are_uneven(labels: Tensor, classes: int) -> bool:
    """Whether the most frequent answers alone would often leave a class out."""
    if labels.ndim == 2:
        return bool((labels.float().mean(dim=0) < UNEVEN).any())
    return bool((torch.bincount(labels, minlength=classes) < 0.5 * len(labels) / classes).any())


def rare_classes(labels: Tensor, classes: Sequence[Any]) -> dict[Any, float]:
    """The share of labels of each rare class."""
    several = labels.ndim == 2
    counts = labels.sum(dim=0) if several else torch.bincount(labels, minlength=len(classes))
    least = RARE if several else min(RARE, 0.5 / len(classes))
    shares = (counts / max(1, len(labels))).tolist()
    return {name: share for name, share in zip(classes, shares, strict=True) if share < least}


def note_on_rare(rare: Mapping[Any, float]) -> str:
    """What to know about rare classes, in a line."""
    shown = ", ".join(f"{name} ({share:.1%})" for name, share in list(rare.items())[:3])
    more = f" and {len(rare) - 3} more" if len(rare) > 3 else ""
    return (
        f"rare among the training labels: {shown}{more}; metric = 'average_precision' (or 'roc_auc') chooses by how "
        "well classes are ranked, class_weight = 'balanced' gives them equal weight in the loss; neither is in use, "
        "though a race tries such weights"
    )


def weights_in_words(given: str | Mapping[Any, float]) -> str:
    """As a person would write them."""
    return given if isinstance(given, str) else ", ".join(f"{name} {weight:g}" for name, weight in given.items())


def _spellings(name: Any) -> set[str]:
    return {str(name), str(name).lower()} if isinstance(name, bool) else {str(name)}
