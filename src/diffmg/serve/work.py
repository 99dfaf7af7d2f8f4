"""Computing beside the event loop: in threads, no longer than allowed, and no more at once than can wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from diffmg.serve.refused import RefusedError

T = TypeVar("T")


class Until:
    """When the answer to a request is due. A thread cannot be stopped, so long work asks from time to time."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self._end = seconds, time.monotonic() + seconds

    def check(self) -> None:
        """Refuse to go on after that."""
        if time.monotonic() > self._end:
            raise self.late()

    def late(self) -> RefusedError:
        """The answer to a request that took too long."""
        return RefusedError(
            503, f"an answer must be ready within {self.seconds:g} s, but got none; ask for less, or later"
        )


class Work:
    """Threads with a limited queue."""

    def __init__(self, threads: int, waiting: int, seconds: float) -> None:
        self.most, self.seconds = threads + waiting, seconds
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="diffmg-serve")
        self._busy = 0

    async def run(self, function: Callable[[Until], T]) -> T:
        """What the function returns; it is told until when."""
        if self._busy >= self.most:
            raise RefusedError(503, f"at most {self.most} requests may wait, but got one more; try again in a second")
        until = Until(self.seconds)
        self._busy += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, _started, function, until)
        future.add_done_callback(self._done)
        try:
            return await asyncio.wait_for(asyncio.shield(future), self.seconds)
        except TimeoutError as error:
            raise until.late() from error

    def close(self) -> None:
        """Start nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _done(self, future: asyncio.Future[Any]) -> None:
        self._busy -= 1
        if not future.cancelled():
            future.exception()  # looked at, though nobody may wait for it any more


def _started(function: Callable[[Until], T], until: Until) -> T:
    until.check()
    return function(until)
