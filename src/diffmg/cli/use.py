"""Commands that use a run: score, predict, recommend."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from diffmg.cli import common
from diffmg.cli.common import console, say

if TYPE_CHECKING:
    from diffmg.estimators import MetaGraphClassifier, MetaGraphRecommender

OutFile = Annotated[Path | None, typer.Option("--out", help="CSV file to write.", show_default="print")]
Ids = Annotated[list[str] | None, typer.Option("--id", help="Only this node; may be repeated.", show_default="all")]


def score(run: common.RunPath, data_root: common.DataRoot = None) -> None:
    """Score the model of a run on the test part again."""
    from diffmg.runs.runner import score_on_test

    outcome = _load(run, data_root).outcome_
    table = Table("score", "test", title="scores of the kept model", title_justify="left")
    for name, value in score_on_test(outcome.problem, outcome.outputs()).items():
        table.add_row(name, f"{value:.4f}")
    console.print(table)


def predict(run: common.RunPath, out: OutFile = None, node: Ids = None, data_root: common.DataRoot = None) -> None:
    """Predict the class of every node of the target type, with probabilities."""
    import numpy as np

    from diffmg.core.errors import DiffmgError
    from diffmg.estimators import MetaGraphClassifier

    model = _load(run, data_root)
    if not isinstance(model, MetaGraphClassifier):
        raise DiffmgError(
            f"`predict` is for classification, but got a run of a recommendation: {str(run)!r}; use `recommend`"
        )
    task = model.outcome_.problem.task
    graph, target = model.outcome_.problem.graph, task.target_types[0]
    ids = graph.ids_of(target) if node is None else _as_ids(node, graph.ids_of(target))
    predicted, probabilities = model.predict(ids), model.predict_proba(ids)
    if predicted.ndim == 2:
        predicted = np.array([" ".join(map(str, model.classes_[row > 0])) for row in predicted])
    rows = ([i, c, *(f"{p:.6f}" for p in row)] for i, c, row in zip(ids, predicted, probabilities, strict=True))
    _write(out, [target, "class", *(f"p({c})" for c in model.classes_)], rows)


def recommend(
    run: common.RunPath,
    user: Annotated[
        list[str] | None, typer.Option("--id", help="Only this user; may be repeated.", show_default="all")
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Items per user.")] = 10,
    exclude_seen: Annotated[bool, typer.Option(help="Leave out what a user is known to have chosen.")] = True,
    out: OutFile = None,
    data_root: common.DataRoot = None,
) -> None:
    """Recommend the best items to each user."""
    from diffmg.core.errors import DiffmgError
    from diffmg.estimators import MetaGraphRecommender

    model = _load(run, data_root)
    if not isinstance(model, MetaGraphRecommender):
        raise DiffmgError(
            f"`recommend` is for recommendation, but got a run of a classification: {str(run)!r}; use `predict`"
        )
    graph, (user_type, item_type) = model.outcome_.problem.graph, model.outcome_.problem.task.target_types
    ids = graph.ids_of(user_type) if user is None else _as_ids(user, graph.ids_of(user_type))
    items, scores = model.recommend(ids, k, exclude_seen=exclude_seen)
    rows = (
        [u, rank + 1, item, f"{value:.6f}"]
        for u, row, values in zip(ids, items, scores, strict=True)
        for rank, (item, value) in enumerate(zip(row, values, strict=True))
        if value > float("-inf")
    )
    _write(out, [user_type, "rank", item_type, "score"], rows)


def _load(run: Path, data_root: Path | None) -> MetaGraphClassifier | MetaGraphRecommender:
    from diffmg.core.errors import DiffmgError
    from diffmg.core.plan import Plan
    from diffmg.core.run import read_run
    from diffmg.estimators import MetaGraphClassifier, MetaGraphRecommender
    from diffmg.runs.sources import open_problem
    from diffmg.tasks import NodeClassification, Recommendation

    plan = Plan.from_dict(read_run(run).plan)
    if not plan.data:
        raise DiffmgError(
            f"the run's network must be a data set, but got one given in Python: {str(run)!r}; load it there"
        )
    problem = open_problem(plan.data, root=data_root, seed=plan.data_seed, options=plan.data_options)
    if isinstance(problem.task, NodeClassification):
        return MetaGraphClassifier.load(run, problem.graph, problem.task)
    assert isinstance(problem.task, Recommendation)
    return MetaGraphRecommender.load(run, problem.graph, problem.task)


def _as_ids(texts: list[str], known: Any) -> Any:
    """Ids as the network has them: numbers where its ids are numbers."""
    import numpy as np

    try:
        return np.asarray(texts).astype(known.dtype if known.dtype.kind in "iu" else str)
    except (ValueError, OverflowError):
        return np.asarray(texts)


def _write(out: Path | None, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    from diffmg.core.files import write_text

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    if out is None:
        typer.echo(text.getvalue(), nl=False)
    else:
        write_text(out, text.getvalue())
        say(f"written to {out}")
