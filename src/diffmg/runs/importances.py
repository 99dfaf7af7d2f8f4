"""The importances of meta paths as a part of a run."""

from __future__ import annotations

import time
from dataclasses import replace

from torch import nn

from diffmg.core import DiffmgError, Method, Run
from diffmg.explain import path_importances
from diffmg.tasks.problem import Problem

PHASE = "importances"


def with_importances(run: Run, method: Method, network: nn.Module, problem: Problem) -> Run:
    """The run with what the meta paths of its model are worth; with a note where that would take too much."""
    start = time.perf_counter()
    try:
        run = replace(run, importances=path_importances(method, network, problem))
    except DiffmgError as error:
        run = replace(run, notes=(*run.notes, f"importances of meta paths are left out: {error}"))
    return replace(run, seconds={**run.seconds, PHASE: time.perf_counter() - start})
