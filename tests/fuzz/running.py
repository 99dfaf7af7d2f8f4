"""Runs a case in this process, within limits of time and memory, and says what came of it."""

from __future__ import annotations

import io
import os
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from diffmg.cli import main
from diffmg.core import DiffmgError
from fuzz.case import Answer, Case, Outcome, Result, Step

SECONDS = 20.0
BYTES = 4 * 2**30
LEFT_OVER = re.compile(r"^\..+\.[a-z0-9_]{8}$")
"""Names of files that were to be renamed when they are whole."""
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]")
TOLD = re.compile(r"but got|unknown|could not|Usage:|must ")
"""What a refusal says: the rule and the value, or how the command is used."""


class Hang(BaseException):
    """The time of a case is over."""


class _Output(io.TextIOWrapper):
    """Text that a command writes, also as bytes; may say that it is a terminal."""

    def __init__(self, terminal: bool) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", errors="replace", newline="", write_through=True)
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    def text(self) -> str:
        self.flush()
        found: Any = self.buffer
        return found.getvalue().decode("utf-8", "replace")


def run_case(case: Case, folder: Path, seconds: float = SECONDS) -> Result:
    """Write the files of a case to a new folder, run its steps there, ask its oracle."""
    _warm_up()
    start = time.monotonic()
    before, temporary = Path.cwd(), folder / "temporary"
    temporary.mkdir(parents=True)
    try:
        with _limited(seconds), warnings.catch_warnings(), mock.patch.object(tempfile, "tempdir", str(temporary)):
            warnings.simplefilter("ignore")
            os.chdir(folder)
            _write(case)
            outcome, detail = _run(case)
    except Hang:
        outcome, detail = "hang", _place()
    except MemoryError as error:
        outcome, detail = "memory", f"{error!r} {_place()}"
    except Exception as error:
        no_memory = "can't allocate memory" in str(error) or "Out of Memory" in str(error)
        outcome, detail = "memory" if no_memory else "traceback", f"{error!r:.300} {_place()}"
    finally:
        os.chdir(before)
    return Result(outcome, detail, time.monotonic() - start)


@cache
def _warm_up() -> None:
    """The first step of an optimiser imports for seconds, which are not those of a case."""
    import torch

    weight = torch.nn.Parameter(torch.ones(1))
    weight.sum().backward()
    torch.optim.Adam([weight]).step()


def _write(case: Case) -> None:
    for name, data in case.files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(data)


def _run(case: Case) -> tuple[Outcome, str]:
    answers: list[Answer] = []
    complaints: list[str] = []
    for step in case.steps:
        there = _files()
        answers.append(_step(step, case.terminal))
        complaints += _left(there, _files(), answers[-1])
        if isinstance(step, tuple):
            complaints += _shown(step, answers[-1], case.terminal)
        if answers[-1].code:
            break
    unclear = [u for answer in answers for u in _unclear(answer)]
    if unclear:
        return "unclear", unclear[0]
    if case.oracle is not None:
        complaints += case.oracle(answers)
    if complaints:
        return "silent wrong", "; ".join(complaints[:5])
    refused = answers[-1].code if answers else 0
    return ("refused", answers[-1].err.strip()[-300:]) if refused else ("ok", "")


def _step(step: Step, terminal: bool) -> Answer:
    if isinstance(step, tuple):
        return command(*step, terminal=terminal)
    try:
        step()
    except DiffmgError as error:
        return Answer(2, "", f"error: {error}")
    return Answer(0)


def command(*arguments: str, terminal: bool = False) -> Answer:
    """Run a command of `diffmg`; an exception that is no exit comes through."""
    out, err = _Output(terminal), _Output(terminal)
    code: Any = 0
    with (
        mock.patch.object(sys, "argv", ["diffmg", *arguments]),
        mock.patch.dict(os.environ, COLUMNS="200", TERM="xterm"),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
    return Answer(code if isinstance(code, int) else 1, out.text(), err.text(), terminal)


def _files() -> dict[str, bytes]:
    """All files and folders in this folder by name, with their content; of large ones, the size."""
    own = ("temporary", "torchinductor")
    return {str(path): _content(path) for path in Path().rglob("*") if not path.name.startswith(own)}


def _content(path: Path) -> bytes:
    if not path.is_file():
        return b""
    return path.read_bytes() if path.stat().st_size < 2**20 else str(path.stat().st_size).encode()


def _left(before: dict[str, bytes], after: dict[str, bytes], answer: Answer) -> Iterator[str]:
    """Nothing is left of a refused command, and no temporary files ever."""
    left = [name for name in after if LEFT_OVER.match(Path(name).name) or name.startswith("temporary")]
    if left:
        yield f"temporary files are left: {left[:3]}"
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    if answer.code in (2, 3) and changed:
        yield f"a refused command changed {changed[:3]}"


def _shown(step: tuple[str, ...], answer: Answer, terminal: bool) -> Iterator[str]:
    """No control characters of the data reach a terminal; a table that is piped is the bytes of the file."""
    raw = not terminal and step[0] in ("predict", "recommend")
    for what, text in (("output", "" if raw else answer.out), ("errors", answer.err)):
        own = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", text) if terminal else text
        odd = CONTROL.search(own)
        if odd or "owned" in re.findall(r"\x1b\[3?1m(owned)", text):
            yield f"{step[0]} shows {odd and odd.group()!r} in its {what}"


def _unclear(answer: Answer) -> Iterator[str]:
    if answer.code not in (0, 2, 3):
        yield f"exit code {answer.code}: {answer.err[-200:]}"
    elif answer.code and not TOLD.search(answer.err):
        yield f"a refusal that tells nothing: {answer.err[-200:]!r}"


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise in this process when time or memory runs out."""

    def stop(*_: object) -> None:
        raise Hang

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    old = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    resource.setrlimit(resource.RLIMIT_AS, (_used() + BYTES, hard))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _used() -> int:
    """Bytes of address space in use."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
    return pages * resource.getpagesize()


def _place() -> str:
    """Where in the package the present exception comes from."""
    frames: Sequence[traceback.FrameSummary] = traceback.extract_tb(sys.exc_info()[2])
    own = [f for f in frames if "/diffmg/" in f.filename] or [*frames]
    return " <- ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(own[-3:]))
