"""Threads with a limited queue, and ids."""

from __future__ import annotations

import asyncio
import threading
import time

import numpy as np
import pytest

from diffmg.serve.ids import KnownIds
from diffmg.serve.refused import RefusedError
from diffmg.serve.work import Until, Work


def test_what_waits_too_long_is_never_started() -> None:
    started: list[int] = []

    async def both() -> list[object]:
        work = Work(threads=1, waiting=2, seconds=0.1)
        blocked = threading.Event()
        first = work.run(lambda _: blocked.wait(0.3))
        second = work.run(lambda _: started.append(1))
        found = await asyncio.gather(first, second, return_exceptions=True)
        await asyncio.sleep(0.4)
        last = await work.run(lambda _: "free again")
        work.close()
        return [*found, last]

    *late, last = asyncio.run(both())
    assert [error.status for error in late] == [503, 503]
    assert not started
    assert last == "free again"


def test_more_than_can_wait_are_refused_at_once() -> None:
    async def four() -> list[object]:
        work = Work(threads=1, waiting=2, seconds=5)
        found = await asyncio.gather(*(work.run(lambda _: time.sleep(0.05)) for _ in range(4)), return_exceptions=True)
        work.close()
        return found

    found = asyncio.run(four())
    assert found[:3] == [None] * 3
    assert isinstance(found[3], RefusedError)
    assert "at most 3 requests may wait" in str(found[3])


def test_long_work_can_ask_whether_it_is_late() -> None:
    until = Until(0.01)
    until.check()
    time.sleep(0.02)
    with pytest.raises(RefusedError, match=r"within 0\.01 s"):
        until.check()


@pytest.mark.parametrize(
    ("known", "asked", "found"),
    [
        (np.array([30, 10, 20]), [10, "30"], [10, 30]),
        (np.array(["a", "7", "ü"]), ["ü", 7], ["ü", "7"]),
        (np.array(["2024-01-02", "2024-01-01"], "M8[D]"), ["2024-01-01"], [np.datetime64("2024-01-01")]),
    ],
)
def test_ids_are_found_as_numbers_or_as_text(known: np.ndarray, asked: list[int | str], found: list[object]) -> None:
    assert KnownIds("node", known).find(asked).tolist() == np.array(found, known.dtype).tolist()


@pytest.mark.parametrize("wrong", ["07", " 7", "7\0", "", 10**30, -7])
def test_what_only_looks_like_an_id_is_none(wrong: int | str) -> None:
    with pytest.raises(RefusedError) as caught:
        KnownIds("node", np.array([7, 8])).find([7, wrong])
    assert caught.value.status == 404
