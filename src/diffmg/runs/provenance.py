"""Provenance of a run: hashes of its data, and the versions of the software."""

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
    """Hashes of each part of a problem, independent of the order of rows, and a summary for readers."""
    graph, task = problem.graph, problem.task
    digests = graph_digests(graph) | task.digests(canonical_order(graph))
    facts: dict[str, Any] = {
        "nodes": dict(graph.num_nodes),
        "edges": {str(r): int(matrix.nnz) for r, matrix in graph.adjacency.items()},
        "labels": task.counts(),
    }
    total = fingerprint(*sorted(digests.items()))
    return Data(task.kind, task.metric, task.target_types, total, digests, facts)


def differences(fitted: Data, found: Data) -> list[str]:
    """Messages about what changed in the data since the fit."""
    before, now = fitted.digests, found.digests
    changes = [f"{name} is not there any more" for name in before if name not in now]
    changes += [f"{name} is new" for name in now if name not in before]
    for name in before:
        if name in now and before[name] != now[name]:
            old, new = (digests[name].partition(" #")[0] for digests in (before, now))
            changes.append(f"{name}: was {old!r}, is {new!r}" if old != new else f"{name}: {old}, but other content")
    return changes


def versions() -> dict[str, str | None]:
    """Software versions, and the commit (marked if modified) when the package runs from its repository."""
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
