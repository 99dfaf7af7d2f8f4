"""The endpoints of a folder of runs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from diffmg.core.jsonable import jsonable
from diffmg.serve.pages import BACK
from diffmg.serve.replies import Json, Page
from diffmg.serve.runs_page import FORM_POLICY, runs_page
from diffmg.serve.shelf import Shelf, Shelved
from diffmg.serve.work import Work
from diffmg.viz.compare import comparison
from diffmg.viz.page import page
from diffmg.viz.report.words import source_words

MOST = 50
"""Runs that are compared at a time."""
Chosen = Annotated[list[str], Query(alias="run", max_length=MOST, description="The name of a run; may be repeated.")]


class RunRoutes:
    """Pages are made when they are asked for, from the files as they are then."""

    def __init__(self, shelf: Shelf, work: Work) -> None:
        self.shelf, self.work = shelf, work

    async def table(self) -> Response:
        """The runs as a table."""
        html = await self.work.run(lambda _: runs_page(self.shelf.folder.name, self.shelf.all()))
        return Page(html, policy=FORM_POLICY)

    async def listed(self) -> Response:
        """The runs: data, method, scores, when they were written, their status; why a folder is none."""
        return await self.work.run(lambda _: Json({"runs": [_plain(one) for one in self.shelf.all()]}))

    async def report(self, name: str) -> Response:
        """The report of a run."""
        return await self.work.run(lambda _: Page(_report(self.shelf.find(name))))

    async def compare(self, names: Chosen) -> Response:
        """One page on several runs."""
        return await self.work.run(lambda _: Page(self._compared(names)))

    def _compared(self, names: list[str]) -> str:
        found = [self.shelf.find(name) for name in dict.fromkeys(names)]
        return comparison({one.name: one.run for one in found if one.run is not None}, extra=BACK)


def _report(one: Shelved) -> str:
    assert one.run is not None, "found by name"
    return page(one.run, one.path, extra=BACK)


def _plain(one: Shelved) -> dict[str, Any]:
    run = one.run
    if run is None:
        return {"name": one.name, "reason": one.reason}
    scores = {part: dict(run.scores(part)) for part in ("val", "test")}
    error = run.certainty.error if run.certainty else None
    data = {"data": source_words(run), "task": run.data.task, "target_types": run.data.target_types}
    how = {"method": run.plan.method.name, "metric": run.metric, "scores": scores, "standard_error": error}
    return jsonable({"name": one.name, **data, **how, "when": one.when, "status": run.status})  # type: ignore[no-any-return]


def runs_router(routes: RunRoutes) -> APIRouter:
    """The pages, and the list for programs."""
    router = APIRouter()
    router.add_api_route("/runs", routes.listed, methods=["GET"], response_class=Json)
    for path, function in (("/runs/{name}", routes.report), ("/compare", routes.compare)):
        router.add_api_route(path, function, methods=["GET"], response_class=Page)
    router.add_api_route("/", routes.table, methods=["GET"], response_class=Page, include_in_schema=False)
    return router
