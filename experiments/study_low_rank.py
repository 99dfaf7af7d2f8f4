"""EASE of low rank beside the exact solution, on a network split anew for ranking."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from diffmg.core.settings import Settings
from diffmg.methods.baselines.ease import RANKS, Ease
from diffmg.tasks.problem import Problem
from diffmg.training.training import outputs_of
from experiments.ranking import ranking_of
from experiments.study_subject import Line, Subject
from experiments.tables import Sheet
from experiments.trained import number


def measure_low_rank(subject: Subject) -> list[Sheet]:
    """The score on validation of the exact solution and of every rank, all with the same penalty."""
    problem = ranking_of(subject.problem)
    lines = []
    for rank in (None, *RANKS):
        key = {"what": "low_rank", "rank": rank, "l2": Ease().l2}
        lines.append(subject.once(key, partial(_measured, problem, rank)))
    return [low_rank_sheet(lines)]


def _measured(problem: Problem, rank: int | None) -> Line:
    network = Ease(rank=rank).network(problem, Settings(), 0)
    begun = time.perf_counter()
    network.fit(problem, 0)  # type: ignore[operator]
    fitted = time.perf_counter()
    score = float(problem.task.evaluate(outputs_of(network, problem), "val")[1])
    seconds = {"fit": round(fitted - begun, 2), "rank": round(time.perf_counter() - fitted, 2)}
    size = sum(t.numel() * t.element_size() for t in network.state_dict().values())
    shape = [problem.graph.num_nodes[t] for t in problem.task.target_types]
    return {"score": number(score), "seconds": seconds, "bytes": size, "shape": shape}


def low_rank_sheet(lines: Sequence[Line]) -> Sheet:
    """A row per data set and rank; seconds beside those of the exact solution, from the same machine."""
    exact = {line["data"]: line for line in lines if line["rank"] is None}
    rows = []
    for line in lines:
        users, items = line["shape"]
        times = [_ratio(exact.get(line["data"]), line, name) for name in ("fit", "rank")]
        name = f"{line['data']}, {'exact' if line['rank'] is None else 'rank ' + str(line['rank'])}"
        rows.append((name, str(users), str(items), f"{100 * line['score']:.2f}", *times, f"{line['bytes'] / 1e6:.0f}"))
    heads = ("data set, solution", "users", "items", "ndcg@20", "fit, times faster", "rank, times faster", "MB")
    notes = ("validation, in percent; penalty as by default; MB: size of the model",)
    return Sheet("EASE of low rank beside the exact solution", heads, tuple(rows), notes)


def _ratio(exact: Line | None, line: Line, name: str) -> str:
    return "-" if exact is None or exact is line else f"{exact['seconds'][name] / max(line['seconds'][name], 1e-3):.1f}"
