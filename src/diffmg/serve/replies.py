"""Replies: JSON, pages, and reasons for a refusal."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from diffmg.core.jsonable import jsonable
from diffmg.viz.report.document import POLICY, document

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
}
"""Of every reply that does not say otherwise."""


class Json(Response):
    """Plain values in ASCII, so that any text of the data, lone surrogates too, can be sent."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """As bytes."""
        return json.dumps(jsonable(content), allow_nan=False).encode("ascii")


class Page(Response):
    """HTML that nobody may put into a frame; its policy is also a header."""

    media_type = "text/html"

    def __init__(self, html: str, status_code: int = 200, policy: str = POLICY) -> None:
        headers = {"Content-Security-Policy": f"{policy}; frame-ancestors 'none'"}
        super().__init__(html.encode("utf-8", "replace"), status_code, headers)


def refusal(request: Request, status: int, reason: str) -> Response:
    """A reason, as a page for a person with a browser, else as JSON."""
    if "text/html" in request.headers.get("accept", ""):
        return Page(
            document("This cannot be shown", reason, [], extra='<p><a href="/">to the first page</a></p>'), status
        )
    return Json({"error": reason}, status, _headers(status))


def _headers(status: int) -> dict[str, str]:
    return {"Retry-After": "1"} if status == 503 else {}
