"""Runs that were stopped: a checkpoint, the history or `run.json` is changed, then they go on."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from diffmg.cli import common
from fuzz.case import Answer, Case
from fuzz.inputs.run_folders import changed_field, changed_history, changed_tensors, damaged_file
from fuzz.library import library
from fuzz.running import command
from fuzz.writers import NET, as_csv

FIT = ("fit", NET, "--method", "mlp", "-s", "max_epochs=6", "-s", "dim=4", "--save-every", "0", "--out")


@cache
def base() -> tuple[dict[str, bytes], str]:
    """The files of a run that was stopped after some epochs, and what it predicts when it is not."""
    files, _ = as_csv(library(Random("a run")))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, data in files.items():
            (folder / file).write_bytes(data)
        words = [str(folder / NET) if word == NET else word for word in FIT]
        whole, run = folder / "whole", folder / "run"
        assert command(*words, str(whole)).code == 0
        with mock.patch.object(common.ProgressWatch, "epoch", _stopping(3)):
            assert command(*words, str(run)).code == 130
        printed = command("predict", str(whole)).out
        found = {f"run/{p.relative_to(run)}": p.read_bytes() for p in run.rglob("*") if p.is_file()}
    moved = {n: d.replace(f"{folder}/".encode(), b"") if n == "run/run.json" else d for n, d in found.items()}
    return files | moved, printed


def _stopping(after: int) -> Callable[..., None]:
    left = iter(range(after))

    def epoch(*_: Any) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    return epoch


def cases(seed: int) -> Case:
    """Go on with a changed run, and predict."""
    rng = Random(f"stopped {seed}")
    files, printed = dict(base()[0]), base()[1]
    checkpoints = [name for name in files if "/checkpoints/" in name]
    kinds: tuple[Callable[[], str], ...] = (
        lambda: "nothing",
        lambda: changed_tensors(files, rng, rng.choice(checkpoints)),
        lambda: damaged_file(files, rng, rng.choice(checkpoints)),
        lambda: damaged_file(files, rng, "run/history.jsonl"),
        lambda: changed_history(files, rng),
        lambda: changed_field(files, rng, "run/run.json"),
    )
    kind = rng.randrange(len(kinds))
    word = kinds[kind]()
    steps = (("resume", "run"), ("predict", "run", "--data", NET))
    return Case(word, files, steps, _as_whole(printed) if kind < 3 else None)


def _as_whole(printed: str) -> Callable[[Sequence[Answer]], Iterator[str]]:
    """A run that goes on ends as if it had not been stopped, or does not go on."""

    def found(answers: Sequence[Answer]) -> Iterator[str]:
        if answers[-1].code == 0 and answers[-1].out != printed:
            yield "a run that was stopped predicts something else"

    return found
