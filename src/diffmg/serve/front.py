"""What every request passes first: its host and its size are checked, and it is counted and timed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from diffmg.serve.limits import Limits
from diffmg.serve.metrics import Metrics
from diffmg.serve.refused import RefusedError
from diffmg.serve.replies import HEADERS, refusal

OTHER = "other"
"""The endpoint of requests that fit none."""


class Front:
    """ASGI middleware. Hosts are names that a browser may use; with none given, any."""

    def __init__(self, app: ASGIApp, limits: Limits, metrics: Metrics, hosts: Sequence[str]) -> None:
        self.app, self.limits, self.metrics, self.hosts = app, limits, metrics, frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, reply = time.perf_counter(), _Reply(send)
        try:
            await self._pass_on(scope, receive, reply)
        finally:
            route = getattr(scope.get("route"), "path", OTHER)
            self.metrics.note(route, reply.status, time.perf_counter() - start)

    async def _pass_on(self, scope: Scope, receive: Receive, reply: _Reply) -> None:
        try:
            self._check_host(scope)
            body = await self._body(scope, receive)
        except RefusedError as error:
            await refusal(Request(scope), error.status, str(error))(scope, receive, reply)
        else:
            await self.app(scope, _Again(body, receive), reply)

    def _check_host(self, scope: Scope) -> None:
        """A page of another site that gets its name to mean this machine must not read the answers."""
        host = Headers(scope=scope).get("host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if self.hosts and name.lower() not in self.hosts:
            raise RefusedError(
                421, f"this server is asked as {' or '.join(sorted(self.hosts))}, but got {host[:100]!r}"
            )

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body, if it is small enough and comes in time."""
        length = Headers(scope=scope).get("content-length", "")
        if length.isdigit() and int(length[:20]) > self.limits.body:
            raise self._too_large()
        try:
            return await asyncio.wait_for(self._read(receive), self.limits.seconds)
        except TimeoutError as error:
            reason = f"a request must arrive within {self.limits.seconds:g} s, but got only a part of it"
            raise RefusedError(408, reason) from error

    async def _read(self, receive: Receive) -> bytes:
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > self.limits.body:
                raise self._too_large()
            if not message.get("more_body", False):
                return bytes(body)

    def _too_large(self) -> RefusedError:
        return RefusedError(
            413, f"a request may have {self.limits.body} bytes, but got more; ask for fewer ids at a time"
        )


class _Again:
    """Receives a body that was read already."""

    def __init__(self, body: bytes, rest: Receive) -> None:
        self.body: bytes | None = body
        self.rest = rest

    async def __call__(self) -> Message:
        body, self.body = self.body, None
        return await self.rest() if body is None else {"type": "http.request", "body": body, "more_body": False}


class _Reply:
    """Sends, adds headers, and remembers the status."""

    def __init__(self, send: Send) -> None:
        self.send, self.status = send, 500

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await self.send(message)
