"""What a run says about itself: the data it was on, and the versions that computed it."""

import platform
import subprocess
from pathlib import Path
from typing import Any

import numpy
import torch

import diffmg
from diffmg.core.run import Data
from diffmg.graph.fingerprint import canonical_order, fingerprint, graph_digests
from diffmg.tasks.problem import Problem


def data_of(problem: Problem) -> Data:
    """Hashes of each part of a problem, the same for any order of rows, and what a person wants to know of it."""
    graph, task = problem.graph, problem.task
    digests = graph_digests(graph) | task.digests(canonical_order(graph))
    facts: dict[str, Any] = {
        "nodes": dict(graph.num_nodes),
        "edges": {str(r): int(matrix.nnz) for r, matrix in graph.adjacency.items()},
        "labels": task.counts(),
    }
    whole = fingerprint(*sorted(digests.items()))
    return Data(task.kind, task.metric, task.target_types, whole, digests, facts)


def differences(fitted: Data, found: Data) -> list[str]:
    """What of the data is not as it was, in words."""
    before, now = fitted.digests, found.digests
    told = [f"{name} is not there any more" for name in before if name not in now]
    told += [f"{name} is new" for name in now if name not in before]
    for name in before:
        if name in now and before[name] != now[name]:
            old, new = (digests[name].partition(" #")[0] for digests in (before, now))
            told.append(f"{name}: was {old!r}, is {new!r}" if old != new else f"{name}: {old}, but other content")
    return told


def versions() -> dict[str, str | None]:
    """Versions of what computes, and the commit where the package runs from its repository, with a word on changes."""
    return {
        "diffmg": diffmg.__version__,
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "python": platform.python_version(),
        "commit": _commit(),
    }


def _commit() -> str | None:
    here = Path(diffmg.__file__)
    git = ["git", "-C", str(here.parent)]
    try:
        subprocess.run([*git, "ls-files", "--error-unmatch", here.name], check=True, capture_output=True)
        found = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
        changes = subprocess.run([*git, "status", "--porcelain", "--", "."], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip() + (" with changes" if changes.stdout.strip() else "")
