"""Run folders for tests: the command line called in this process or another, folders compared byte for byte."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow.parquet as parquet
import pytest

from diffmg.cli import common, main
from diffmg.training import Epoch, Job

WIDE = "1000"
"""Columns of the terminal: a message stays on one line."""
TINY = (
    "--method", "diffmg", "--search-seeds", "2", "--repeats", "2",
    "-o", "epochs=4", "-s", "max_epochs=4", "-s", "dim=8", "--beside", "none",
)  # fmt: skip
"""Arguments of a fit that ends in no time and has every phase of a search."""
RACE = ("--budget", "4", "-s", "max_epochs=3", "-s", "dim=8", "--beside", "none")
"""Arguments of a race that ends in no time."""


@dataclass(frozen=True)
class Answer:
    """What a command did."""

    code: int
    out: str
    err: str


def diffmg(*arguments: object, columns: str = WIDE) -> Answer:
    """Run a command of `diffmg` in this process."""
    return call(main, *arguments, columns=columns)


def call(command: Callable[[], None], *arguments: object, columns: str = WIDE) -> Answer:
    """Run a command in this process; an exception that is no exit is a fault and comes through."""
    out, err = io.StringIO(), io.StringIO()
    argv = ["diffmg", *map(str, arguments)]
    code: Any = 0
    with (
        mock.patch.object(sys, "argv", argv),
        mock.patch.dict(os.environ, COLUMNS=columns, TERM="xterm"),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            command()
        except SystemExit as stop:
            code = stop.code or 0
    return Answer(code, out.getvalue(), err.getvalue())


def fit(folder: Path, data: str = "academic:120", *arguments: object) -> Path:
    """A finished run of the command `fit`; nothing is trained beside it unless that is asked for."""
    given = arguments or TINY
    answer = diffmg("fit", data, "--out", folder, *given, *(() if "--beside" in given else ("--beside", "none")))
    assert answer.code == 0, answer.err
    return folder


def start(*arguments: object) -> subprocess.Popen[bytes]:
    """Start Python in another process with the same number of threads."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def read(folder: Path) -> dict[str, Any]:
    """`run.json` as plain values."""
    return json.loads((folder / "run.json").read_text(encoding="utf-8"))


def content(folder: Path) -> Mapping[str, Any]:
    """Everything in a finished run folder that must not depend on when or how it was computed."""
    run = read(folder)
    del run["seconds"]
    names = ("metagraph.json", "model.safetensors", "single.safetensors", "tried.jsonl", "history.jsonl")
    paths = (folder / name for name in names)
    return {"run.json": run} | {path.name: path.read_bytes() for path in paths if path.exists()}


def edit(folder: Path, **changes: Any) -> None:
    """Change fields of `run.json`."""
    (folder / "run.json").write_text(json.dumps(read(folder) | changes), encoding="utf-8")


def edit_plan(folder: Path, **changes: Any) -> None:
    """Change fields of the plan in `run.json`; of a field that is a mapping, only what is given."""
    plan = read(folder)["plan"]
    for name, value in changes.items():
        plan[name] = plan.get(name, {}) | value if isinstance(value, dict) else value
    edit(folder, plan=plan)


def refused(*arguments: object) -> str:
    """The one line in which a command says that its input is bad; it says nothing else."""
    answer = diffmg(*arguments)
    assert (answer.code, answer.out) == (2, ""), answer
    assert answer.err.startswith("error: "), answer.err
    assert answer.err.count("\n") == 1, answer.err
    return answer.err


def leave_out_an_edge(folder: Path, relation: str) -> None:
    """Change one table of a folder that `export_tables` wrote."""
    (path,) = folder.glob(f"*{relation}*.parquet")
    parquet.write_table(parquet.read_table(path)[:-1], path)


def interrupt(lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have Ctrl-C pressed after so many lines of history of the next command."""
    count = iter(range(1, 10_000))
    tell = common.ProgressWatch.epoch

    def press(watch: common.ProgressWatch, record: Epoch) -> None:
        tell(watch, record)
        if next(count) == lines:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(common.ProgressWatch, "epoch", press)


class At:
    """A watch that does something after one epoch of one phase, and notes the phases."""

    def __init__(self, phase: str, epoch: int, act: Callable[[], object]) -> None:
        self.phase, self.number, self.act = phase, epoch, act
        self.phases: list[str] = []

    def begin(self, phase: str, job: Job) -> None:
        self.phases.append(phase)

    def epoch(self, record: Epoch) -> None:
        if (self.phases[-1], record.epoch) == (self.phase, self.number):
            self.act()

    def end(self) -> None:
        pass
