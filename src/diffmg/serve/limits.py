"""What one request may ask for."""

from dataclasses import dataclass
from typing import Annotated

from diffmg.core.options import Bounds, Checked, Count, Positive
from diffmg.serve.refused import RefusedError


@dataclass(frozen=True)
class Limits(Checked):
    """Checked before any work is done."""

    body: Annotated[int, Bounds(1)] = 1_000_000
    """Bytes of a request."""
    batch: Count = 1000
    """Ids of a request."""
    k: Count = 100
    """Items for each user."""
    explained: Count = 20
    """Answers of a request that are explained."""
    seconds: Positive = 10.0
    """From the arrival of a request to its answer."""
    waiting: Count = 1024
    """Requests that wait for a thread."""
    threads: Count = 2
    """Threads that compute answers; explanations have one more."""


def check_count(what: str, count: int, most: int) -> None:
    """Refuse less than one or more than allowed."""
    if not 1 <= count <= most:
        raise RefusedError(422, f"`1 <= {what} <= {most}` must hold, but got {count}; ask for less, or raise the limit")
