from __future__ import annotations

from collections.abc import Callable

from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from diffmg.serve.metrics import BOUNDS, Metrics

NOTED = st.tuples(st.sampled_from(["/a", "/b"]), st.sampled_from([200, 404, 503]), st.floats(0, 20))


def values(text: str) -> dict[str, float]:
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


@given(st.lists(NOTED, max_size=20))
def test_counts_and_buckets_are_those_of_a_slow_count(noted: list[tuple[str, int, float]]) -> None:
    metrics = Metrics()
    for one in noted:
        metrics.note(*one)
    found = values(metrics.text())
    for endpoint in {e for e, _, _ in noted}:
        times = [seconds for e, _, seconds in noted if e == endpoint]
        assert found[f'diffmg_request_seconds_count{{endpoint="{endpoint}"}}'] == len(times)
        assert abs(found[f'diffmg_request_seconds_sum{{endpoint="{endpoint}"}}'] - sum(times)) < 1e-5
        errors = sum(e == endpoint and status >= 400 for e, status, _ in noted)
        assert found[f'diffmg_errors_total{{endpoint="{endpoint}"}}'] == errors
        for bound in BOUNDS:
            below = sum(seconds <= bound for seconds in times)
            assert found[f'diffmg_request_seconds_bucket{{endpoint="{endpoint}",le="{bound}"}}'] == below
        for status in (200, 404, 503):
            count = sum((e, s) == (endpoint, status) for e, s, _ in noted)
            assert found.get(f'diffmg_requests_total{{endpoint="{endpoint}",status="{status}"}}', 0) == count


def test_requests_are_counted_by_the_path_of_their_route(serve: Callable[..., TestClient]) -> None:
    client = serve("authors")
    for path in ("/predict?id=1", "/predict?id=2", "/predict?id=no", "/some/where", "/else/where"):
        client.get(path)
    reply = client.get("/metrics")
    found = values(reply.text)
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert found['diffmg_requests_total{endpoint="/predict",status="200"}'] == 2
    assert found['diffmg_requests_total{endpoint="/predict",status="404"}'] == 1
    assert found['diffmg_requests_total{endpoint="other",status="404"}'] == 2
