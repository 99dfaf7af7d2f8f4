"""Recommendations request by request: what they all need is prepared once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from diffmg.runs.model import Model
from diffmg.tasks.answers import Answers
from diffmg.tasks.two_ends import PairTask, table_of


class Recommending:
    """The same answers as the model's own. It keeps, with and without what users have seen, what finds the best."""

    def __init__(self, model: Model) -> None:
        self.model, task = model, model.problem.task
        self._tops = (
            {seen: task.recommender(model.outputs, exclude_seen=seen) for seen in (True, False)}
            if isinstance(task, PairTask)
            else {}
        )

    def answers(self, users: NDArray[Any], k: int, items: NDArray[Any] | None, *, exclude_seen: bool) -> Answers:
        """The k best items of each user; only of `items`, if they are given."""
        top = self._tops.get(exclude_seen)
        if top is None or items is not None:
            return self.model.answers(users, k=k, exclude_seen=exclude_seen, items=items)
        graph, types = self.model.problem.graph, self.model.problem.task.target_types
        rows = graph.index_of(types[0], users)
        return table_of(graph, types, rows, *replace(top, k=k).of(rows))
