"""What a meta path is worth to a model, and how a single answer splits by meta paths: values to show and store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from diffmg.core.metagraph import MetaPath
from diffmg.core.text import printable

SHOWN = 8
"""Contributions that the text of an explanation shows."""


def path_words(path: MetaPath, target: str) -> str:
    """A meta path from the target backwards: `author <- paper <- venue`; the empty one is the target itself."""
    types = [target, *(relation.source for relation in reversed(path))]
    return " <- ".join(map(printable, types)) if path else f"{printable(target)} itself"


def path_names(path: MetaPath) -> str:
    """The relations of a meta path by name, in the order of `path_words`."""
    return ", ".join(printable(relation.name) for relation in reversed(path))


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
    size: float = 0.0
    """How large what arrives along it is, relative to the whole representation before the norm."""


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
    label: str = ""
    """What it is where it is not that of one path: `other paths`, or the model's `constant` part."""

    def words(self, target: str) -> str:
        """The path in words, or what else it is."""
        return self.label or path_words(self.path, target)


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

    def __str__(self) -> str:
        lines = [f"{printable(self.target)} {printable(self.id)}: {printable(self.answer)}"]
        words = [c.words(self.target) for c in self.contributions[:SHOWN]]
        width = max(map(len, words), default=0)
        for text, c in zip(words, self.contributions, strict=False):
            named = f"{text:<{width}}  ({path_names(c.path)})" if c.path else text
            lines.append(f"  {c.share:+7.1%}  effect {c.effect:+.3f}  {named}")
            lines += [f"           {s.share:+7.1%}  {printable(s.node_type)} {printable(s.id)}" for s in c.sources]
        hidden = len(self.contributions) - SHOWN
        lines += [f"  ... {hidden} more"] if hidden > 0 else []
        return "\n".join([*lines, *([f"  {printable(self.note)}"] if self.note else [])])
