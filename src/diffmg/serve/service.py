"""One model that answers requests. Its outputs are computed when the server starts; nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from diffmg.core import DiffmgError, Run, read_run
from diffmg.core.importance import Contribution, Explanation, path_names
from diffmg.core.jsonable import jsonable
from diffmg.core.run import metagraphs_to_dict
from diffmg.runs.explain import has_paths
from diffmg.runs.folder import SINGLE
from diffmg.runs.model import Model
from diffmg.serve.ids import KnownIds
from diffmg.serve.limits import Limits, check_count
from diffmg.serve.recommending import Recommending
from diffmg.serve.refused import RefusedError
from diffmg.serve.work import Until
from diffmg.tasks.answers import free_names
from diffmg.viz import draw_all

Given = Sequence[int | str]
Plain = dict[str, Any]
SINGLE_NOTE = "no model of the ensemble that answers has a meta graph: this is the best single model"


class Service:
    """The answers of one model, as plain values for JSON."""

    def __init__(self, name: str, model: Model, path: Path, limits: Limits) -> None:
        """`path`: the run folder, or the model file."""
        self.name, self.model, self.path, self.limits = name, model, path, limits
        self.run: Run | None = read_run(path) if path.is_dir() else None
        self.types = model.problem.task.target_types
        self.verb = model.task.verb
        self._ids = {t: KnownIds(t, model.problem.graph.ids_of(t)) for t in self.types}
        self._explained = _explained(model, path)
        self._note = "" if self._explained is model else SINGLE_NOTE
        self._recommending = Recommending(model) if self.verb == "recommend" else None
        model.answers(self._ids[self.types[0]].known[:1])  # computes and keeps what every request needs

    def predict(self, ids: Given, until: Until) -> Plain:  # noqa: ARG002
        """The class with probabilities, or the numbers, of each id."""
        self._check_verb("predict")
        check_count("number of ids", len(ids), self.limits.batch)
        return {"rows": rows_of(self.model.answers(self._ids[self.types[0]].find(ids)))}

    def recommend(
        self, ids: Given, k: int, items: Given | None, *, exclude_seen: bool, why: bool, until: Until
    ) -> Plain:
        """The k best items of each user, if asked with a reason each."""
        self._check_verb("recommend")
        self._check_size(ids, k, items, why=why)
        users = self._ids[self.types[0]].find(ids)
        allowed = None if items is None else self._ids[self.types[1]].find(items)
        assert self._recommending is not None, "checked above"
        found = self._recommending.answers(users, k, allowed, exclude_seen=exclude_seen)
        until.check()
        return {"rows": rows_of(found)} if not why else {"rows": self._with_reasons(found, until)}

    def explain(self, ids: Given, items: Given | None, sources: int, paths: int, until: Until) -> Plain:
        """Where each answer comes from; of a recommendation for pairs (id, item), each by both towers."""
        check_count("number of ids", len(ids), self.limits.explained)
        if not 0 <= sources <= self.limits.batch or not 1 <= paths <= self.limits.batch:
            most = self.limits.batch
            raise RefusedError(
                422, f"`0 <= sources <= {most}, 1 <= paths <= {most}` must hold, but got {sources}, {paths}"
            )
        found: list[Explanation] = []
        for one in self._asked(ids, items):
            until.check()
            found += self._split([one], sources)
        return {"explanations": [told(each, paths, self._note) for each in found]}

    def metagraph(self, form: str, view: str) -> Plain:
        """The meta graphs, and in a format other than `json` their drawing."""
        shown = self.model.metagraphs or (self.run.metagraphs if self.run else ())
        if not shown:
            raise RefusedError(409, f"only a method with a meta graph has a picture, but got {self.method!r}")
        plain = metagraphs_to_dict(shown)
        if form == "json":
            return plain
        return plain | {"drawing": draw_all(shown, form, view, self.run.importances if self.run else ())}

    def about(self) -> Plain:
        """What it is, for the list of models."""
        recipe = self.model.recipe
        data = {"task": recipe.data.task, "target_types": list(self.types), "method": self.method}
        counts = {t: len(self._ids[t].known) for t in self.types}
        scores = {part: dict(self.run.scores(part)) for part in ("val", "test")} if self.run else {}
        return {"name": self.name, "verb": self.verb, **data, "nodes": counts, "scores": jsonable(scores)}

    @property
    def method(self) -> str:
        """The method that fitted it."""
        return self.run.plan.method.name if self.run else self.model.recipe.method.name

    def examples(self, place: int = 0) -> list[str]:
        """A few ids of a target type, if it is small."""
        return self._ids[self.types[place]].examples

    def _check_verb(self, verb: str) -> None:
        if verb != self.verb:
            kind = self.model.task.kind
            raise RefusedError(409, f"/{verb} is not for {kind}, but got the model {self.name!r}; use /{self.verb}")

    def _check_size(self, ids: Given, k: int, items: Given | None, *, why: bool) -> None:
        check_count("number of ids", len(ids), self.limits.batch)
        check_count("k", k, self.limits.k)
        if why:
            check_count("number of ids times k, with reasons", len(ids) * k, self.limits.explained)
        if items is not None:
            check_count("number of items", len(items), self.limits.batch)

    def _asked(self, ids: Given, items: Given | None) -> list[Any]:
        """Ids, or pairs."""
        first: list[Any] = self._ids[self.types[0]].find(ids).tolist()
        if len(self.types) == 1:
            if items is not None:
                raise RefusedError(422, f"items are for pairs, but got a model of {self.types[0]}; leave them out")
            return first
        if items is None or len(items) != len(ids):
            count = 0 if items is None else len(items)
            raise RefusedError(
                422,
                f"a score is explained for a {self.types[0]} and a {self.types[1]}, but got {len(ids)} ids and "
                f"{count} items; give one item for each id",
            )
        return list(zip(first, self._ids[self.types[1]].find(items).tolist(), strict=True))

    def _split(self, asked: list[Any], sources: int) -> list[Explanation]:
        try:
            return self._explained.explain(asked, sources)
        except DiffmgError as error:
            raise RefusedError(409, str(error)) from error

    def _with_reasons(self, found: Any, until: Until) -> list[Plain]:
        from diffmg.runs.reasons import reason

        rows, (why,) = rows_of(found), free_names(("why",), found.columns)
        pairs = zip(*(found[t].tolist() for t in self.types), strict=True)
        for row, pair in zip(rows, pairs, strict=True):
            until.check()
            row[why] = reason(self._split([pair], 1))
        return rows


def rows_of(found: Any) -> list[Plain]:
    """A row an answer, by column."""
    return [dict(zip(found.columns, jsonable(row), strict=True)) for row in found.rows()]


def told(each: Explanation, paths: int, note: str = "") -> Plain:
    """An explanation with its largest contributions; the others are summed up. `note` is added to its own."""
    kept, others = each.contributions[:paths], each.contributions[paths:]
    plain = jsonable({"target": each.target, "id": each.id, "answer": each.answer})
    plain["note"] = "; ".join(filter(None, [note, each.note]))
    plain["contributions"] = [_contribution(c, each.target) for c in kept]
    plain["others"] = {"count": len(others), "share": sum(c.share for c in others)}
    return jsonable(plain)  # type: ignore[no-any-return]  # a dict


def _contribution(one: Contribution, target: str) -> Plain:
    return jsonable(one) | {"words": one.words(target), "relations": path_names(one.path)}  # type: ignore[no-any-return]


def _explained(model: Model, path: Path) -> Model:
    """The model that explains: of an ensemble without any meta graph, the single model of the race."""
    single = path / SINGLE
    if has_paths(model) or not single.is_file():
        return model
    try:
        return Model.load(single, model.problem)
    except DiffmgError:  # newer data than it was fitted on: `explain` says that there is no meta graph
        return model
