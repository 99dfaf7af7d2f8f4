"""A web server on this machine, in a thread, that answers well or badly as a test asks for."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


@dataclass
class Site:
    """Files by path, and what goes wrong with the next answers, one fault each."""

    files: Mapping[str, bytes]
    faults: list[str] = field(default_factory=list)
    """`cut`: half of the answer; `stall`: the same, and then nothing for a long time; `slow`: nothing for a long time;
    `drop`: nothing; `whole`: ranges are ignored; `shift`: another range; `nameless`: no length; a number: a status."""
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    """Path and range of each request."""
    over: threading.Event = field(default_factory=threading.Event)
    base: str = ""


class Answers(BaseHTTPRequestHandler):
    """Sends what the site has."""

    site: Site

    def do_GET(self) -> None:
        site, path = self.site, unquote(self.path).lstrip("/")
        span = self.headers.get("Range")
        site.asked.append((path, span))
        fault = site.faults.pop(0) if site.faults else ""
        if fault == "slow":
            site.over.wait(5)
        if fault in ("slow", "drop"):
            return
        if fault.isdigit() or path not in site.files:
            self.answer(int(fault or 404), b"")
            return
        start = 0 if span is None or fault == "whole" else int(re.fullmatch(r"bytes=(\d+)-", span)[1])
        if start and start >= len(site.files[path]):
            self.answer(416, b"")
            return
        self.answer(206 if start else 200, site.files[path][start:], start, fault)

    def answer(self, status: int, body: bytes, start: int = 0, fault: str = "") -> None:
        self.send_response(status)
        if fault != "nameless":
            self.send_header("Content-Length", str(len(body)))
        if status == 206:
            first = start + (fault == "shift")
            self.send_header("Content-Range", f"bytes {first}-{start + len(body) - 1}/{start + len(body)}")
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if fault in ("cut", "stall") else body)
        if fault == "stall":
            self.wfile.flush()
            self.site.over.wait(5)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that went away is no news."""


@contextmanager
def serve(files: Mapping[str, bytes]) -> Iterator[Site]:
    """A site on a free port of the loopback."""
    site = Site(files)
    with Server(("127.0.0.1", 0), type("Bound", (Answers,), {"site": site})) as server:
        site.base = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            site.over.set()
            server.shutdown()
            thread.join(5)
