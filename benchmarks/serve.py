"""A served model under load: clients on the loopback that ask one thing after another, and how long they wait."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from diffmg.core import DiffmgError
from diffmg.core.options import Checked, Count, Positive
from diffmg.runs.model import Model

PERCENTS = (50, 90, 95, 99)
QUIET = {"CUDA_VISIBLE_DEVICES": ""}


@dataclass(frozen=True)
class ServeOptions(Checked):
    """How many ask, for how long, for what."""

    data: str = "yelp"
    clients: Count = 64
    seconds: Positive = 30.0
    method: str = "lightgcn"
    epochs: Count = 3
    k: Count = 10
    threads: Count = 2
    seed: int = 0


@dataclass
class Seen:
    """What clients saw."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    broken: int = 0
    """Connections that failed."""


def measure_serve(options: ServeOptions, data_root: Path | None = None) -> dict[str, Any]:
    """Fit a model for a few epochs, serve it in a process of its own, and ask it."""
    with tempfile.TemporaryDirectory() as place:
        run = _fitted(options, Path(place) / "run", data_root)
        paths = _requests(options, run, data_root)
        with served(run, options.threads, data_root) as port:
            asyncio.run(ask(port, paths, clients=1, seconds=0.5, seed=options.seed))  # not measured
            seen = asyncio.run(ask(port, paths, options.clients, options.seconds, options.seed))
    return summary(seen, options.seconds)


def summary(seen: Seen, seconds: float) -> dict[str, Any]:
    """Requests, errors, and percentiles of the time until an answer, in milliseconds."""
    count = sum(seen.statuses.values())
    waited = np.asarray(seen.seconds or [np.nan]) * 1e3
    found = {f"p{percent}_ms": float(np.percentile(waited, percent)) for percent in PERCENTS}
    errors = seen.broken + sum(n for status, n in seen.statuses.items() if status != 200)
    statuses = {str(status): n for status, n in sorted(seen.statuses.items())}
    return {"requests": count, "errors": errors, "statuses": statuses, "broken": seen.broken,
            "requests_per_second": count / seconds, **found, "max_ms": float(waited.max())}  # fmt: skip


async def ask(port: int, paths: Sequence[str], clients: int, seconds: float, seed: int) -> Seen:
    """Every client asks again as soon as it has an answer."""
    seen, end = Seen(), time.perf_counter() + seconds
    await asyncio.gather(*(_client(port, paths, end, random.Random(f"{seed} {n}"), seen) for n in range(clients)))
    return seen


async def _client(port: int, paths: Sequence[str], end: float, draw: random.Random, seen: Seen) -> None:
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < end:
            start = time.perf_counter()
            seen.statuses[await _one(reader, writer, draw.choice(paths))] += 1
            seen.seconds.append(time.perf_counter() - start)
        writer.close()
        await writer.wait_closed()
    except (OSError, asyncio.IncompleteReadError, ValueError):
        seen.broken += 1


async def _one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str) -> int:
    """The status of one request; the connection stays open."""
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    await writer.drain()
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    if length is None:
        raise ValueError(f"a reply must say how long it is, but got {head[:100]!r}")
    await reader.readexactly(int(length[1]))
    return int(head.split(b" ", 2)[1])


@contextlib.contextmanager
def served(run: Path, threads: int, data_root: Path | None = None) -> Iterator[int]:
    """The port of a server in another process."""
    words = ["-m", "diffmg", "serve", str(run), "--port", "0", "--threads", str(threads), *_root(data_root)]
    environment = os.environ | QUIET
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None, "it is a pipe"
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
            if found is None:
                raise DiffmgError(f"a server must say where it is, but got none of {run.name!r}; see what it printed")
            yield int(found[1])
        finally:
            process.terminate()


def _fitted(options: ServeOptions, run: Path, data_root: Path | None) -> Path:
    words = ["fit", options.data, "--method", options.method, "-s", f"max_epochs={options.epochs}", "--beside", "none"]
    words += ["--seed", str(options.seed), "--device", "cpu", "--out", str(run), "--quiet", *_root(data_root)]
    subprocess.run([sys.executable, "-m", "diffmg", *words], check=True)
    return run


def _requests(options: ServeOptions, run: Path, data_root: Path | None) -> list[str]:
    """One request for each id of the model's data."""
    model = Model.load(run, root=data_root)
    ids = model.problem.graph.ids_of(model.problem.task.target_types[0]).tolist()
    more = f"&k={options.k}" if model.task.verb == "recommend" else ""
    return [f"/{model.task.verb}?id={quote(str(one))}{more}" for one in ids]


def _root(data_root: Path | None) -> list[str]:
    return [] if data_root is None else ["--data-root", str(data_root)]
