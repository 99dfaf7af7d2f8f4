"""Counts and times of requests, as text for Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the buckets of a histogram, in seconds."""
TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Only the event loop counts, so there is no lock. Endpoints are the paths of routes, so there are few."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS) + 1))
        self._seconds: Counter[str] = Counter()

    def note(self, endpoint: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests[endpoint, status] += 1
        self._buckets[endpoint][bisect_left(BOUNDS, seconds)] += 1
        self._seconds[endpoint] += seconds  # type: ignore[assignment]  # a Counter also sums fractions

    def text(self) -> str:
        """Everything counted so far."""
        lines = [*self._counts(), *self._times()]
        return "\n".join(lines) + "\n"

    def _counts(self) -> Iterable[str]:
        yield from _head("diffmg_requests_total", "counter", "Requests by endpoint and status.")
        for (endpoint, status), count in sorted(self._requests.items()):
            yield _line("diffmg_requests_total", {"endpoint": endpoint, "status": str(status)}, count)
        yield from _head("diffmg_errors_total", "counter", "Requests that were refused or failed.")
        for endpoint in sorted({endpoint for endpoint, _ in self._requests}):
            bad = sum(n for (e, status), n in self._requests.items() if e == endpoint and status >= 400)
            yield _line("diffmg_errors_total", {"endpoint": endpoint}, bad)

    def _times(self) -> Iterable[str]:
        name = "diffmg_request_seconds"
        yield from _head(name, "histogram", "Seconds from the arrival of a request to its answer.")
        for endpoint, counts in sorted(self._buckets.items()):
            total = 0
            for bound, count in zip([*map(str, BOUNDS), "+Inf"], counts, strict=True):
                total += count
                yield _line(f"{name}_bucket", {"endpoint": endpoint, "le": bound}, total)
            yield _line(f"{name}_sum", {"endpoint": endpoint}, self._seconds[endpoint])
            yield _line(f"{name}_count", {"endpoint": endpoint}, total)


def _head(name: str, kind: str, what: str) -> tuple[str, str]:
    return f"# HELP {name} {what}", f"# TYPE {name} {kind}"


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    inner = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{inner}}} {value:.9g}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
