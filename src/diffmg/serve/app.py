"""The applications: one for models, one for a folder of runs. Any ASGI server can run them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from diffmg import __version__
from diffmg.core import DiffmgError
from diffmg.serve.front import Front
from diffmg.serve.limits import Limits
from diffmg.serve.metrics import TYPE, Metrics
from diffmg.serve.pages import endpoints_page, models_page
from diffmg.serve.refused import RefusedError
from diffmg.serve.replies import Json, Page, refusal
from diffmg.serve.routes import Routes, router_of
from diffmg.serve.run_routes import RunRoutes, runs_router
from diffmg.serve.service import Service
from diffmg.serve.shelf import Shelf
from diffmg.serve.work import Work

LOCAL = ("localhost", "127.0.0.1", "[::1]")
"""The names of this machine, the only ones that a server on the loopback answers to."""


def models_app(services: Sequence[Service], limits: Limits, hosts: Sequence[str] = LOCAL) -> FastAPI:
    """Endpoints of each model below `/models/NAME`; those of a single one at the root, too."""
    quick = Work(limits.threads, limits.waiting, limits.seconds)
    slow = Work(1, limits.waiting, limits.seconds)
    app = _app([quick, slow], limits, hosts, {"models": [service.about() for service in services]})
    several = len(services) > 1
    for service in services:
        routes = Routes(service, quick, slow)
        if not several:
            app.include_router(router_of(routes, ""))
        app.include_router(router_of(routes, f"/models/{service.name}"), include_in_schema=several)
    if several:
        _add_page(app, "/", models_page(services))
    _add_page(app, "/docs", endpoints_page(app.openapi()))
    return app


def runs_app(shelf: Shelf, limits: Limits, hosts: Sequence[str] = LOCAL) -> FastAPI:
    """The table of runs, their reports, and comparisons."""
    work = Work(limits.threads, limits.waiting, limits.seconds)
    app = _app([work], limits, hosts, {"folder": shelf.folder.name})
    app.include_router(runs_router(RunRoutes(shelf, work)))
    _add_page(app, "/docs", endpoints_page(app.openapi()))
    return app


def _app(works: Sequence[Work], limits: Limits, hosts: Sequence[str], about: Mapping[str, object]) -> FastAPI:
    """What both have: health, metrics, limits, and errors that say why."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        for work in works:
            work.close()

    metrics = Metrics()
    app = FastAPI(
        title="diffmg", version=__version__, docs_url=None, redoc_url=None, lifespan=life, redirect_slashes=False
    )
    app.add_middleware(Front, limits=limits, metrics=metrics, hosts=hosts)

    async def health() -> Response:
        """Whether the server answers, and what it serves."""
        return Json({"status": "ok", "version": __version__, **about})

    async def counted() -> Response:
        """Requests, errors and times by endpoint, for Prometheus."""
        return Response(metrics.text(), headers={"Content-Type": TYPE})

    app.add_api_route("/health", health, methods=["GET"], response_class=Json)
    app.add_api_route("/metrics", counted, methods=["GET"], response_class=Response)
    _add_errors(app)
    return app


def _add_page(app: FastAPI, path: str, html: str) -> None:
    async def page() -> Response:
        return Page(html)

    app.add_api_route(path, page, methods=["GET"], response_class=Page, include_in_schema=False)


def _add_errors(app: FastAPI) -> None:
    """Every error has a reason under `error`."""

    async def refused(request: Request, error: Exception) -> Response:
        return refusal(request, error.status if isinstance(error, RefusedError) else 422, str(error))

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException), "registered for these"
        reply = refusal(
            request, error.status_code, f"{error.detail}: {request.method} {request.url.path[:200]}; see /docs"
        )
        reply.headers.update(error.headers or {})
        return reply

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError), "registered for these"
        return refusal(request, 422, _reason(error))

    async def fault(request: Request, _: Exception) -> Response:
        return refusal(request, 500, "this is a fault of the server, whose log tells more; please report it")

    for kind, handler in {DiffmgError: refused, HTTPException: http, RequestValidationError: invalid}.items():
        app.add_exception_handler(kind, handler)
    app.add_exception_handler(Exception, fault)


def _reason(error: RequestValidationError) -> str:
    """The first rules that a request breaks; what was sent is not repeated."""
    told = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:3]]
    return f"a request must fit its description, but got {'; '.join(told)[:500]}; see /docs"
