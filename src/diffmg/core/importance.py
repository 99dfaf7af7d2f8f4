"""What a meta path is worth to a model, and how a single answer splits by meta paths: values to show and store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from diffmg.core.metagraph import MetaPath


@dataclass(frozen=True)
class PathImportance:
    """How much worse the validation score is without the messages of one meta path."""

    target: str
    """The target type whose meta graph has the path."""
    path: MetaPath
    """Relations in message order; the empty path is the target's own input."""
    drop: float
    """Validation score with the path minus without it, signed so that positive means the path helps."""
    std: float
    """Standard error of the drop, over the judged rows."""


@dataclass(frozen=True)
class PathSource:
    """A node at the start of a meta path, and the part of the whole answer that comes from it."""

    node_type: str
    id: Any
    share: float


@dataclass(frozen=True)
class Contribution:
    """The part of an answer that arrives along one meta path."""

    path: MetaPath
    share: float
    """Part of the representation before the norm; the shares of all contributions sum to 1."""
    effect: float
    """First-order effect on what was answered: the score of the predicted class, the number, or the pair."""
    sources: tuple[PathSource, ...]
    """The nodes it comes from, largest share first; only the first few."""


@dataclass(frozen=True)
class Explanation:
    """Where one answer comes from, for one target type."""

    target: str
    id: Any
    answer: str
    """What was answered, in words."""
    contributions: tuple[Contribution, ...]
    """Largest share first."""
    note: str = ""
    """What was frozen or left out, if the model is not linear in its paths; empty where the split is exact."""
