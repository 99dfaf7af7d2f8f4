"""What was found to know the answer, with its evidence and what to do."""

from __future__ import annotations

from dataclasses import dataclass

PREFIX = "leak: "


class LeakWarning(UserWarning):
    """Something in the data may know the answer."""


@dataclass(frozen=True)
class Finding:
    """Something that knows the answer."""

    what: str
    """Table and column, or relation."""
    evidence: str
    step: str
    """The next step."""

    def __str__(self) -> str:
        return f"{PREFIX}{self.what} {self.evidence}; {self.step}"
