"""The endpoints of one model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import Response

from diffmg.serve import bodies
from diffmg.serve.replies import Json, Page
from diffmg.serve.report_page import live_policy, model_page
from diffmg.serve.service import Given, Plain, Service
from diffmg.serve.work import Until, Work

ERRORS = {
    404: "An id that is not in the data.",
    409: "The model has no such answer.",
    413: "The request is too large.",
    422: "The request does not fit the description, or asks for too much.",
    503: "Too many requests wait, or the answer takes too long.",
}
PICTURES = {"svg": "image/svg+xml"}


class Routes:
    """Answers of a model: quick ones and explanations each wait for threads of their own."""

    def __init__(self, service: Service, quick: Work, slow: Work) -> None:
        self.service, self.quick, self.slow = service, quick, slow
        self.page = model_page(service)

    async def predict(self, body: bodies.Asked) -> Response:
        """Predict these ids: the class with probabilities, or the numbers."""
        return await self._predicted(body.ids)

    async def predict_by_query(self, ids: bodies.QueryIds) -> Response:
        """Predict these ids: the class with probabilities, or the numbers."""
        return await self._predicted(ids)

    async def recommend(self, body: bodies.AskedItems) -> Response:
        """Recommend the best items to these users."""
        return await self._recommended(body.ids, body.k, body.items, body.exclude_seen, body.why)

    async def recommend_by_query(
        self,
        ids: bodies.QueryIds,
        k: int = 10,
        items: bodies.AllowedItems = None,
        exclude_seen: bool = True,
        why: bool = False,
    ) -> Response:
        """Recommend the best items to these users."""
        return await self._recommended(ids, k, items, exclude_seen, why)

    async def explain(self, body: bodies.AskedReasons) -> Response:
        """Explain answers by meta paths and source nodes."""
        return await self._explained(body.ids, body.items, body.sources, body.paths)

    async def explain_by_query(
        self, ids: bodies.QueryIds, items: bodies.QueryItems = None, sources: int = 5, paths: int = 20
    ) -> Response:
        """Explain answers by meta paths and source nodes."""
        return await self._explained(ids, items, sources, paths)

    async def metagraph(self, form: bodies.Kind = "json", view: bodies.View = "meaning") -> Response:
        """The meta graph: as JSON, or drawn."""
        found = await self.quick.run(lambda _: self.service.metagraph(form, view))
        if form == "json":
            return Json(found)
        return Response(found["drawing"], media_type=PICTURES.get(form, "text/plain"))

    async def report(self) -> Response:
        """The report of the run, with a box to ask the model."""
        return Page(self.page, policy=live_policy())

    async def _predicted(self, ids: Given) -> Response:
        return await _json(self.quick, lambda until: self.service.predict(ids, until))

    async def _recommended(self, ids: Given, k: int, items: Given | None, exclude_seen: bool, why: bool) -> Response:
        def answer(until: Until) -> Plain:
            return self.service.recommend(ids, k, items, exclude_seen=exclude_seen, why=why, until=until)

        return await _json(self.slow if why else self.quick, answer)

    async def _explained(self, ids: Given, items: Given | None, sources: int, paths: int) -> Response:
        return await _json(self.slow, lambda until: self.service.explain(ids, items, sources, paths, until))


async def _json(work: Work, function: Callable[[Until], Plain]) -> Response:
    """The reply is written in the thread, too."""
    return await work.run(lambda until: Json(function(until)))


def router_of(routes: Routes, prefix: str) -> APIRouter:
    """The endpoints below a prefix."""
    router = APIRouter(
        prefix=prefix, responses={n: {"model": bodies.Problem, "description": d} for n, d in ERRORS.items()}
    )
    answered: dict[str, tuple[Callable[..., Any], Callable[..., Any], type[BaseModel]]] = {
        "/predict": (routes.predict, routes.predict_by_query, bodies.Rows),
        "/recommend": (routes.recommend, routes.recommend_by_query, bodies.Rows),
        "/explain": (routes.explain, routes.explain_by_query, bodies.Explanations),
    }
    for path, (post, get, reply) in answered.items():
        for method, function in (("POST", post), ("GET", get)):
            router.add_api_route(
                path,
                function,
                methods=[method],
                response_class=Json,
                responses={200: {"model": reply, "description": "The answers."}},
            )
    router.add_api_route(
        "/metagraph", routes.metagraph, methods=["GET"], response_class=Response, response_description="The meta graph."
    )
    router.add_api_route(
        "" if prefix else "/", routes.report, methods=["GET"], response_class=Page, include_in_schema=False
    )
    return router
