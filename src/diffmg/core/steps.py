"""What is being done at the moment, for whoever shows it: work that is no job with epochs says so before it begins."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str], object]
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


def step(words: str) -> None:
    """Say what is done next, such as "reading orders.csv"; nobody needs to listen."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(words)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have every step told to `listener` for a while."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
