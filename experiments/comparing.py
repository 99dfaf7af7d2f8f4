"""Every row of a table beside its first: paired differences on the test part, from votes that were kept.

Only computing them reads test labels, long after every choice. What was computed is kept in a file, so that pages are
made without any data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from diffmg.core.errors import DiffmgError
from diffmg.runs.sources import open_problem
from diffmg.tasks import NodeClassification, Recommendation
from diffmg.tasks.problem import Problem
from experiments.bootstrap import Difference, Truth, difference, drawn_scores
from experiments.jsonl import read_lines, write_lines
from experiments.runner import cell_keys
from experiments.spec import Table
from experiments.votes import ENSEMBLE, ONE, Votes, decided, read_votes

DIFFERENCES = "differences.jsonl"
USED = "used"
"""The model for prediction: the ensemble where there is one, else the single model."""


class Place(NamedTuple):
    """A row on a data set, and which of its models: `used` or `single`."""

    method: str
    data: str
    model: str


Texts = Mapping[Place, tuple[str, ...]]
"""Votes as they are kept, one text per run."""


def compare(table: Table, folder: Path, root: Path | None = None) -> dict[Place, Difference]:
    """Compute and keep the first row's mean score minus that of every other row, where both have votes."""
    texts = texts_of(table, folder)
    found: dict[Place, Difference] = {}
    for data in dict.fromkeys(place.data for place in texts):
        truth = truth_of(open_problem(data, root=root))
        found |= differences({place: t for place, t in texts.items() if place.data == data}, truth, _first(table))
    lines = {_place(line): line for line in read_lines(folder / DIFFERENCES)}
    for place, gap in found.items():
        lines[place] = {**place._asdict(), **asdict(gap), "votes": _mark(texts, place, _first(table))}
    write_lines(folder / DIFFERENCES, (line for _, line in sorted(lines.items())))
    return found


def kept_differences(table: Table, folder: Path) -> dict[Place, Difference]:
    """What was computed from the votes that are there now."""
    lines = {_place(line): line for line in read_lines(folder / DIFFERENCES)}
    texts = texts_of(table, folder) if lines else {}
    return {
        place: Difference(line["value"], line["low"], line["high"])
        for place, line in lines.items()
        if place in texts and line["votes"] == _mark(texts, place, _first(table))
    }


def differences(texts: Texts, truth: Truth, first: str) -> dict[Place, Difference]:
    """Of the rows of one data set, all on the same draws of its test examples."""
    models = [(place, text) for place, several in texts.items() for text in several]
    known = {text: decided(text, truth.classes) for _, text in models}
    for place, text in models:
        if len(known[text]) != len(truth.labels):
            raise DiffmgError(
                f"votes must be on {len(truth.labels)} test examples, but got {len(known[text])} for {place.method} on "
                f"{place.data}; they are of other data: run it again"
            )
    columns = {text: number for number, text in enumerate(known)}
    scores = drawn_scores(list(known.values()), truth)
    each = {place: scores[:, [columns[text] for text in several]] for place, several in texts.items()}
    others = [place for place in each if place.method != first and place._replace(method=first) in each]
    return {place: difference(each[place._replace(method=first)], each[place]) for place in others}


def texts_of(table: Table, folder: Path) -> dict[Place, tuple[str, ...]]:
    """The votes of every row on every data set; a row without votes, or with votes of some runs only, is left out."""
    votes, found = read_votes(folder), {}
    for row, data in table.cells:
        runs = [votes[key] for key in cell_keys(table, row, data) if key in votes]
        for model in (USED, ONE):
            texts = tuple(_text(run, model) for run in runs)
            if texts and all(texts):
                found[Place(row.name, data, model)] = texts
    return found


def truth_of(problem: Problem) -> Truth:
    """The labels of the test part."""
    task = problem.task
    if isinstance(task, NodeClassification) and not task.multilabel:
        return Truth(task.labels[task.parts["test"]].numpy(force=True), classes=True)
    if isinstance(task, Recommendation):
        return Truth(task.parts["test"].labels.numpy(force=True).astype(np.int64), classes=False)
    raise DiffmgError(f"rows are compared on one class a node, or on pairs, but got {task.describe()}")


def _text(votes: Votes, model: str) -> str:
    return votes.get(ENSEMBLE, votes.get(ONE, "")) if model == USED else votes.get(ONE, "")


def _first(table: Table) -> str:
    return table.methods[0].name


def _place(line: Mapping[str, Any]) -> Place:
    return Place(line["method"], line["data"], line["model"])


def _mark(texts: Texts, place: Place, first: str) -> str:
    """A hash of the votes that a difference is computed from."""
    both = (*texts.get(place._replace(method=first), ()), "minus", *texts[place])
    return hashlib.sha256("\n".join(both).encode()).hexdigest()[:16]
