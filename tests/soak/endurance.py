"""Many fits in one process, and many answers: memory and open files must stay flat."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from run_files import RACE, TINY, fit

MORE = 1.10
"""What answering may need of the memory that was held before."""
FLAT = 1.03
"""What the second half of many fits may need of the first; caches are full by then."""
DATA = "academic:120"


def many_fits(count: int, steps: int = 10) -> list[dict[str, int]]:
    """Fit again and again, methods and races in turn; memory and open files now and then."""
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for number in range(1, count + 1):
            fit(Path(place) / str(number), DATA, *(RACE if number % 4 == 0 else TINY), "--seed", number)
            if number % max(1, count // steps) == 0:
                gc.collect()
                rows.append({"fits": number, "bytes": resident(), "files": len([*Path("/proc/self/fd").iterdir()])})
    return rows


def is_flat(rows: Sequence[Mapping[str, int]]) -> bool:
    """Whether the second half needs no more than the end of the first: no open file, hardly any memory."""
    half = rows[len(rows) // 2 - 1]
    return rows[-1]["files"] <= half["files"] and rows[-1]["bytes"] <= FLAT * half["bytes"]


def resident() -> int:
    """Bytes of memory in use by this process."""
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def recommending(users: int, items: int) -> dict[str, Any]:
    """Memory of a process that holds a model's vectors and what was chosen before, and at most while all are answered.

    A few are answered first: that loads libraries, which stay.
    """
    import torch

    from benchmarks.measure import peak_bytes
    from benchmarks.recommend import SMALL, RecommendOptions, WholeAnswer, made

    cpu, options = torch.device("cpu"), RecommendOptions(users, items)
    few = RecommendOptions(min(SMALL, users), items)
    WholeAnswer(made(few, cpu), few, cpu).run(1)
    runner = WholeAnswer(made(options, cpu), options, cpu)
    base = resident()
    more = peak_bytes(lambda: runner, cpu)
    assert more is not None, "the peak can be measured here"
    return {"users": users, "items": items, "base": base, "peak": base + more, **runner.found}
