"""What each model of a run says of every test example, kept in a file of its own: no labels are read here.

For classes, one character a node: its predicted class. For pairs, one byte a pair, in base64: the rank of its score
among all, in 256 steps, which is all that AUC depends on.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from diffmg.core.run import Run
from diffmg.runs.folder import SINGLE
from diffmg.runs.model import Model
from diffmg.tasks.problem import Problem
from experiments.jsonl import read_lines, write_lines
from experiments.results import Key

VOTES = "votes.jsonl"
MOST = 200_000
"""The most characters that are kept of a model."""
CLASSES = "0123456789abcdefghijklmnopqrstuvwxyz"
ENSEMBLE, ONE = "ensemble", "single"
Votes = Mapping[str, str]
"""By model, `ensemble` or `single`; a model whose votes are too many has none."""
Decided = NDArray[np.uint8]
"""A class per node, or a rank per pair."""


def votes_of(done: Run, folder: Path, problem: Problem) -> dict[str, str]:
    """The votes of the models in a run folder; of an ensemble of pairs without those of the single model."""
    used = ENSEMBLE if done.single is not None else ONE
    files = {used: folder}
    if done.single is not None and len(problem.task.target_types) == 1:
        files[ONE] = folder / SINGLE
    found = {name: _votes(Model.load(path, problem)) for name, path in files.items()}
    return {name: text for name, text in found.items() if text}


def _votes(model: Model) -> str:
    votes = model.problem.task.votes(model.outputs, "test")
    text = _classes(votes) if votes.ndim == 2 else _ranks(votes)
    return text if len(text) <= MOST else ""


def _classes(votes: Tensor) -> str:
    """Of more classes than there are characters: nothing."""
    if votes.shape[1] > len(CLASSES):
        return ""
    return "".join(CLASSES[number] for number in votes.argmax(dim=1).tolist())


def _ranks(votes: Tensor) -> str:
    scores = votes.detach().double().numpy(force=True)
    ordered = np.sort(scores)
    middle = (np.searchsorted(ordered, scores, "left") + np.searchsorted(ordered, scores, "right")) / 2
    return base64.b64encode((255.999 * middle / max(len(scores), 1)).astype(np.uint8).tobytes()).decode()


def decided(text: str, classes: bool) -> Decided:
    """What was kept, as numbers."""
    if classes:
        return np.array([CLASSES.index(letter) for letter in text], np.uint8)
    return np.frombuffer(base64.b64decode(text), np.uint8)


def read_votes(folder: Path) -> dict[Key, Votes]:
    """All votes of a folder of results."""
    found = {}
    for line in read_lines(folder / VOTES):
        found[Key(**{name: line[name] for name in Key._fields})] = line["votes"]
    return found


def add_votes(folder: Path, more: Mapping[Key, Votes]) -> None:
    """Add votes to the file, in place of earlier ones of the same runs."""
    found = read_votes(folder) | {key: votes for key, votes in more.items() if votes}
    if found:
        write_lines(folder / VOTES, ({**key._asdict(), "votes": dict(votes)} for key, votes in sorted(found.items())))
