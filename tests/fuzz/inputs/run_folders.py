"""Run folders: files with fields of the wrong type, changed weights, damaged and missing files."""

from __future__ import annotations

import json
import struct
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random

from fuzz import odd
from fuzz.case import Answer, Case
from fuzz.damage import damaged
from fuzz.library import library
from fuzz.oracles import QUICK
from fuzz.running import command
from fuzz.writers import NET, as_csv

MODEL = "run/model.safetensors"
COMMANDS = (
    ("predict", "run"), ("predict", "run"), ("score", "run"), ("show", "run"), ("report", "run"), ("resume", "run"),
    ("repeat", "run", "--out", "again"), ("predict", "run/model.safetensors"),
)  # fmt: skip


@cache
def base() -> tuple[dict[str, bytes], str]:
    """The files of a finished run, made once in this process, and what it predicts."""
    files, _ = as_csv(library(Random("a run")))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, data in files.items():
            (folder / file).write_bytes(data)
        run = folder / "run"
        answer = command("fit", str(folder / NET), "--method", "random", "--depth", "2", *QUICK, "--out", str(run))
        assert answer.code == 0, answer.err
        printed = command("predict", str(run)).out
        found = {f"run/{p.relative_to(run)}": p.read_bytes() for p in run.rglob("*") if p.is_file()}
        moved = {
            n: data.replace(f"{folder}/".encode(), b"") if n == "run/run.json" else data for n, data in found.items()
        }
    return files | moved, printed


def cases(seed: int) -> Case:
    """A run with one file changed, used by a command; the data lie where `--data` says."""
    rng = Random(f"run {seed}")
    files, printed = dict(base()[0]), base()[1]
    kind = rng.choice((_field, _field, changed_history, _weights, _weights, _damaged, _damaged, _missing, _nothing))
    word = kind(files, rng)
    step = rng.choice(COMMANDS)
    if step[0] in ("predict", "score"):
        step = (*step, "--data", NET)
    oracle = _unchanged(printed) if step[0] == "predict" else None
    if kind in (_weights, _damaged) and word.startswith(MODEL) and step[1] == "run" and step[0] in ("predict", "score"):
        oracle = _refused
    return Case(f"{word}; {step[0]}", files, (step,), oracle, terminal=rng.random() < 0.2)


def _field(files: dict[str, bytes], rng: Random) -> str:
    return changed_field(files, rng, rng.choice(("run/run.json", "run/run.json", "run/metagraph.json")))


def changed_field(files: dict[str, bytes], rng: Random, name: str) -> str:
    """A field of a JSON file is of the wrong type, gone, or new."""
    data = json.loads(files[name])
    place, path = data, []
    while isinstance(place, dict | list) and place:
        path.append(rng.choice([*place] if isinstance(place, dict) else [*range(len(place))]))
        if not isinstance(place[path[-1]], dict | list) or not place[path[-1]] or rng.random() < 0.3:
            break
        place = place[path[-1]]
    kind = rng.choice(("set", "set", "drop", "add"))
    if kind == "set":
        place[path[-1]] = odd.plain(rng)
    elif kind == "drop":
        del place[path[-1]]
    elif isinstance(place, dict):
        place[odd.name(rng)] = odd.plain(rng)
    files[name] = json.dumps(data).encode("utf-8", "replace")
    return f"{name} {kind} {'.'.join(map(str, path))}"


def changed_history(files: dict[str, bytes], rng: Random) -> str:
    """A line of the history is an odd value."""
    lines = files["run/history.jsonl"].splitlines()
    lines[rng.randrange(len(lines))] = json.dumps(odd.plain(rng)).encode("utf-8", "replace")
    files["run/history.jsonl"] = b"\n".join(lines) + b"\n"
    return "run/history.jsonl has an odd line"


def _weights(files: dict[str, bytes], rng: Random) -> str:
    return changed_tensors(files, rng, MODEL)


def changed_tensors(files: dict[str, bytes], rng: Random, name: str) -> str:
    """A number of a file of tensors is another one, or none."""
    data = bytearray(files[name])
    start = 8 + struct.unpack("<Q", data[:8])[0]
    at = start + 4 * rng.randrange((len(data) - start) // 4)
    new = struct.pack("<f", rng.choice((float("nan"), float("inf"), 3.25)))
    data[at : at + 4] = new if data[at : at + 4] != new else b"\x01\x02\x03\x04"
    files[name] = bytes(data)
    return f"{name} has another number"


def _damaged(files: dict[str, bytes], rng: Random) -> str:
    return damaged_file(files, rng, rng.choice([n for n in files if n.startswith("run/")]))


def damaged_file(files: dict[str, bytes], rng: Random, name: str) -> str:
    """The bytes of a file are damaged."""
    before = files[name]
    files[name], kind = damaged(before, rng)
    return f"{name}: {kind}" if files[name] != before else "nothing"


def _missing(files: dict[str, bytes], rng: Random) -> str:
    name = rng.choice([*files])
    del files[name]
    return f"no {name}"


def _nothing(files: dict[str, bytes], rng: Random) -> str:
    return "nothing"


def _unchanged(printed: str) -> Callable[[Sequence[Answer]], Iterator[str]]:
    """Whatever is answered is what the undamaged run answers."""

    def found(answers: Sequence[Answer]) -> Iterator[str]:
        if answers[-1].code == 0 and answers[-1].out != printed and not answers[-1].terminal:
            yield "a damaged run predicts something else"

    return found


def _refused(answers: Sequence[Answer]) -> Iterator[str]:
    if answers[-1].code == 0:
        yield "a model that is not as the run wrote it is used"
