"""Requests that are refused: too large, too many, too long, malformed, from elsewhere. Never with a fault."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diffmg.core.errors import DiffmgError
from diffmg.serve.limits import Limits
from diffmg.serve.service import Service

Serve = Callable[..., TestClient]
JSON = {"content-type": "application/json"}


def reason(reply: object, status: int) -> str:
    assert (reply.status_code, set(reply.json())) == (status, {"error"})
    return reply.json()["error"]


def test_limits_are_options_that_are_checked() -> None:
    with pytest.raises(DiffmgError, match="`batch >= 1` must hold, but got batch=0"):
        Limits(batch=0)


def test_too_much_is_refused_before_any_work(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    client = serve("authors", "shop", batch=3, k=4, explained=2)
    monkeypatch.setattr("diffmg.runs.model.Model.answers", lambda *_, **__: pytest.fail("work was done"))
    monkeypatch.setattr("diffmg.runs.model.Model.explain", lambda *_, **__: pytest.fail("work was done"))
    monkeypatch.setattr("diffmg.tasks.top_items.TopItems.of", lambda *_: pytest.fail("work was done"))
    for path, body in {
        "/models/authors/predict": {"ids": [1, 2, 3, 4]},
        "/models/shop/recommend": {"ids": [1], "k": 5},
        "/models/shop/recommend?why": {"ids": [1], "k": 3, "why": True},
        "/models/shop/recommend?items": {"ids": [1], "items": [1, 2, 3, 4]},
        "/models/authors/explain": {"ids": [1, 2, 3]},
        "/models/authors/explain?sources": {"ids": [1], "sources": 4},
    }.items():
        assert "must hold, but got" in reason(client.post(path, json=body), 422)
    assert "k <= 4` must hold, but got -1" in reason(client.get("/models/shop/recommend?id=1&k=-1"), 422)


def test_a_body_has_so_many_bytes_and_no_more(serve: Serve) -> None:
    client = serve("authors", body=100)
    fits, large = (b'{"ids": [1]}'.ljust(size) for size in (100, 101))
    assert client.post("/predict", content=fits, headers=JSON).status_code == 200
    assert "100 bytes" in reason(client.post("/predict", content=large, headers=JSON), 413)

    def pieces() -> Iterator[bytes]:
        for _ in range(30):
            yield b" " * 10

    assert "100 bytes" in reason(client.post("/predict", content=pieces(), headers=JSON), 413), "without a length"


def test_an_answer_that_takes_too_long_is_refused(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    client = serve("authors", seconds=0.2)
    monkeypatch.setattr(Service, "predict", lambda *_: time.sleep(0.6))
    start = time.monotonic()
    reply = client.get("/predict?id=1")
    assert time.monotonic() - start < 0.55
    assert "within 0.2 s" in reason(reply, 503)
    assert reply.headers["retry-after"] == "1"


def test_unknown_ids_are_not_found_and_near_ones_are_named(serve: Serve) -> None:
    client = serve("authors")
    told = reason(client.post("/predict", json={"ids": [1, "3x", -1]}), 404)
    assert "got '3x', '-1' (2 unknown); ids look like '3'" in told


def test_ids_of_a_large_type_are_not_told(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diffmg.serve.ids.SMALL", 10)
    client = serve("authors")
    assert reason(client.get("/predict?id=3x"), 404).endswith("got '3x' (1 unknown)")
    assert 'class="plain"' not in client.get("/").text


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[1]", b"null", b'"ids"', b"\xff\xfe", b'{"ids": 1}', b'{"ids": []}', b'{"ids": [1.5]}',
        b'{"ids": [NaN]}',
        b'{"ids": [true]}', b'{"ids": [null]}', b'{"ids": [[1]]}', b'{"ids": [1], "more": 2}', b'{"id": [1]}',
        b'{"ids": [' + b"9" * 5000 + b"]}", b'{"ids": ["\\ud800"]}', b'{"ids": ["\\u0000"]}', b"[" * 5000,
        b'{"ids": [' + b"9" * 40 + b"]}", b'{"ids": ["' + b"x" * 5000 + b'"]}', b'{"ids": ["<script>"]}',
    ],
)  # fmt: skip
def test_malformed_bodies_are_refused_with_a_short_reason(body: bytes, serve: Serve) -> None:
    reply = serve("authors").post("/predict", content=body, headers=JSON)
    assert reply.status_code in (400, 404, 422)
    assert len(reply.json()["error"]) < 700
    assert reply.headers["x-content-type-options"] == "nosniff"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
BODIES = VALUES | st.fixed_dictionaries(
    {"ids": VALUES}, optional={"k": VALUES, "items": VALUES, "why": VALUES, "sources": VALUES, "paths": VALUES}
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=80)
@given(body=BODIES, path=st.sampled_from(["authors/predict", "authors/explain", "shop/recommend", "shop/explain"]))
def test_no_body_is_a_fault(body: object, path: str, serve: Serve) -> None:
    client = serve.__dict__.setdefault("client", None) or serve("authors", "shop")
    serve.__dict__["client"] = client
    reply = client.post(f"/models/{path}", content=json.dumps(body).encode(), headers=JSON)
    assert reply.status_code < 500
    assert reply.status_code == 200 or "error" in reply.json()


def test_only_the_names_of_this_machine_are_answered(serve: Serve) -> None:
    """Else a page of another site whose name means 127.0.0.1 could read the answers."""
    client = serve("authors")
    for host in ("127.0.0.1:8000", "localhost", "LOCALHOST:80", "[::1]:8000"):
        assert client.get("/health", headers={"host": host}).status_code == 200
    for host in ("example.org", "example.org:8000", "127.0.0.1.example.org", ""):
        assert "but got" in reason(client.get("/health", headers={"host": host}), 421)


def test_a_fault_says_nothing_of_its_inside(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    client = serve("authors")
    quiet = TestClient(client.app, base_url="http://127.0.0.1", raise_server_exceptions=False)

    def broken(*_: object) -> None:
        raise RuntimeError("the secret")

    monkeypatch.setattr(Service, "predict", broken)
    told = reason(quiet.get("/predict?id=1"), 500)
    assert "fault of the server" in told
    assert "secret" not in told
    assert 'diffmg_requests_total{endpoint="/predict",status="500"} 1' in quiet.get("/metrics").text
