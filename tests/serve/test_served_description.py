"""Requests drawn from the OpenAPI description: no answer is a fault."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from diffmg.serve.app import runs_app
from diffmg.serve.limits import Limits
from diffmg.serve.shelf import Shelf

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
QUICK = settings(
    max_examples=8, deadline=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck)
)


def ask_all(operation: Any, mode: Any) -> None:
    @QUICK
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        reply = case.call(headers={"host": "127.0.0.1"})
        assert reply.status_code < 500, (case, reply.text)

    ask()


def check_every_operation(app: object) -> int:
    """Ask each endpoint several times what fits the description, and as often what does not; returns how many."""
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers={"host": "127.0.0.1"})
    count = 0
    for operation in schema.get_all_operations():
        ask_all(operation.ok(), schemathesis.GenerationMode.POSITIVE)
        with suppress(Unsatisfiable):  # nothing does not fit an endpoint that takes nothing, or any text
            ask_all(operation.ok(), schemathesis.GenerationMode.NEGATIVE)
        count += 1
    return count


def test_no_request_to_a_model_is_a_fault(serve: Callable[..., TestClient]) -> None:
    assert check_every_operation(serve("authors", "shop").app) == 2 * 7 + 2


def test_no_request_to_a_folder_of_runs_is_a_fault(runs: Path) -> None:
    assert check_every_operation(runs_app(Shelf(runs), Limits())) == 5
